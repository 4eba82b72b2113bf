package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

func TestRunCode(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	for language, want := range map[string][]string{"python": {"python3", "-"}, "node": {"node", "-"}, "bash": {"bash", "-s"}} {
		r, c := use(t, f, "run_code", scopedtest.Options{Spawn: prints("42\n", sallyport.ProcessResult{ExitCode: 1, Level: sallyport.LevelFull})},
			map[string]any{"language": language, "code": "the code", "cwd": "."})
		expect.OK(t, r, "exit code: 1\n\n42")
		s := spawned(t, c)
		if d := cmp.Diff(want, argv(s)); d != "" {
			t.Errorf("%s (-want +got):\n%s", language, d)
		}
		if string(s.Options.Stdin) != "the code" || s.Options.Timeout != 30*time.Second || s.Options.Dir != "." {
			t.Errorf("%s: options = %+v, want the code on standard input", language, s.Options)
		}
		if r.Source != "cmd:"+strings.Join(want, " ") {
			t.Errorf("%s: source = %q", language, r.Source)
		}
	}
}

func TestRunCodeReally(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	for language, code := range map[string]string{
		"python": "import sys\nprint(6*7)\nsys.exit(3)",
		"node":   "console.log(6*7); process.exit(3)",
		"bash":   "echo $((6*7))\nexit 3",
	} {
		r, _ := use(t, f, "run_code", scopedtest.Options{Spawn: runs}, map[string]any{"language": language, "code": code})
		expect.OK(t, r)
		if r.Value != "exit code: 3\n\n42" {
			t.Errorf("%s: value = %q", language, r.Value)
		}
	}
}

func TestRunCodeRefuses(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	for _, in := range []map[string]any{
		{"language": "perl", "code": "x"},
		{"language": "bash"},
		{"language": "bash", "code": ""},
		{"code": "x"},
		{"language": "bash", "code": strings.Repeat("x", maxCodeChars+1)},
		{"language": "bash", "code": "x", "timeout_seconds": 601},
	} {
		r, c := use(t, f, "run_code", scopedtest.Options{}, in)
		expect.Err(t, r, sallyport.CodeInputInvalid)
		if n := len(scopedtest.RecordOf(c).Spawned()); n != 0 {
			t.Errorf("run_code started %d processes", n)
		}
	}
}

// TestDeclarations is the table of what each tool asks for.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	type declared struct {
		binaries              string
		network, files        bool
		readOnly, destructive bool
	}
	want := map[string]declared{
		"terminal":       {"bash sh", true, true, false, true},
		"run_code":       {"bash node python3", true, true, false, true},
		"run_tests":      {"cargo go make npm pytest python3", true, true, false, true},
		"lint":           {"cargo go make npm python3 ruff", false, true, false, true},
		"typecheck":      {"cargo go make mypy npm python3", false, true, false, true},
		"process_start":  {"bash sh", true, true, false, true},
		"process_output": {readOnly: true},
		"process_stop":   {},
		"process_list":   {readOnly: true},
	}
	got := map[string]declared{}
	for _, tl := range newFamily(t, nil).Tools() {
		c := tl.Capabilities
		d := declared{network: c.Network != nil, files: c.FSReach != nil, readOnly: tl.ReadOnly, destructive: tl.Destructive()}
		if c.Process != nil {
			d.binaries = strings.Join(c.Process.AllowedBinaries, " ")
		}
		got[tl.Name] = d
		if !tl.OutputIsUntrusted || tl.Toolset != "terminal" || tl.Idempotent || tl.Cache != nil {
			t.Errorf("%s: %+v, want untrusted output, the toolset, no retries, no cache", tl.Name, tl)
		}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(declared{})); d != "" {
		t.Errorf("declarations (-want +got):\n%s", d)
	}
}

func TestOptionOfWrites(t *testing.T) {
	t.Parallel()
	for _, mode := range []sallyport.FSMode{"", sallyport.FSDirect, sallyport.FSOverlay} {
		for _, tl := range newFamily(t, &Options{Writes: mode}).Tools() {
			if fs := tl.Capabilities.FSReach; fs != nil && fs.Mode != mode {
				t.Errorf("%s writes %q, want %q", tl.Name, fs.Mode, mode)
			}
		}
	}
	if _, err := New(&Options{Writes: "copy"}); err == nil {
		t.Error("New accepted a mode that does not exist")
	}
}
