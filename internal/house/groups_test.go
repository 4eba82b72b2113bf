package house_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

const (
	walks = "docs/internals/walks.md"
	// maxGroupFiles is how many files a new capability group may touch.
	maxGroupFiles = 10
	// maxGroupsByHand is how many groups a file outside the walk may name.
	maxGroupsByHand = 5
)

// groupNames maps the names of the fields of a declaration, and their
// spellings, to the group.
func groupNames() map[string]string {
	names := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[sallyport.Capabilities]()) {
		spelling, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[f.Name], names[strconv.Quote(spelling)] = spelling, spelling
	}
	return names
}

// groupsNamed lists the groups that a file names: as a field that it selects
// or sets, or as a text.
func groupsNamed(file *ast.File) []string {
	names, found := groupNames(), map[string]bool{}
	note := func(name string) {
		if g := names[name]; g != "" {
			found[g] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			note(n.Sel.Name)
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				note(id.Name)
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				note(n.Value)
			}
		}
		return true
	})
	list := make([]string, 0, len(found))
	for g := range found {
		list = append(list, g)
	}
	slices.Sort(list)
	return list
}

// walkFiles lists the files that a walk names at the beginning of its steps.
func walkFiles(t *testing.T, title string) (files []string) {
	t.Helper()
	_, section, ok := strings.Cut(page(t, walks), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("%s has no walk %q", walks, title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\d+\\. `([^`:]+)").FindAllStringSubmatch(section, -1) {
		files = append(files, m[1])
	}
	return files
}

// TestOnlyTheWalkListsCapabilityGroups: a new group touches the files of the
// walk. Another file that names most groups would have to be touched too: it
// has to loop over the table of internal/group.
func TestOnlyTheWalkListsCapabilityGroups(t *testing.T) {
	files := walkFiles(t, "Add a capability group")
	if len(files) == 0 || len(files) > maxGroupFiles {
		t.Errorf("the walk has %d files, want 1 to %d: %v", len(files), maxGroupFiles, files)
	}
	listed := 0
	for _, inPackage := range packages(t) {
		for path, file := range inPackage {
			name, err := filepath.Rel(repository, path)
			if err != nil {
				t.Fatal(err)
			}
			groups := groupsNamed(file)
			switch {
			case slices.Contains(files, filepath.ToSlash(name)):
				listed++
			case len(groups) > maxGroupsByHand:
				t.Errorf("%s names %d groups by hand, %v, and is not in the walk of %s", name, len(groups), groups, walks)
			}
		}
	}
	if listed == 0 {
		t.Error("none of the files of the walk is in the tree")
	}
}
