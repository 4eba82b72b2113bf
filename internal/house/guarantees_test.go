package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const register = "docs/guarantees.md"

// The forms in which pages name code and tests.
var (
	// symbolRef matches `path/file.go: Name` or `path/file.go: Type.name`.
	symbolRef = regexp.MustCompile("`([\\w./-]+\\.go): ([\\w.]+)`")
	// testRef matches `package TestName`, with the folder of the package.
	testRef = regexp.MustCompile("`([a-z][\\w/]*|\\.) ((?:Test|Fuzz|Example|Benchmark)\\w*)`")
	// testCommand matches `go test ./package -run NAMES`.
	testCommand = regexp.MustCompile("`go test (\\.[\\w./]*)([^`]*)`")
	testNames   = regexp.MustCompile(`^ -run '?([\w|]+)'?(?: -update)?$`)
	// benchmarkPattern matches the flags that run benchmarks only, and captures
	// the pattern of their names.
	benchmarkPattern = regexp.MustCompile(`^ -run '\^\$' -bench '?([\w$]+)`)
	// fileRef matches `path/file.go` alone.
	fileRef = regexp.MustCompile("`([\\w./-]+/[\\w.-]+\\.go)`")
	// anyGoFile matches references that the forms above would miss.
	anyGoFile = regexp.MustCompile("`[^`\n]*\\.go:[^`]*`")
)

// TestGuaranteesNameWhatExists parses the register: every entry has its four
// parts and a unique id, and the code and tests that it names exist.
func TestGuaranteesNameWhatExists(t *testing.T) {
	text := page(t, register)
	entries := strings.Split(text, "\n## ")[1:]
	if len(entries) < 12 {
		t.Fatalf("%s has %d entries, want the whole register", register, len(entries))
	}
	for _, fault := range entryFaults(entries) {
		t.Errorf("%s: %s", register, fault)
	}
}

// TestPagesNameWhatExists checks every page for the same forms.
func TestPagesNameWhatExists(t *testing.T) {
	tree := newSources(t)
	for _, path := range pages(t) {
		for _, fault := range tree.faults(page(t, path)) {
			t.Errorf("%s: %s", path, fault)
		}
	}
}

// entryFaults checks the ids and parts of entries. Each entry begins after "##
// ".
func entryFaults(entries []string) []string {
	var faults []string
	id := regexp.MustCompile(`^(G-[A-Z]+): \S`)
	seen := map[string]bool{}
	for _, e := range entries {
		title, body, _ := strings.Cut(e, "\n")
		m := id.FindStringSubmatch(title)
		if m == nil {
			faults = append(faults, "heading "+title+": want G-NAME: and what it says")
			continue
		}
		if seen[m[1]] {
			faults = append(faults, m[1]+" is there twice")
		}
		seen[m[1]] = true
		claim, rest, _ := strings.Cut(body, "\n- **Enforced by**: ")
		enforced, rest, _ := strings.Cut(rest, "\n- **Not covered**: ")
		open, verify, _ := strings.Cut(rest, "\n- **Verify**: ")
		if len(strings.TrimSpace(claim)) < 40 {
			faults = append(faults, m[1]+" makes no claim")
		}
		if !symbolRef.MatchString(enforced) {
			faults = append(faults, m[1]+" names no code that enforces it")
		}
		if len(strings.TrimSpace(open)) < 40 {
			faults = append(faults, m[1]+" does not say what it leaves out")
		}
		if !testCommand.MatchString(verify) {
			faults = append(faults, m[1]+" does not say how to verify it")
		}
	}
	return faults
}

// sources finds declarations in the tree. It parses each folder once.
type sources struct {
	t     *testing.T
	files map[string]map[string]bool // path of a file -> its symbols
	tests map[string]map[string]bool // folder -> its tests
}

func newSources(t *testing.T) *sources {
	return &sources{t: t, files: map[string]map[string]bool{}, tests: map[string]map[string]bool{}}
}

// faults returns the names in a text that the tree does not hold.
func (s *sources) faults(text string) []string {
	var faults []string
	for _, m := range symbolRef.FindAllStringSubmatch(text, -1) {
		switch symbols := s.symbols(m[1]); {
		case symbols == nil:
			faults = append(faults, "there is no file "+m[1])
		case !symbols[m[2]]:
			faults = append(faults, m[1]+" does not declare "+m[2])
		}
	}
	for _, ref := range anyGoFile.FindAllString(text, -1) {
		if !symbolRef.MatchString(ref) {
			faults = append(faults, ref+" is not written `file.go: Symbol`")
		}
	}
	for _, m := range fileRef.FindAllStringSubmatch(text, -1) {
		if s.symbols(m[1]) == nil {
			faults = append(faults, "there is no file "+m[1])
		}
	}
	for _, m := range testRef.FindAllStringSubmatch(text, -1) {
		if !s.testsIn(m[1])[m[2]] {
			faults = append(faults, m[1]+" has no "+m[2])
		}
	}
	return append(faults, s.commandFaults(text)...)
}

