package house_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// TestPatternsCompile: text.Pattern compiles an expression at its first use, which
// must never be the first time that a faulty one is seen.
func TestPatternsCompile(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, files := range packages(t) {
		for path, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || name.Sel.Name != "Pattern" {
					return true
				}
				if pkg, ok := name.X.(*ast.Ident); !ok || pkg.Name != "text" {
					return true
				}
				seen++
				if _, err := regexp.Compile(constantText(t, path, call.Args[0])); err != nil {
					t.Errorf("%s: %v", path, err)
				}
				return true
			})
		}
	}
	if seen < 50 {
		t.Errorf("only %d patterns were found", seen)
	}
}

// constantText is the text of literals that are joined with +.
func constantText(t *testing.T, path string, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return s
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return constantText(t, path, e.X) + constantText(t, path, e.Y)
		}
	}
	t.Errorf("%s: the expression of a pattern is no literal", path)
	return ""
}
