package terminal

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

const (
	packageJSON = `{"scripts":{"test":"jest","lint":"eslint .","type-check":"tsc"}}`
	makefile    = ".PHONY: test lint\nCC := x\ntest: build\n\tgo test\nlint typecheck:\n\tx\nlint:\n\tx\n"
)

// TestCommandIsFoundInTheProject is the table of commands by file.
func TestCommandIsFoundInTheProject(t *testing.T) {
	for _, tt := range []struct {
		name, tool string
		files      map[string]string
		in         map[string]any
		want       string // the command
		dir        string // relative to the workspace
	}{
		{"go", "run_tests", map[string]string{"go.mod": ""}, nil, "go test -json ./...", "."},
		{"go filter", "run_tests", map[string]string{"go.mod": ""}, map[string]any{"filter": "TestA|B", "targets": []string{"./a", "./b/..."}}, "go test -json -run=TestA|B ./a ./b/...", "."},
		{"go vet", "lint", map[string]string{"go.mod": ""}, nil, "go vet ./...", "."},
		{"go build", "typecheck", map[string]string{"go.mod": ""}, nil, "go build -o /dev/null ./...", "."},
		{"go in a folder", "run_tests", map[string]string{"go.mod": "", "a/b/x.go": ""}, map[string]any{"path": "a/b"}, "go test -json ./...", "a/b"},
		{"cargo", "run_tests", map[string]string{"Cargo.toml": ""}, nil, "cargo test", "."},
		{"cargo filter", "run_tests", map[string]string{"Cargo.toml": ""}, map[string]any{"filter": "works"}, "cargo test -- works", "."},
		{"clippy", "lint", map[string]string{"Cargo.toml": ""}, nil, "cargo clippy", "."},
		{"cargo check", "typecheck", map[string]string{"Cargo.toml": ""}, nil, "cargo check", "."},
		{"npm", "run_tests", map[string]string{"package.json": packageJSON}, nil, "npm run --silent test", "."},
		{"npm from below", "run_tests", map[string]string{"package.json": packageJSON, "src/a.js": ""}, map[string]any{"path": "src", "filter": "a.test"}, "npm run --silent test -- a.test", "."},
		{"npm lint", "lint", map[string]string{"package.json": packageJSON}, map[string]any{"targets": []string{"src"}}, "npm run --silent lint -- src", "."},
		{"npm types", "typecheck", map[string]string{"package.json": packageJSON}, nil, "npm run --silent type-check", "."},
		{"pytest", "run_tests", map[string]string{"pyproject.toml": ""}, nil, "pytest -ra --color=no --tb=short", "."},
		{"pytest filter", "run_tests", map[string]string{"conftest.py": ""}, map[string]any{"filter": "a and not b", "targets": []string{"t.py::x"}}, "pytest -ra --color=no --tb=short -k a and not b -- t.py::x", "."},
		{"ruff", "lint", map[string]string{"setup.py": ""}, nil, "ruff check -- .", "."},
		{"mypy", "typecheck", map[string]string{"setup.cfg": ""}, map[string]any{"targets": []string{"a.py"}}, "mypy -- a.py", "."},
		{"make", "run_tests", map[string]string{"Makefile": makefile}, nil, "make test", "."},
		{"make check", "run_tests", map[string]string{"GNUmakefile": "check:\n\tx\n"}, nil, "make check", "."},
		{"make lint", "lint", map[string]string{"makefile": makefile}, nil, "make lint", "."},
		{"the first kind", "run_tests", map[string]string{"go.mod": "", "package.json": packageJSON, "Makefile": makefile}, nil, "go test -json ./...", "."},
		{"a chosen kind", "run_tests", map[string]string{"go.mod": "", "package.json": packageJSON, "Makefile": makefile}, map[string]any{"project": "make"}, "make test", "."},
		{"the nearest folder", "run_tests", map[string]string{"go.mod": "", "web/package.json": packageJSON}, map[string]any{"path": "web"}, "npm run --silent test", "web"},
		{"what has the command", "lint", map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "Makefile": makefile}, nil, "make lint", "."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := tt.in
			if in == nil {
				in = map[string]any{}
			}
			f := newFamily(t, nil)
			r, c := use(t, f, tt.tool, scopedtest.Options{Files: tt.files, Spawn: prints("", sallyport.ProcessResult{})}, in)
			expect.OK(t, r, "exit code: 0\nran: "+tt.want)
			s := spawned(t, c)
			if got := strings.Join(argv(s), " "); got != tt.want {
				t.Errorf("command = %q, want %q", got, tt.want)
			}
			if got := filepath.Join(c.Workspace, tt.dir); s.Options.Dir != got {
				t.Errorf("folder = %q, want %q", s.Options.Dir, got)
			}
			if r.Source != "cmd:"+tt.want || s.Options.Env["CI"] != "true" || s.Options.Timeout != 5*time.Minute {
				t.Errorf("source %q, options %+v", r.Source, s.Options)
			}
		})
	}
}