func (s *sources) commandFaults(text string) []string {
	var faults []string
	for _, m := range testCommand.FindAllStringSubmatch(text, -1) {
		if pattern := benchmarkPattern.FindStringSubmatch(m[2]); pattern != nil {
			if !s.hasBenchmark(m[1], pattern[1]) {
				faults = append(faults, m[1]+" has no benchmark "+pattern[1])
			}
			continue
		}
		names := testNames.FindStringSubmatch(m[2])
		if names == nil {
			faults = append(faults, m[0]+": want -run and the names of tests")
			continue
		}
		for name := range strings.SplitSeq(names[1], "|") {
			if !s.testsIn(m[1])[name] {
				faults = append(faults, m[1]+" has no "+name)
			}
		}
	}
	return faults
}

// symbols returns the declarations of a file, methods as Type.name. It returns
// nil when the file does not exist.
func (s *sources) symbols(path string) map[string]bool {
	if known, ok := s.files[path]; ok {
		return known
	}
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, path), nil, parser.SkipObjectResolution)
	if err != nil {
		s.files[path] = nil
		return nil
	}
	found := map[string]bool{}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			found[name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch x := spec.(type) {
				case *ast.TypeSpec:
					found[x.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range x.Names {
						found[n.Name] = true
					}
				}
			}
		}
	}
	s.files[path] = found
	return found
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	default:
		return ""
	}
}

// testsIn returns the functions in the test files of a folder.
func (s *sources) testsIn(dir string) map[string]bool {
	if known, ok := s.tests[dir]; ok {
		return known
	}
	paths, err := filepath.Glob(filepath.Join(repository, dir, "*_test.go"))
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[string]bool{}
	for _, path := range paths {
		rel, err := filepath.Rel(repository, path)
		if err != nil {
			s.t.Fatal(err)
		}
		for name := range s.symbols(filepath.ToSlash(rel)) {
			found[name] = true
		}
	}
	s.tests[dir] = found
	return found
}

// hasBenchmark reports whether a folder has a benchmark that -bench would run.
func (s *sources) hasBenchmark(dir, pattern string) bool {
	matches := regexp.MustCompile(pattern)
	for name := range s.testsIn(dir) {
		if strings.HasPrefix(name, "Benchmark") && matches.MatchString(name) {
			return true
		}
	}
	return false
}

// TestTheRegisterIsReallyRead tests the check itself: it must refuse a page
// that names missing code.
func TestTheRegisterIsReallyRead(t *testing.T) {
	tree := newSources(t)
	for _, tt := range []struct {
		name string
		text string
		want int
	}{
		{"all there", "`caller.go: SessionKey` `tool.go: Tool.Server` `error.go: codes` `. TestServer` `go test . -run TestServer`", 0},
		{"no file", "`nowhere.go: X`", 1},
		{"no file alone", "`egress/nowhere.go` `egress/dial.go`", 1},
		{"no symbol", "`call.go: SessionLock`", 1},
		{"no method", "`tool.go: Tool.Servant`", 1},
		{"a function is no method", "`call.go: Caller.SessionKey`", 1},
		{"a line number", "`call.go:12`", 1},
		{"no test", "`. TestNothing`", 1},
		{"no test in a command", "`go test ./schema -run 'TestDecodeRefuses|TestNothing'`", 1},
		{"a command that rewrites", "`go test ./internal/config -run 'TestGolden|TestReferencePage' -update`", 0},
		{"a command that rewrites nothing", "`go test ./internal/config -run TestNothing -update`", 1},
		{"a command without names", "`go test ./schema`", 1},
		{"no package", "`go test ./nowhere -run TestServer`", 1},
		{"a benchmark", "`go test ./registry -run '^$' -bench Call/ratio -benchmem`", 0},
		{"the end of a name", "`go test ./internal/reach -run '^$' -bench 'Match$'`", 0},
		{"no benchmark", "`go test ./registry -run '^$' -bench 'Match$'`", 1},
		{"no package of a benchmark", "`go test ./nowhere -run '^$' -bench Call`", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tree.faults(tt.text); len(got) != tt.want {
				t.Errorf("faults(%s) = %q, want %d", tt.text, got, tt.want)
			}
		})
	}
	entry := "G-X: says\n\nA claim that is long enough to be taken for one.\n\n- **Enforced by**: `a.go: B`\n" +
		"- **Not covered**: something that is long enough to be said.\n- **Verify**: `go test . -run TestX`\n"
	if got := entryFaults([]string{entry, strings.Replace(entry, "G-X", "G-Y", 1)}); len(got) != 0 {
		t.Errorf("entryFaults(good) = %q, want none", got)
	}
	for _, bad := range [][]string{
		{entry, entry},
		{strings.Replace(entry, "G-X", "X", 1)},
		{strings.Replace(entry, "A claim that is long enough to be taken for one.", "", 1)},
		{strings.Replace(entry, "`a.go: B`", "", 1)},
		{strings.Replace(entry, "something that is long enough to be said.", "-", 1)},
		{strings.Replace(entry, "`go test . -run TestX`", "look", 1)},
	} {
		if got := entryFaults(bad); len(got) != 1 {
			t.Errorf("entryFaults(%q) = %q, want one fault", bad, got)
		}
	}
}

// page returns the text of a page of the repository.
func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages lists the pages by their path from the root: those at the root and all
// pages below docs.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			rel, err := filepath.Rel(repository, path)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, filepath.ToSlash(rel))
		}
	}
	if !slices.Contains(out, "README.md") || !slices.Contains(out, register) {
		t.Fatalf("pages = %q, want README.md and %s among them", out, register)
	}
	return out
}
