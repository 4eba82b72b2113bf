package house_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	orderPage = "docs/internals/order.md"
	// maxUpward is the share, in percent, of the uses of names between the files
	// of a package that may run to an earlier file.
	maxUpward = 20
)

// documentedOrders returns the files of each package of the page, in order.
func documentedOrders(t *testing.T) map[string][]string {
	t.Helper()
	orders := map[string][]string{}
	for _, section := range strings.Split(page(t, orderPage), "\n## ")[1:] {
		dir, rest, _ := strings.Cut(section, "\n")
		for _, m := range regexp.MustCompile("`(\\w+\\.go)`").FindAllStringSubmatch(rest, -1) {
			orders[dir] = append(orders[dir], m[1])
		}
	}
	return orders
}

// noImports leaves every import out: only names of the package itself count.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("left out") }

// countUses counts how often files of a folder use the functions, methods,
// types, variables and constants that other files of it declare, and how often
// such a use runs to an earlier file.
func countUses(t *testing.T, dir string, order []string) (uses, upward int) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range order {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check(dir, fset, files, info) // the faults are the imports
	place := func(p token.Pos) int { return slices.Index(order, filepath.Base(fset.Position(p).Filename)) }
	for id, used := range info.Uses {
		f, isFunc := used.(*types.Func)
		if used.Pkg() != pkg || used.Parent() != pkg.Scope() && (!isFunc || f.Signature().Recv() == nil) {
			continue
		}
		switch from, to := place(id.Pos()), place(used.Pos()); {
		case to < from:
			uses, upward = uses+1, upward+1
		case to > from:
			uses++
		}
	}
	return uses, upward
}

// TestFilesUseWhatStandsBelowThem holds the packages of the page to the order of
// their story: a file uses what later files declare.
func TestFilesUseWhatStandsBelowThem(t *testing.T) {
	orders := documentedOrders(t)
	if len(orders) == 0 {
		t.Fatalf("%s lists no package", orderPage)
	}
	for dir, order := range orders {
		entries, err := os.ReadDir(filepath.Join(repository, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !slices.Contains(order, name) {
				t.Errorf("%s has no place in the order of %s", name, dir)
			}
		}
		uses, upward := countUses(t, filepath.Join(repository, dir), order)
		if uses == 0 {
			t.Errorf("%s: no file uses a name of another one: the test reads nothing", dir)
			continue
		}
		t.Logf("%s: %d of %d uses run upward, %d %%", dir, upward, uses, 100*upward/uses)
		if 100*upward > maxUpward*uses {
			t.Errorf("%s: %d of %d uses of names between files run to an earlier file, want at most %d %%", dir, upward, uses, maxUpward)
		}
	}
}
