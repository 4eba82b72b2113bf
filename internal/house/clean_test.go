package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// A text that leaves is an output.Clean, and only package output makes one.
func TestOnlyTheCleanerMakesCleanTexts(t *testing.T) {
	seen := 0
	for dir, files := range packages(t) {
		for path, file := range files {
			uses, conversions := cleanUses(file)
			seen += uses
			if strings.HasSuffix(dir, "output") {
				continue
			}
			for _, at := range conversions {
				t.Errorf("%s: offset %d: a text is called clean without cleaning it; use output.Cleaner", path, at)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no file names output.Clean: nothing was checked")
	}
}

// cleanUses counts how often a file names output.Clean, and returns where it
// converts something to it. Naming the type as that of a variable, field or
// result is no conversion.
func cleanUses(file *ast.File) (uses int, conversions []token.Pos) {
	isClean := func(x ast.Expr) bool {
		if p, ok := x.(*ast.ParenExpr); ok {
			x = p.X
		}
		if s, ok := x.(*ast.StarExpr); ok {
			x = s.X
		}
		s, ok := x.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "Clean" {
			return false
		}
		from, ok := s.X.(*ast.Ident)
		return ok && from.Name == "output"
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if isClean(n) {
				uses++
			}
		case *ast.CallExpr:
			if isClean(n.Fun) {
				conversions = append(conversions, n.Pos())
			}
		case *ast.ImportSpec:
			// Under another name, the type could be reached unseen.
			if n.Path.Value == `"`+module+`/output"` && n.Name != nil {
				conversions = append(conversions, n.Pos())
			}
		case *ast.TypeSpec:
			if isClean(n.Type) {
				conversions = append(conversions, n.Pos())
			}
		}
		return true
	})
	return uses, conversions
}

func TestConversionsToCleanTextsAreSeen(t *testing.T) {
	for body, want := range map[string]int{
		`func f(s string) output.Clean { return output.Clean(s) }`:              1,
		`func f(s *string) { *(*output.Clean)(s) = "" }`:                        1,
		`type mine output.Clean`:                                                1,
		`type mine = output.Clean`:                                              1,
		`import o "` + module + `/output"`:                                      1,
		`func f(c *output.Cleaner, s string) output.Clean { return c.Text(s) }`: 0,
		`var x output.Clean = "constant"`:                                       0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+body, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := cleanUses(file); len(got) != want {
			t.Errorf("%s: %d conversions, want %d", body, len(got), want)
		}
	}
}
