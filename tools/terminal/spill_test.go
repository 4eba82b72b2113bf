package terminal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

// TestSpillFollowsNothing has a workspace that an earlier command prepared, so
// that an output would take the place of a file elsewhere in it.
func TestSpillFollowsNothing(t *testing.T) {
	t.Parallel()
	const kept = "precious"
	link := func(t *testing.T, to, name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		plant func(t *testing.T, ws string)
		file  string // that has to stay as it is
	}{
		{
			"the folder is a link",
			map[string]string{"src/.gitignore": kept},
			func(t *testing.T, ws string) { link(t, "src", filepath.Join(ws, ".terminal")) }, "src/.gitignore",
		},
		{
			"the folder is a file",
			map[string]string{".terminal": kept},
			func(*testing.T, string) {}, ".terminal",
		},
		{
			".gitignore is a link",
			map[string]string{"Makefile": kept},
			func(t *testing.T, ws string) { link(t, "../Makefile", filepath.Join(ws, ".terminal/.gitignore")) }, "Makefile",
		},
		{
			"the output is a link",
			map[string]string{"Makefile": kept},
			func(t *testing.T, ws string) { link(t, "../Makefile", filepath.Join(ws, ".terminal/call.log")) }, "Makefile",
		},
		{
			"the output is there",
			map[string]string{".terminal/call.log": kept},
			func(*testing.T, string) {}, ".terminal/call.log",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tl := tool(t, newFamily(t, nil), "terminal")
			c := newCall(t, tl, scopedtest.Options{
				Files: tt.files, Spawn: prints(numbered(10_000), sallyport.ProcessResult{}),
			}, map[string]any{"command": "x"})
			tt.plant(t, c.Workspace)
			r, err := tl.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			expect.OK(t, r, "; the output was not kept, because .terminal is no folder of its own, or has the file already]")
			if got, err := os.ReadFile(filepath.Join(c.Workspace, tt.file)); err != nil || string(got) != kept {
				t.Errorf("%s holds %d bytes, %v, want it as it was", tt.file, len(got), err)
			}
			if list, err := os.ReadDir(filepath.Join(c.Workspace, "src")); err == nil && len(list) != 1 {
				t.Errorf("src holds %d files, want its own", len(list))
			}
			if _, there := r.Structured["spilled"]; there {
				t.Errorf("structured = %v, want no file", r.Structured)
			}
		})
	}
}

func TestSpillKeepsAnIgnoreFile(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	r, c := use(t, f, "terminal", scopedtest.Options{
		Files: map[string]string{".terminal/.gitignore": "mine\n"}, Spawn: prints(numbered(10_000), sallyport.ProcessResult{}),
	}, map[string]any{"command": "x"})
	expect.OK(t, r, "; the whole output is in ")
	if got, err := c.FS.ReadFile(".terminal/.gitignore"); err != nil || string(got) != "mine\n" {
		t.Errorf(".gitignore = %q, %v, want it as it was", got, err)
	}
}

// TestSpillLeavesAnOverlayAlone: the workspace gets what is carried over, and
// nothing beside it.
func TestSpillLeavesAnOverlayAlone(t *testing.T) {
	t.Parallel()
	f := newFamily(t, &Options{Writes: sallyport.FSOverlay})
	changed := sallyport.ProcessResult{Changes: []sallyport.Change{{Path: "/a", Kind: sallyport.ChangeAdded}}}
	for _, tt := range []struct {
		f    *Family
		tool string
		in   map[string]any
		res  sallyport.ProcessResult
	}{
		{f, "terminal", map[string]any{"command": "x"}, sallyport.ProcessResult{}},
		{f, "run_code", map[string]any{"language": "bash", "code": "x"}, sallyport.ProcessResult{}},
		{f, "run_tests", map[string]any{}, sallyport.ProcessResult{}},
		{newFamily(t, nil), "terminal", map[string]any{"command": "x"}, changed},
	} {
		r, c := use(t, tt.f, tt.tool, scopedtest.Options{
			Files: map[string]string{"Makefile": "test:\n"}, Spawn: prints(numbered(10_000), tt.res),
		}, tt.in)
		expect.OK(t, r, "; the output was not kept, because writes go to an overlay]")
		if _, err := os.Lstat(filepath.Join(c.Workspace, ".terminal")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the workspace was written: %v", tt.tool, err)
		}
	}
}