func TestNoCommandInTheProject(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	for name, files := range map[string]map[string]string{
		"nothing":         {"a.txt": ""},
		"no script":       {"package.json": `{"scripts":{}}`},
		"npm init":        {"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`},
		"not JSON":        {"package.json": "test"},
		"no target":       {"Makefile": "build:\n\tx\ntest := 1\ntests:\n"},
		"a folder":        {"go.mod/x": ""},
		"another purpose": {"Makefile": "lint:\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, c := use(t, f, "run_tests", scopedtest.Options{Files: files}, map[string]any{})
			expect.Err(t, r, sallyport.CodeInputInvalid, "no command for run_tests in "+c.Workspace)
		})
	}
}

// TestNothingIsLookedForAboveTheWorkspace keeps a call from a project that
// only surrounds its workspace.
func TestNothingIsLookedForAboveTheWorkspace(t *testing.T) {
	t.Parallel()
	tl := tool(t, newFamily(t, nil), "run_tests")
	c := newCall(t, tl, scopedtest.Options{Files: map[string]string{"go.mod": "", "sub/x.txt": ""}}, map[string]any{})
	c.Workspace = filepath.Join(c.Workspace, "sub")
	p := &projectFinder{call: c, in: checkInput{Path: c.Workspace}, want: checkTests}
	if found, err := p.findPlan(); err == nil {
		t.Errorf("find = %+v, want nothing", found)
	}
}

// TestArgumentsAreNeverOptions is the gate on what a program is given.
func TestArgumentsAreNeverOptions(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	python := map[string]string{"pyproject.toml": ""}
	for _, tt := range []struct {
		files map[string]string
		in    map[string]any
	}{
		{map[string]string{"go.mod": ""}, map[string]any{"targets": []string{"-exec=/bin/sh"}}},
		{map[string]string{"go.mod": ""}, map[string]any{"targets": []string{"./...", "-toolexec", "x"}}},
		{map[string]string{"go.mod": ""}, map[string]any{"filter": "-x"}},
		{map[string]string{"go.mod": ""}, map[string]any{"targets": []string{""}}},
		{python, map[string]any{"targets": []string{"--rootdir=/"}}},
		{python, map[string]any{"targets": []string{"@options"}}},
		{python, map[string]any{"filter": "--pdb"}},
		{python, map[string]any{"filter": "a\nb"}},
		{map[string]string{"Cargo.toml": ""}, map[string]any{"filter": "--nocapture"}},
		{map[string]string{"Cargo.toml": ""}, map[string]any{"targets": []string{"x"}}},
		{map[string]string{"package.json": packageJSON}, map[string]any{"filter": "$(id)"}},
		{map[string]string{"package.json": packageJSON}, map[string]any{"targets": []string{"a;id"}}},
		{map[string]string{"package.json": packageJSON}, map[string]any{"targets": []string{"`id`"}}},
		{map[string]string{"Makefile": makefile}, map[string]any{"targets": []string{"SHELL=/x"}}},
		{map[string]string{"Makefile": makefile}, map[string]any{"filter": "x"}},
		{python, map[string]any{"targets": strings.Split(strings.Repeat("x", maxTargets+1), "")}},
		{python, map[string]any{"targets": []string{strings.Repeat("x", maxTargetChars+1)}}},
		{python, map[string]any{"project": "ruby"}},
		{python, map[string]any{"timeout_seconds": 601}},
	} {
		r, c := use(t, f, "run_tests", scopedtest.Options{Files: tt.files}, tt.in)
		expect.Err(t, r, sallyport.CodeInputInvalid)
		if n := len(scopedtest.RecordOf(c).Spawned()); n != 0 {
			t.Errorf("run_tests(%v) started %d processes", tt.in, n)
		}
	}
	r, _ := use(t, f, "lint", scopedtest.Options{Files: python}, map[string]any{"targets": []string{"--fix"}})
	expect.Err(t, r, sallyport.CodeInputInvalid)
	r, _ = use(t, f, "lint", scopedtest.Options{Files: python}, map[string]any{"filter": "x"})
	expect.Err(t, r, sallyport.CodeInputInvalid)
}

