package command

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// contractTypes are those that a tool, its caller and an operator write or read:
// what their fields are made of is shown with them.
var contractTypes = []string{"Tool", "Call", "Result", "Progress", "Personality", "Principal"}

// writeTypes writes the fields of the types of a tool's contract.
func writeTypes(w io.Writer) {
	fmt.Fprint(w, "# Fields of the contract\n\nGenerated from the source of package `sallyport`; do not edit. These are the fields that a tool declares, that it gets\nwith a call, that it answers with, and that a role and a principal have. [Writing tools](../guides/tools.md) explains how they go\ntogether, [the configuration](config.md) has the keys of a file, and [the error codes](errors.md) are a page of their own.\n")
	files := token.NewFileSet()
	types := contractPackage(files)
	shown := slices.Clone(contractTypes)
	for i := 0; i < len(shown); i++ {
		t := types[shown[i]]
		fields := t.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List
		fmt.Fprintf(w, "\n## %s\n\n%s\n\n| field | type | |\n| --- | --- | --- |\n", t.Name, joinLines(t.Doc))
		for _, f := range fields {
			for _, name := range f.Names {
				if !name.IsExported() {
					continue
				}
				fmt.Fprintf(w, "| `%s` | %s | %s |\n", name.Name, typeLink(files, f.Type, types), escapeCell(joinLines(f.Doc.Text())))
			}
			for _, next := range structsIn(f, types) {
				if !slices.Contains(shown, next) {
					shown = append(shown, next)
				}
			}
		}
	}
}

// contractPackage returns the exported struct types of the package at the root.
func contractPackage(files *token.FileSet) map[string]*doc.Type {
	paths, err := filepath.Glob(filepath.Join("..", "..", "*.go"))
	if err != nil {
		panic(err)
	}
	var parsed []*ast.File
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		f, err := parser.ParseFile(files, path, text, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		parsed = append(parsed, f)
	}
	p, err := doc.NewFromFiles(files, parsed, "github.com/sallyport/sallyport")
	if err != nil {
		panic(err)
	}
	types := map[string]*doc.Type{}
	for _, t := range p.Types {
		if _, isStruct := t.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType); isStruct {
			types[t.Name] = t
		}
	}
	return types
}

// structsIn returns the struct types of the package in the type of an exported field.
func structsIn(f *ast.Field, types map[string]*doc.Type) (names []string) {
	if len(f.Names) == 0 || !f.Names[0].IsExported() {
		return nil
	}
	ast.Inspect(f.Type, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			return false // what a function takes is no field
		case *ast.Ident:
			if types[n.Name] != nil {
				names = append(names, n.Name)
			}
		}
		return true
	})
	return names
}

// typeLink returns a type as code, with a link where the page shows it.
func typeLink(files *token.FileSet, t ast.Expr, types map[string]*doc.Type) string {
	var b strings.Builder
	if err := printer.Fprint(&b, files, t); err != nil {
		panic(err)
	}
	text := "`" + escapeCell(joinLines(b.String())) + "`"
	if names := structsIn(&ast.Field{Names: []*ast.Ident{ast.NewIdent("X")}, Type: t}, types); len(names) > 0 {
		return "[" + text + "](#" + strings.ToLower(names[0]) + ")"
	}
	return text
}

func joinLines(s string) string { return strings.Join(strings.Fields(s), " ") }

func escapeCell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
