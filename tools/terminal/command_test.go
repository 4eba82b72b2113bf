package terminal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

func TestTerminalAnswersWithTheExitCodeFirst(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	r, c := use(t, f, "terminal", scopedtest.Options{
		Spawn: prints("one\ntwo\n", sallyport.ProcessResult{ExitCode: 3, Level: sallyport.LevelFull}),
	}, map[string]any{"command": "echo one; echo two >&2; exit 3"})
	expect.OK(t, r)
	if want := "exit code: 3\n\none\ntwo"; r.Value != want {
		t.Errorf("value = %q, want %q", r.Value, want)
	}
	if want := "cmd:echo one; echo two >&2; exit 3"; r.Source != want {
		t.Errorf("source = %q, want %q", r.Source, want)
	}
	want := map[string]any{"exitCode": 3, "timedOut": false, "outputBytes": int64(8), "level": "full"}
	if d := cmp.Diff(want, r.Structured); d != "" {
		t.Errorf("structured (-want +got):\n%s", d)
	}
	s := spawned(t, c)
	if d := cmp.Diff([]string{"bash", "-c", "--", "echo one; echo two >&2; exit 3"}, argv(s)); d != "" {
		t.Errorf("command (-want +got):\n%s", d)
	}
	if s.Options.Timeout != 30*time.Second || s.Options.Stdin != nil || s.Options.Discard {
		t.Errorf("options = %+v, want 30 s, no input, no discard", s.Options)
	}
}

func TestTerminalRunsARealShell(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	for _, tt := range []struct{ command, want string }{
		{"echo $((6*7))", "exit code: 0\n\n42"},
		{"echo out; echo err >&2; exit 7", "exit code: 7\n\nout\nerr"},
		{"true", "exit code: 0\n\n(no output)"},
		{"-x", "exit code: 127\n\n"}, // a command, not an option of the shell
		{"for i in 1 2; do\n  echo $i\ndone", "exit code: 0\n\n1\n2"},
	} {
		for _, missing := range [][]string{nil, {"bash"}} {
			tl := tool(t, f, "terminal")
			c := newCall(t, tl, scopedtest.Options{Spawn: runs}, map[string]any{"command": tt.command})
			c.Process = refusing{c.Process, missing}
			r, err := tl.Run(t.Context(), c)
			if err != nil || !strings.HasPrefix(r.Value, tt.want) {
				t.Errorf("terminal(%q) without %v = %q, %v, want %q", tt.command, missing, r.Value, err, tt.want)
			}
		}
	}
}

func TestTerminalPassesItsArgumentsOn(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	tl := overlay(tool(t, f, "terminal"))
	c := newCall(t, tl, scopedtest.Options{Files: map[string]string{"sub/x": ""}},
		map[string]any{"command": "ls", "cwd": "sub", "timeout_seconds": 600, "preview": true})
	if _, err := tl.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s := spawned(t, c)
	if s.Options.Dir != "sub" || s.Options.Timeout != 10*time.Minute || !s.Options.Discard {
		t.Errorf("options = %+v, want sub, 10 minutes, discard", s.Options)
	}
	if s.Options.Env["TERM"] != "dumb" || s.Options.Env["NO_COLOR"] != "1" {
		t.Errorf("environment = %v, want no colours", s.Options.Env)
	}
}

func TestTerminalHasNoPreviewWithoutAnOverlay(t *testing.T) {
	t.Parallel()
	r, c := use(t, newFamily(t, nil), "terminal", scopedtest.Options{}, map[string]any{"command": "ls", "preview": true})
	expect.Err(t, r, sallyport.CodeInputInvalid)
	if n := len(scopedtest.RecordOf(c).Spawned()); n != 0 {
		t.Errorf("%d processes were started", n)
	}
}