// hostileResult is what a child left that did what was not asked for.
func hostileResult() sallyport.ProcessResult {
	res := sallyport.ProcessResult{Level: sallyport.LevelFull}
	for range 3 * maxTouched {
		res.Touched.Hosts = append(res.Touched.Hosts, sallyport.HostUse{Host: "no.example", Port: 443, Why: "refused"})
	}
	res.Touched.Hosts = append(res.Touched.Hosts, sallyport.HostUse{Host: "a.example", Port: 443, Allowed: true, Connections: 2, Sent: 9, Received: 8})
	res.Touched.ChangedOnFloor = []string{"/w/.git/hooks/post-checkout", "/w/x\ny"}
	res.Touched.Changed = []string{"/w/" + strings.Repeat("z", 5000)}
	res.Touched.Binaries = []string{"/bin/sh"}
	return res
}

func TestC5_FilesOnTheFloorHaveAnUnknownWriter(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	const line = "\non the deny floor, changed at the same time, by an unknown writer: /w/.git/hooks/post-checkout, \"/w/x\\ny\"\n"
	for name, in := range map[string]map[string]any{
		"terminal": {"command": "x"}, "run_code": {"language": "bash", "code": "x"}, "run_tests": {},
	} {
		r, _ := use(t, f, name, scopedtest.Options{Files: map[string]string{"Makefile": "test:\n"}, Spawn: prints("out", hostileResult())}, in)
		expect.OK(t, r, line)
	}
	many := sallyport.Touched{ChangedOnFloor: make([]string, maxOnFloor+3)}
	if got := noticeLines(sallyport.ProcessResult{Touched: many}); len(got) != 1 || !strings.HasSuffix(got[0], " and 3 more") {
		t.Errorf("noticeLines = %q, want the rest counted", got)
	}
	if got := noticeLines(sallyport.ProcessResult{}); got != nil {
		t.Errorf("noticeLines of nothing = %q", got)
	}
}

// TestBackgroundProcessIsRecorded: the call that started a child has ended
// before anybody knows what the child does.
func TestBackgroundProcessIsRecorded(t *testing.T) {
	t.Parallel()
	s := session{t, newFamily(t, nil), "a", prints("out", hostileResult())}
	id := s.start("serve")
	r := s.use("process_stop", map[string]any{"id": id})
	for range 2 {
		expect.OK(t, r, "\non the deny floor, changed at the same time, by an unknown writer: /w/.git/hooks/post-checkout")
		got, _ := r.Structured["touched"].(map[string]any)
		hosts, _ := got["hosts"].([]any)
		if len(hosts) != maxTouched || hosts[0].(map[string]any)["host"] != "a.example" || got["more"] != true {
			t.Fatalf("touched = %v, want %d hosts, what was reached first", got, maxTouched)
		}
		for name, want := range map[string]int{"changed_on_floor": 2, "changed": 1, "binaries": 1} {
			if list, _ := got[name].([]any); len(list) != want {
				t.Errorf("%s = %v, want %d", name, list, want)
			}
		}
		if n := len(got["changed"].([]any)[0].(string)); n > maxTouchedChars+10 {
			t.Errorf("a path of %d bytes", n)
		}
		r = s.use("process_output", map[string]any{"id": id, "offset": 0})
	}
}

// TestA8_AFullLayerIsSaid: the child saw no more than ENOSPC.
func TestA8_AFullLayerIsSaid(t *testing.T) {
	t.Parallel()
	res := hostileResult()
	res.ExitCode, res.LayerFull = 1, "1048576 bytes"
	r, _ := use(t, newFamily(t, nil), "terminal", scopedtest.Options{Spawn: prints("out", res)}, map[string]any{"command": "x"})
	expect.OK(t, r, "\nno space left: the private layer that takes the writes is full (1048576 bytes)\n")
}