func TestPythonModuleInThePlaceOfAProgram(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	tl := tool(t, f, "run_tests")
	c := newCall(t, tl, scopedtest.Options{
		Files: map[string]string{"pytest.ini": ""}, Spawn: prints("1 passed in 0.01s\n", sallyport.ProcessResult{}),
	}, map[string]any{})
	c.Process = refusing{c.Process, []string{"pytest"}}
	r, err := tl.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	expect.OK(t, r, "ran: python3 -m pytest -ra --color=no --tb=short\ntests: 1 passed, 0 failed\n")
	c.Process = refusing{c.Process, []string{"pytest", "python3"}}
	if _, err := tl.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "BINARY_NOT_ALLOWED: python3") {
		t.Errorf("run_tests = %v, want a refusal of the last one", err)
	}
}

func TestTestsAreSummarized(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	run := func(files map[string]string, output string, exit int) sallyport.Result {
		r, _ := use(t, f, "run_tests", scopedtest.Options{
			Files: files, Spawn: prints(output, sallyport.ProcessResult{ExitCode: exit, Level: sallyport.LevelFull}),
		}, map[string]any{})
		expect.OK(t, r)
		return r
	}
	goMod := map[string]string{"go.mod": ""}

	r := run(goMod, recorded(t, "gotest.json"), 1)
	expect.OK(t, r, "exit code: 1\nran: go test -json ./...\ntests: 5 passed, 2 failed, 1 with errors, 1 skipped\n\n", "want 4", "b.go:3:26")
	tests := r.Structured["tests"].(map[string]any)
	if tests["passed"] != 5 || tests["failed"] != 2 || len(tests["failures"].([]any)) != 3 {
		t.Errorf("tests = %v", tests)
	}

	r = run(goMod, recorded(t, "gotest-ok.json"), 0)
	if want := "exit code: 0\nran: go test -json ./...\ntests: 2 passed, 0 failed\n\n(nothing but passing tests)"; r.Value != want {
		t.Errorf("value = %q, want %q", r.Value, want)
	}
	// An exit code that no test explains.
	r = run(goMod, recorded(t, "gotest-ok.json"), 3)
	expect.OK(t, r, "exit code: 3\n", "hello from c")
	r = run(goMod, "go: cannot find main module\n", 1)
	if want := "exit code: 1\nran: go test -json ./...\n\ngo: cannot find main module"; r.Value != want {
		t.Errorf("value = %q, want %q", r.Value, want)
	}
	r = run(map[string]string{"pytest.ini": ""}, recorded(t, "pytest-v.txt"), 1)
	expect.OK(t, r, "tests: 7 passed, 1 failed, 1 with errors, 1 skipped\n", "AssertionError: sum", "[left out: lines about the runner (4), lines of passing tests (8)]")
}