func TestTerminalRefusesBadArguments(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	for _, in := range []map[string]any{
		{},
		{"command": ""},
		{"command": " \n"},
		{"command": "ls", "timeout_seconds": 601},
		{"command": "ls", "timeout_seconds": -1},
		{"command": "ls", "shell": "zsh"},
		{"command": strings.Repeat("x", maxCommandChars+1)},
	} {
		r, c := use(t, f, "terminal", scopedtest.Options{}, in)
		expect.Err(t, r, sallyport.CodeInputInvalid)
		if n := len(scopedtest.RecordOf(c).Spawned()); n != 0 {
			t.Errorf("terminal(%v) started %d processes", in, n)
		}
	}
}

func TestTerminalSaysWhatEndedTheCommand(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	res := sallyport.ProcessResult{ExitCode: 137, TimedOut: true, Level: sallyport.LevelNone}
	r, _ := use(t, f, "terminal", scopedtest.Options{Spawn: prints("x", res)}, map[string]any{"command": "sleep 9", "timeout_seconds": 2})
	expect.OK(t, r, "exit code: 137 (ended by the timeout of 2 s)\nnot confined: this ran without a sandbox\n\nx")

	fails := func(ctx context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		_, _ = s.Options.Output.Write([]byte("half of the out"))
		return sallyport.ProcessResult{}, sallyport.Err("the memory limit ended it", "").Err()
	}
	r, _ = use(t, f, "terminal", scopedtest.Options{Spawn: fails}, map[string]any{"command": "x"})
	expect.Err(t, r, sallyport.CodeExecutionFailed, "the memory limit ended it", "Output until then:\nhalf of the out")
	if r.Source != "cmd:x" {
		t.Errorf("source = %q, want cmd:x", r.Source)
	}
}

func TestTerminalRefusalIsAFailure(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	tl := tool(t, f, "terminal")
	c := newCall(t, tl, scopedtest.Options{}, map[string]any{"command": "ls"})
	c.Process = refusing{c.Process, shellNames()}
	if _, err := tl.Run(t.Context(), c); !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
		t.Errorf("terminal = %v, want a refusal", err)
	}
	if n := len(scopedtest.RecordOf(c).Spawned()); n != 0 {
		t.Errorf("%d processes were started", n)
	}
}

func TestTerminalListsChanges(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	changes := func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{Level: sallyport.LevelFull, Changes: []sallyport.Change{
			{Path: filepath.Join(s.Workspace, "notes/a.txt"), Kind: sallyport.ChangeAdded, Bytes: 12, Committed: !s.Options.Discard},
			{Path: filepath.Join(s.Workspace, "b\nc"), Kind: sallyport.ChangeModified, Bytes: 1, Why: "STALE_WRITE"},
			{Path: "/elsewhere/d", Kind: sallyport.ChangeDeleted, Committed: !s.Options.Discard},
		}}, nil
	}
	r, _ := use(t, f, "terminal", scopedtest.Options{Spawn: changes}, map[string]any{"command": "x"})
	expect.OK(t, r, "exit code: 0\nchanges:\n  added notes/a.txt (12 bytes), committed\n"+
		"  modified \"b\\nc\" (1 byte), not committed: STALE_WRITE\n  deleted /elsewhere/d, committed\n\n(no output)")
	if n := r.Structured["changed"]; n != 3 {
		t.Errorf("changed = %v, want 3", n)
	}
	tl := overlay(tool(t, f, "terminal"))
	r, err := tl.Run(t.Context(), newCall(t, tl, scopedtest.Options{Spawn: changes}, map[string]any{"command": "x", "preview": true}))
	if err != nil {
		t.Fatal(err)
	}
	expect.OK(t, r, "changes, all thrown away:\n  added notes/a.txt (12 bytes)\n", "\n  deleted /elsewhere/d\n")

	many := func(context.Context, scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{Changes: make([]sallyport.Change, 1000)}, nil
	}
	r, _ = use(t, f, "terminal", scopedtest.Options{Spawn: many}, map[string]any{"command": "x"})
	expect.OK(t, r, "  and 970 more\n")
	if n := len(r.Structured["changes"].([]any)); n != maxListedData {
		t.Errorf("%d changes as data, want %d", n, maxListedData)
	}
}

