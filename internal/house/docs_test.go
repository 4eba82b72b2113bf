package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

const repository = "../.."

// TestEveryExportedNameIsDocumented parses each package outside internal and
// cmd. Every exported declaration must have a comment, struct fields and
// interface methods included.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	for dir, files := range packages(t) {
		documented := false
		for path, f := range files {
			documented = documented || f.Doc != nil
			for _, decl := range f.Decls {
				check(t, path, decl)
			}
		}
		if !documented {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// packages parses every non-test Go file of the public packages.
func packages(t *testing.T) map[string]map[string]*ast.File {
	t.Helper()
	out := map[string]map[string]*ast.File{}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		if out[dir] == nil {
			out[dir] = map[string]*ast.File{}
		}
		out[dir][path] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func check(t *testing.T, path string, decl ast.Decl) {
	t.Helper()
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil {
			t.Errorf("%s: %s has no comment", path, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			checkSpec(t, path, d, spec)
		}
	}
}

func checkSpec(t *testing.T, path string, d *ast.GenDecl, spec ast.Spec) {
	t.Helper()
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		if d.Doc == nil && s.Doc == nil {
			t.Errorf("%s: type %s has no comment", path, s.Name.Name)
		}
		switch x := s.Type.(type) {
		case *ast.StructType:
			checkFields(t, path, s.Name.Name, x.Fields)
		case *ast.InterfaceType:
			checkInterface(t, path, s, d, x)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				t.Errorf("%s: %s has no comment", path, n.Name)
			}
		}
	}
}

// checkFields requires a comment above or beside each exported field.
func checkFields(t *testing.T, path, owner string, fields *ast.FieldList) {
	t.Helper()
	for _, f := range fields.List {
		for _, n := range f.Names {
			if n.IsExported() && f.Doc == nil && f.Comment == nil {
				t.Errorf("%s: field %s.%s has no comment", path, owner, n.Name)
			}
		}
	}
}

// checkInterface accepts the interface's own comment for a single method: the
// comment then describes that method.
func checkInterface(t *testing.T, path string, s *ast.TypeSpec, d *ast.GenDecl, x *ast.InterfaceType) {
	t.Helper()
	methods := 0
	for _, m := range x.Methods.List {
		methods += len(m.Names)
	}
	if methods == 1 && (d.Doc != nil || s.Doc != nil) {
		return
	}
	checkFields(t, path, s.Name.Name, x.Methods)
}

// exportedReceiver reports whether other packages can reach a function.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if gen, ok := typ.(*ast.IndexExpr); ok {
		typ = gen.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}
