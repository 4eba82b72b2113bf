package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play answers a spawned process.
type play = func(context.Context, scopedtest.Spawned) (sallyport.ProcessResult, error)

// prints is a process that writes a text and ends.
func prints(text string, res sallyport.ProcessResult) play {
	return func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		_, err := s.Options.Output.Write([]byte(text))
		return res, err
	}
}

// runs is a process that really runs, without confinement: what it is given
// is a constant of a test.
func runs(ctx context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
	cmd := exec.CommandContext(ctx, s.Binary, s.Args...)
	cmd.Dir, cmd.Stdin = s.Workspace, bytes.NewReader(s.Options.Stdin)
	cmd.Stdout, cmd.Stderr = s.Options.Output, s.Options.Output
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return sallyport.ProcessResult{ExitCode: exit.ExitCode(), Level: sallyport.LevelFull}, nil
	}
	return sallyport.ProcessResult{Level: sallyport.LevelFull}, err
}

// newFamily is a family that is closed with the test.
func newFamily(t testing.TB, o *Options) *Family {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// tool finds a tool by name.
func tool(t testing.TB, f *Family, name string) sallyport.Tool {
	t.Helper()
	for _, tl := range f.Tools() {
		if tl.Name == name {
			return tl
		}
	}
	t.Fatalf("no tool %s", name)
	return sallyport.Tool{}
}

// newCall makes a call of a tool with the tool's own declaration.
func newCall(t testing.TB, tl sallyport.Tool, o scopedtest.Options, in map[string]any) *sallyport.Call {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	o.Tool, o.Args, o.Capabilities = tl.Name, raw, tl.Capabilities
	return scopedtest.NewCall(t, &o)
}

// overlay is a tool whose children write to an overlay.
func overlay(tl sallyport.Tool) sallyport.Tool {
	fs := *tl.Capabilities.FSReach
	fs.Mode = sallyport.FSOverlay
	tl.Capabilities.FSReach = &fs
	return tl
}

// use calls a tool as a gate would.
func use(t testing.TB, f *Family, name string, o scopedtest.Options, in map[string]any) (sallyport.Result, *sallyport.Call) {
	t.Helper()
	tl := tool(t, f, name)
	c := newCall(t, tl, o, in)
	r, err := tl.Run(t.Context(), c)
	if err != nil {
		r = sallyport.ErrorResult(err)
	}
	return r, c
}

// spawned is the one process of a call.
func spawned(t testing.TB, c *sallyport.Call) scopedtest.Spawned {
	t.Helper()
	list := scopedtest.RecordOf(c).Spawned()
	if len(list) != 1 {
		t.Fatalf("%d processes were started, want 1", len(list))
	}
	return list[0]
}

// argv is the command of a process.
func argv(s scopedtest.Spawned) []string { return append([]string{s.Binary}, s.Args...) }

// recorded reads an output that was recorded from a real program.
func recorded(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "recorded", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// refusing refuses binaries as an accessor does and hands the rest to the
// process of a call.
type refusing struct {
	sallyport.Process
	binaries []string
}

func (r refusing) Spawn(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.ProcessResult, error) {
	if slices.Contains(r.binaries, binary) {
		return sallyport.ProcessResult{}, sallyport.BinaryError(binary, "is not installed")
	}
	return r.Process.Spawn(ctx, binary, args, o)
}

func (r refusing) Start(
	ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions,
) (sallyport.Child, error) {
	if slices.Contains(r.binaries, binary) {
		return nil, sallyport.BinaryError(binary, "is not installed")
	}
	return r.Process.Start(ctx, binary, args, o)
}