// TestLongTestOutput keeps the text of a run in a file, not its JSON.
func TestLongTestOutput(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	line := `{"Action":"output","Package":"p","Test":"TestA","Output":"` + strings.Repeat("x", 100) + `\n"}` + "\n"
	out := strings.Repeat(line, 1000) + `{"Action":"fail","Package":"p","Test":"TestA"}` + "\n"
	r, c := use(t, f, "run_tests", scopedtest.Options{
		Files: map[string]string{"go.mod": ""}, Spawn: prints(out, sallyport.ProcessResult{ExitCode: 1}),
	}, map[string]any{})
	expect.OK(t, r, "tests: 0 passed, 1 failed\n", " bytes left out; the whole output is in ")
	got, err := c.FS.ReadFile(".terminal/call.log")
	if err != nil || string(got) != strings.Repeat(strings.Repeat("x", 100)+"\n", 1000) {
		t.Errorf("the file holds %d bytes, %v, want the text", len(got), err)
	}
}

// TestNoCountsOfAPart is for an output of which only the beginning was kept.
func TestNoCountsOfAPart(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	f := newFamily(t, nil)
	r, _ := use(t, f, "run_tests", scopedtest.Options{
		Files: map[string]string{"pytest.ini": ""},
		Spawn: prints("1 passed in 0.01s\n"+strings.Repeat(strings.Repeat("y", 1023)+"\n", maxKept/1024), sallyport.ProcessResult{}),
	}, map[string]any{})
	expect.OK(t, r, "ran: pytest")
	if strings.Contains(r.Value, "tests: 1 passed") || r.Structured["tests"] != nil {
		t.Errorf("value begins with %q, want no counts", r.Value[:200])
	}
}

func TestLintCountsPlaces(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	for _, tt := range []struct {
		files  map[string]string
		output string
		want   int
	}{
		{map[string]string{"go.mod": ""}, recorded(t, "govet.txt"), 1},
		{map[string]string{"Cargo.toml": ""}, recorded(t, "cargo-build.txt"), 1},
		{map[string]string{"setup.py": ""}, "a.py:1:8: F401 unused\nb.py:3:1: E402 late\nFound 2 errors.\n", 2},
		{map[string]string{"setup.py": ""}, "All checks passed!\n", 0},
	} {
		r, _ := use(t, f, "lint", scopedtest.Options{Files: tt.files, Spawn: prints(tt.output, sallyport.ProcessResult{})}, map[string]any{})
		expect.OK(t, r, strings.TrimSpace(tt.output))
		if r.Structured["places"] != tt.want {
			t.Errorf("places = %v, want %d in %q", r.Structured["places"], tt.want, tt.output)
		}
	}
}

func TestOperatorsCommand(t *testing.T) {
	t.Parallel()
	f := newFamily(t, &Options{Tests: []string{"bazel", "test", "//..."}})
	tl := tool(t, f, "run_tests")
	if d := cmp.Diff([]string{"bazel"}, tl.Capabilities.Process.AllowedBinaries); d != "" {
		t.Errorf("binaries (-want +got):\n%s", d)
	}
	_, c := use(t, f, "run_tests", scopedtest.Options{Files: map[string]string{"go.mod": ""}}, map[string]any{"targets": []string{"//a"}, "path": "."})
	if got := strings.Join(argv(spawned(t, c)), " "); got != "bazel test //... //a" {
		t.Errorf("command = %q", got)
	}
	for _, in := range []map[string]any{{"filter": "x"}, {"project": "go"}, {"targets": []string{"--x"}}} {
		r, _ := use(t, f, "run_tests", scopedtest.Options{}, in)
		expect.Err(t, r, sallyport.CodeInputInvalid)
	}
	for _, o := range []*Options{{Tests: []string{}}, {Lint: []string{""}}, {Typecheck: []string{"", "x"}}} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) accepted a command without a binary", o)
		}
	}
}

// TestNoCountsOfARunThatFailedOtherwise: "1 passed" would be read as success.
func TestNoCountsOfARunThatFailedOtherwise(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	out := `{"Action":"pass","Test":"TestA","Package":"p"}` + "\n"
	for code, want := range map[int]bool{0: true, 1: false} {
		r, _ := use(t, f, "run_tests", scopedtest.Options{
			Files: map[string]string{"go.mod": ""}, Spawn: prints(out, sallyport.ProcessResult{ExitCode: code}),
		}, map[string]any{})
		if !r.OK || strings.Contains(r.Value, "1 passed") != want {
			t.Errorf("exit code %d: %q, want counts %t", code, r.Value, want)
		}
	}
}
