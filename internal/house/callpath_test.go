package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const architecture = "docs/internals/architecture.md"

// noSteps are the methods of a call that runCall uses around its steps: two
// have the call watched while it runs, the other answers for every refusal.
var noSteps = []string{"registerRun", "finishRefused", "endRead"}

// TestCallPathIsTheDocumentedOne compares the steps of runCall with the table
// of the architecture, in order. A step that only one of them has fails.
func TestCallPathIsTheDocumentedOne(t *testing.T) {
	inCode := stepsOf(t, filepath.Join(repository, "registry", "call.go"), "runCall")
	for _, step := range []string{"checkTaint", "awaitApproval", "checkStopped"} {
		if !slices.Contains(inCode, step) {
			t.Errorf("runCall does not name the step %s", step)
		}
	}
	if diff := cmp.Diff(documentedSteps(t), inCode); diff != "" {
		t.Errorf("the table \"One call\" of %s and runCall differ (-table +code):\n%s", architecture, diff)
	}
}

// stepsOf lists the methods that a function calls on c, in the order of the
// source.
func stepsOf(t *testing.T, path, function string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if s, ok := call.Fun.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "c" && !slices.Contains(noSteps, s.Sel.Name) {
						steps = append(steps, s.Sel.Name)
					}
				}
			}
			return true
		})
	}
	return steps
}

// documentedSteps lists the methods in the second column of the table.
func documentedSteps(t *testing.T) []string {
	t.Helper()
	_, section, ok := strings.Cut(page(t, architecture), "\n## One call\n")
	if !ok {
		t.Fatalf("%s has no section One call", architecture)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var steps []string
	for line := range strings.SplitSeq(section, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			if m := symbolRef.FindStringSubmatch(cells[2]); m != nil {
				steps = append(steps, strings.TrimPrefix(m[2], "call."))
			}
		}
	}
	return steps
}
