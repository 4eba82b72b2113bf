package house_test

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
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
	// minOrdered is the size, in lines without tests, from which a package has
	// an order.
	minOrdered = 1000
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

// fileUses counts uses of names by the file that uses and the file that
// declares them.
type fileUses map[[2]string]int

// readUses counts the functions, methods, types, variables and constants that
// files of a folder use and other files of it declare. It returns their lines,
// too.
func readUses(t *testing.T, dir string, names []string) (uses fileUses, lines int) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		lines += fset.File(f.Pos()).LineCount()
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check(dir, fset, files, info) // the faults are the imports
	uses = fileUses{}
	for id, used := range info.Uses {
		f, isFunc := used.(*types.Func)
		if used.Pkg() != pkg || used.Parent() != pkg.Scope() && (!isFunc || f.Signature().Recv() == nil) {
			continue
		}
		from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(used.Pos()).Filename)
		if from != to {
			uses[[2]string{from, to}]++
		}
	}
	return uses, lines
}

// countUpward returns how many uses run to an earlier file, and how many there
// are.
func (u fileUses) countUpward(order []string) (upward, all int) {
	for pair, n := range u {
		all += n
		if slices.Index(order, pair[0]) > slices.Index(order, pair[1]) {
			upward += n
		}
	}
	return upward, all
}

// proposeOrder returns an order in which few uses run upward: it moves one file
// at a time to its best place until nothing improves.
func (u fileUses) proposeOrder(files []string) string {
	order := slices.Sorted(slices.Values(files))
	best, _ := u.countUpward(order)
	for improved := true; improved; {
		improved = false
		for _, file := range slices.Clone(order) {
			rest := slices.DeleteFunc(slices.Clone(order), func(f string) bool { return f == file })
			for at := range len(order) {
				next := slices.Insert(slices.Clone(rest), at, file)
				if n, _ := u.countUpward(next); n < best {
					best, order, improved = n, next, true
				}
			}
		}
	}
	return "`" + strings.Join(order, "`, `") + "`"
}

// TestFilesUseWhatStandsBelowThem holds each package of 1,000 lines or more to
// the order of its story: a file uses what later files declare.
func TestFilesUseWhatStandsBelowThem(t *testing.T) {
	orders := documentedOrders(t)
	linux := build.Default
	linux.GOOS, linux.GOARCH, linux.CgoEnabled = "linux", "amd64", false
	large := 0
	for dir := range packages(t) {
		p, err := linux.ImportDir(dir, 0)
		if _, empty := errors.AsType[*build.NoGoError](err); empty {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(dir, repository)), "/")
		if name == "" {
			name = "sallyport"
		}
		order, listed := orders[name]
		delete(orders, name)
		uses, lines := readUses(t, dir, p.GoFiles)
		if lines < minOrdered && !listed {
			continue
		}
		large++
		order = slices.DeleteFunc(order, func(file string) bool { return slices.Contains(p.IgnoredGoFiles, file) })
		if !slices.Equal(slices.Sorted(slices.Values(order)), slices.Sorted(slices.Values(p.GoFiles))) {
			t.Errorf("%s lists other files of %s than it has for Linux. An order with few uses that run upward:\n%s", orderPage, name, uses.proposeOrder(p.GoFiles))
			continue
		}
		upward, all := uses.countUpward(order)
		if all == 0 {
			t.Errorf("%s: no file uses a name of another one: the test reads nothing", name)
			continue
		}
		t.Logf("%s: %d of %d uses run upward, %d %%", name, upward, all, 100*upward/all)
		if 100*upward > maxUpward*all {
			t.Errorf("%s: %d of %d uses of names between files run to an earlier file, want at most %d %%. An order with fewer:\n%s",
				name, upward, all, maxUpward, uses.proposeOrder(p.GoFiles))
		}
	}
	if large == 0 {
		t.Error("no package was read")
	}
	for name := range orders {
		t.Errorf("%s lists %s, which is no package", orderPage, name)
	}
}

func TestUpwardUsesAreCounted(t *testing.T) {
	u := fileUses{{"a.go", "b.go"}: 3, {"b.go", "c.go"}: 2, {"c.go", "a.go"}: 1}
	if up, all := u.countUpward([]string{"a.go", "b.go", "c.go"}); up != 1 || all != 6 {
		t.Errorf("countUpward(a, b, c) = %d of %d, want 1 of 6", up, all)
	}
	if up, _ := u.countUpward([]string{"c.go", "b.go", "a.go"}); up != 5 {
		t.Errorf("countUpward(c, b, a) = %d, want 5", up)
	}
	if got := u.proposeOrder([]string{"c.go", "b.go", "a.go"}); got != "`a.go`, `b.go`, `c.go`" {
		t.Errorf("proposeOrder() = %s", got)
	}
}
