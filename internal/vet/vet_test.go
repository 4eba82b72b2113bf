package vet

import (
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/sallyport/sallyport/internal/needs"
)

// seeded is the report of the tools in testdata: reading a program takes seconds.
var seeded = sync.OnceValues(func() (*Report, error) { return Load(Options{}, "./testdata/seeded", "./testdata/clean") })

func loadSeeded(t *testing.T) *Report {
	t.Helper()
	needs.NoRace(t)
	r, err := seeded()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// isClean reports whether a tool is one of testdata/clean.
func isClean(t ToolReport) bool {
	return strings.Contains(t.At, "/clean/") || strings.HasSuffix(t.Tool, "/clean")
}

// TestSeededEffectsAreFound compares the report of the seeded tools with the
// comments in their code: nothing is missing and nothing else is said.
func TestSeededEffectsAreFound(t *testing.T) {
	r := loadSeeded(t)
	found := map[string][]string{} // by file:line
	note := func(f Finding, kind string) {
		line := f.At[:strings.LastIndex(f.At, ":")]
		found[line] = append(found[line], kind+": "+f.What)
		if len(f.Chain) == 0 || f.At == "" {
			t.Errorf("%+v has no chain or position", f)
		}
	}
	for _, tool := range r.Tools {
		if isClean(tool) {
			continue
		}
		for _, f := range tool.Findings {
			note(f, string(f.Kind))
		}
		for _, f := range tool.NotShown {
			note(f, "not shown")
		}
	}
	for _, f := range r.Unknown {
		note(f, "not shown")
	}
	comment := regexp.MustCompile(`// want ([a-z ]+): (.*)`)
	files, _ := filepath.Glob("testdata/seeded/*.go")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			m := comment.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			at := fmt.Sprintf("%s:%d", file, i+1)
			ok := false
			for _, f := range found[at] {
				ok = ok || strings.HasPrefix(f, m[1]+": ") && strings.Contains(f, m[2])
			}
			if !ok {
				t.Errorf("%s: %q was not found; found was %q", at, m[1]+": "+m[2], found[at])
			}
			delete(found, at)
		}
	}
	for at, what := range found {
		t.Errorf("%s: found %q, which no comment wants", at, what)
	}
	if t.Failed() {
		var b strings.Builder
		_ = r.WriteText(&b)
		t.Log(b.String())
	}
}

// TestAccessorsAreNoFindings has tools that use what their calls give them.
func TestAccessorsAreNoFindings(t *testing.T) {
	clean := 0
	for _, tool := range loadSeeded(t).Tools {
		if !isClean(tool) {
			continue
		}
		clean++
		if len(tool.Findings)+len(tool.NotShown) > 0 {
			t.Errorf("%s: %+v, not shown %+v", tool.Tool, tool.Findings, tool.NotShown)
		}
	}
	if clean != 4 {
		t.Errorf("%d tools, want three and the start of their package", clean)
	}
}

// TestCgoIsFoundOrSaid builds with C and without.
func TestCgoIsFoundOrSaid(t *testing.T) {
	needs.Toolchain(t)
	for enabled, kind := range map[string]Kind{"0": "", "1": KindCgo} {
		if _, err := exec.LookPath("gcc"); err != nil && enabled == "1" {
			t.Log("without a compiler of C the other half runs alone")
			continue
		}
		r, err := Load(Options{Env: append(os.Environ(), "CGO_ENABLED="+enabled)}, "./testdata/cgo")
		if err != nil {
			t.Fatal(err)
		}
		said := false
		for _, tool := range r.Tools {
			for _, f := range append(tool.Findings, tool.NotShown...) {
				said = said || f.Kind == kind && strings.Contains(f.What, map[Kind]string{"": "c.go uses cgo", KindCgo: "C.one"}[kind])
			}
		}
		if !said {
			t.Errorf("CGO_ENABLED=%s: nothing is said of C: %+v", enabled, r)
		}
	}
}

// TestWhatDoesNotCompileIsNoReport has a fault in the program.
func TestWhatDoesNotCompileIsNoReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m.go": "package m\n\nvar x int = \"\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := Load(Options{Dir: dir}, "./..."); err == nil || !strings.Contains(err.Error(), "m.go:3:13") {
		t.Errorf("Load() = %+v, %v, want the position of the fault", r, err)
	}
}

// TestTheTableKnowsTheStandardLibrary lists the exported functions, methods and
// variables of the packages of the table that have more than one line: each has a
// verdict. A name of a newer Go is not known until a person reads what it does.
func TestTheTableKnowsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	var mixed []string
	for path, names := range tableOfStd() {
		if _, whole := names[""]; !whole && names["*"].verdict == unknownName && !strings.Contains(path, ".") {
			mixed = append(mixed, path)
		}
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps}, mixed...)
	if err != nil || len(loaded) != len(mixed) {
		t.Fatalf("%d of %d packages, %v", len(loaded), len(mixed), err)
	}
	for _, p := range loaded {
		for _, name := range p.Types.Scope().Names() {
			switch o := p.Types.Scope().Lookup(name).(type) {
			case *types.Func, *types.Var:
				if o.Exported() && !isError(o.Type()) && judgeName(p.PkgPath, "", name).verdict == unknownName {
					t.Errorf("%s.%s is in no line of std.txt", p.PkgPath, name)
				}
			case *types.TypeName:
				named, ok := o.Type().(*types.Named)
				if !ok || !o.Exported() || types.IsInterface(named) {
					continue
				}
				for i := range named.NumMethods() {
					if m := named.Method(i); m.Exported() && judgeName(p.PkgPath, name, m.Name()).verdict == unknownName {
						t.Errorf("%s.%s.%s is in no line of std.txt", p.PkgPath, name, m.Name())
					}
				}
			}
		}
	}
}

func TestTableIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"pure", "pure a", "file a b: X", "holds a: X", "odd os: X", "file os: X\nfile os: X", "file os:"} {
		if _, err := parseTable(text); err == nil {
			t.Errorf("parseTable(%q) = nil", text)
		}
	}
}

func TestAcceptedFindings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"# why\nt | file | os.Open | it is read at the start": "",
		"t | file | os.Open":                                "line 1: expected",
		"t | file | os.Open | ":                             "line 1: expected",
		"u | file | os.Open | x":                            "line 1: file of u is not found any more",
		"t | file | os.Open | x\nt | network | os.Open | x": "line 2: network of t",
	} {
		r := &Report{Tools: []ToolReport{{Tool: "t", Findings: []Finding{{Kind: KindFile, What: "os.Open"}, {Kind: KindEnv, What: "os.Getenv"}}}}}
		err := r.Accept(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Accept(%q) = %v, want %q", text, err, want)
		}
		if left := r.Findings(); err == nil && left != 2-strings.Count(text, "os.Open") {
			t.Errorf("Accept(%q) leaves %d", text, left)
		}
	}
}