// numbered is a long text whose lines can be told apart.
func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		b.WriteString(strings.Repeat("é", 20))
		b.WriteString(" line ")
		b.WriteString(strings.Repeat("9", i%3))
		b.WriteByte('\n')
	}
	return b.String()
}

func TestTerminalSpillsALongOutput(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	long := "first line\n" + numbered(10_000) + "last line\n"
	r, c := use(t, f, "terminal", scopedtest.Options{Spawn: prints(long, sallyport.ProcessResult{})}, map[string]any{"command": "x"})
	file := filepath.Join(c.Workspace, ".terminal", "call.log")
	expect.OK(t, r, "exit code: 0\n", "\n\nfirst line\n", " bytes left out; the whole output is in "+file+"]\n\n")
	if !strings.HasSuffix(r.Value, "last line") {
		t.Errorf("value ends with %q, want the last line", r.Value[len(r.Value)-40:])
	}
	if n := utf8.RuneCountInString(r.Value); n > resultChars || n < resultChars/2 {
		t.Errorf("value has %d code points, want at most %d and not much less", n, resultChars)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != long {
		t.Errorf("the file holds %d bytes, %v, want %d", len(got), err, len(long))
	}
	if got, err := os.ReadFile(filepath.Join(filepath.Dir(file), ".gitignore")); err != nil || string(got) != "*\n" {
		t.Errorf(".gitignore = %q, %v", got, err)
	}
	if r.Structured["spilled"] != file || r.Structured["outputBytes"] != int64(len(long)) {
		t.Errorf("structured = %v, want the file and %d bytes", r.Structured, len(long))
	}
}

func TestTerminalWithoutAPlaceToSpill(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	long := numbered(10_000)
	tl := tool(t, f, "terminal")
	readOnly := tl
	readOnly.Capabilities.FSReach = &sallyport.FSCapability{Read: sallyport.FromPersonality()}
	subOnly := tl
	subOnly.Capabilities.FSReach = &sallyport.FSCapability{Read: sallyport.FromPersonality(), Write: sallyport.Paths("${workspace}/sub")}
	for _, tt := range []struct {
		name string
		tool sallyport.Tool
		in   map[string]any
		want string
	}{
		{"nothing may be written", readOnly, map[string]any{"command": "x"}, "; the output was not kept, because neither"},
		{"the folder of the command", subOnly, map[string]any{"command": "x", "cwd": "sub"}, "/sub/.terminal/call.log]"},
		{"preview", overlay(tl), map[string]any{"command": "x", "preview": true}, "; a preview keeps no output]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCall(t, tt.tool, scopedtest.Options{Spawn: prints(long, sallyport.ProcessResult{})}, tt.in)
			r, err := tl.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			expect.OK(t, r, tt.want)
			if _, err := os.Stat(filepath.Join(c.Workspace, ".terminal")); err == nil {
				t.Error("the workspace was written")
			}
		})
	}
}

func TestTerminalKeepsWithinTheBudget(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	tl := tool(t, f, "terminal")
	c := newCall(t, tl, scopedtest.Options{Spawn: prints(numbered(10_000), sallyport.ProcessResult{})}, map[string]any{"command": "x"})
	c.ResultBudget = 2000
	r, err := tl.Run(t.Context(), c)
	if n := utf8.RuneCountInString(r.Value); err != nil || n > 2000 {
		t.Errorf("value has %d code points, %v, want at most 2000", n, err)
	}
}

func TestFileName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "output.log", "a-B_9": "a-B_9.log", "../../etc/x": "______etc_x.log", strings.Repeat("a", 101): "output.log", "é\x00": "__.log",
	} {
		if got := fileName(in); got != want {
			t.Errorf("fileName(%q) = %q, want %q", in, got, want)
		}
	}
}
