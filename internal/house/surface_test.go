package house_test

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// maxExported is the number of exported names that the public packages may have
// together. A reader of the documentation has to tell among them which ones
// matter.
const maxExported = 600

// addExported adds the exported functions, types, constants and variables of a
// file to a set. Methods and fields belong to their type and are not counted.
// Files for different systems may declare the same name.
func addExported(set map[string]bool, f *ast.File) {
	count := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				set[id.Name] = true
			}
		}
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					count(s.Names...)
				}
			}
		}
	}
}

// isPublic reports whether other modules can import the package of a folder.
func isPublic(dir string, files map[string]*ast.File) bool {
	for _, part := range strings.Split(dir, "/") {
		if part == "internal" {
			return false
		}
	}
	for _, f := range files {
		if f.Name.Name == "main" {
			return false
		}
	}
	return true
}

func TestThePublicSurfaceIsSmall(t *testing.T) {
	count, all := map[string]int{}, 0
	for dir, files := range packages(t) {
		if !isPublic(dir, files) {
			continue
		}
		seen := map[string]bool{}
		for _, f := range files {
			addExported(seen, f)
		}
		count[dir] = len(seen)
		all += len(seen)
	}
	for _, dir := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%4d %s", count[dir], strings.TrimPrefix(dir, repository+"/"))
	}
	t.Logf("%4d in all", all)
	if all == 0 || all > maxExported {
		t.Errorf("%d exported names, want 1 to %d", all, maxExported)
	}
}
