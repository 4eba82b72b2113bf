package house_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// entryPoints are the packages with which a program begins. The documentation
// of each shows a program that runs, with what it prints.
var entryPoints = []string{
	"", "action", "audit", "auth", "egress", "gateway", "gateway/install", "httpapi", "registry", "sandbox", "schema", "scoped/scopedtest",
	"secrets", "store/attachments", "store/memory", "store/sqlite", "tools/database",
}

// TestEntryPointsHaveRunnableExamples: an example without output is compiled and
// never run.
func TestEntryPointsHaveRunnableExamples(t *testing.T) {
	for _, dir := range entryPoints {
		if !hasRunnableExample(t, filepath.Join(repository, dir)) {
			t.Errorf("%s has no example with output", filepath.Join("/", dir))
		}
	}
	if hasRunnableExample(t, filepath.Join(repository, "internal/house")) {
		t.Error("an example was found where none is")
	}
}

// hasRunnableExample reports whether the tests of a folder hold an example with
// output.
func hasRunnableExample(t *testing.T, dir string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, e := range doc.Examples(files...) {
		if e.Output != "" {
			return true
		}
	}
	return false
}
