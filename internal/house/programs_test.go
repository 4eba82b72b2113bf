package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// This test allows only one package to start programs. That package confines
// them and uses no shell, so that names from a server, a document or a call
// reach no command line by accident.
func TestCVE_2025_6514_MCP_275_OnlyTheSandboxStartsPrograms(t *testing.T) {
	starts := []string{"Command", "CommandContext", "StartProcess", "ForkExec", "Exec", "Execve", "Execveat"}
	inside := 0
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path == filepath.Join(repository, "bench"):
			return fs.SkipDir // programs that measure, no part of which is in the program
		case d.IsDir() && (name == "testdata" || name == "conformance" || strings.HasPrefix(name, ".") && path != repository):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(repository, path)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(starts, sel.Sel.Name) {
				return true
			}
			from, ok := sel.X.(*ast.Ident)
			if !ok || !slices.Contains([]string{"exec", "os", "syscall", "unix"}, from.Name) {
				return true
			}
			if strings.HasPrefix(filepath.ToSlash(rel), "sandbox/") {
				inside++
			} else {
				t.Errorf("%s starts a program with %s.%s, want it through the sandbox", rel, from.Name, sel.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if inside == 0 {
		t.Error("the sandbox starts no program either: the test looks for the wrong names")
	}
}
