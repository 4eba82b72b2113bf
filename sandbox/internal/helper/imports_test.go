package helper

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whatever the helper imports is initialised before it begins, together with
// the packages whose paths come first in the alphabet: with golang.org/x/sys or
// os that is most of the program, and doubles the time that a helper takes to
// start. Of these, the runtime needs nearly all anyway.
func TestImports(t *testing.T) {
	allowed := []string{
		"errors", "runtime", "syscall", "unsafe",
		"github.com/sallyport/sallyport/sandbox/internal/seccomp/install",
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../seccomp/install/*.go")
	if err != nil || len(more) == 0 {
		t.Fatalf("no files of package install: %v", err)
	}
	for _, name := range append(files, more...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if path := strings.Trim(imp.Path.Value, `"`); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
