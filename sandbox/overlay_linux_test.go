package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/pending"
)

// TestOverlayCommitsOnSuccess has a child write in overlay mode and looks at
// the host while it runs, and after.
func TestOverlayCommitsOnSuccess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		discard      bool
		want         map[string]string // afterwards, on the host
		changes      []sallyport.Change
	}{
		{
			name: "success", script: "echo new > added; echo more >> kept; rm gone; mkdir -p d && echo x > d/x",
			want: map[string]string{"added": "new\n", "kept": "old\nmore\n", "d/x": "x\n"},
			changes: []sallyport.Change{
				{Path: "added", Kind: sallyport.ChangeAdded, Bytes: 4, Committed: true},
				{Path: "d", Kind: sallyport.ChangeAdded, Committed: true},
				{Path: "d/x", Kind: sallyport.ChangeAdded, Bytes: 2, Committed: true},
				{Path: "gone", Kind: sallyport.ChangeDeleted, Committed: true},
				{Path: "kept", Kind: sallyport.ChangeModified, Bytes: 9, Committed: true},
			},
		},
		{
			name: "failure", script: "echo new > added; exit 3",
			want:    map[string]string{"kept": "old\n", "gone": "old\n"},
			changes: []sallyport.Change{{Path: "added", Kind: sallyport.ChangeAdded, Bytes: 4}},
		},
		{
			name: "thrown away", script: "echo new > added", discard: true,
			want:    map[string]string{"kept": "old\n", "gone": "old\n"},
			changes: []sallyport.Change{{Path: "added", Kind: sallyport.ChangeAdded, Bytes: 4}},
		},
		{
			name: "hooks of a repository of its own", script: "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit && echo [core] > .git/config",
			want: map[string]string{"kept": "old\n", "gone": "old\n"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := workspace(t, open(t, &Options{Warm: -1}))
			w.grant.FS.Mode = sallyport.FSOverlay
			w.write("kept", "old\n")
			w.write("gone", "old\n")
			res := w.run(sallyport.SpawnOptions{Discard: tt.discard}, "sh", "-c", tt.script)
			for i := range res.Changes {
				res.Changes[i].Path = strings.TrimPrefix(res.Changes[i].Path, w.dir+"/")
			}
			if tt.changes != nil {
				if d := cmp.Diff(tt.changes, res.Changes); d != "" {
					t.Errorf("changes (-want +got):\n%s", d)
				}
			}
			if d := cmp.Diff(tt.want, contents(t, w.dir)); d != "" {
				t.Errorf("host (-want +got):\n%s", d)
			}
		})
	}
}

// TestA20_ConfigurationWaitsForAPerson: what a child changes of configuration
// that runs commands is not carried over with the rest. A person sees the
// difference and applies it, unless the file was changed since.
func TestA20_ConfigurationWaitsForAPerson(t *testing.T) {
	t.Parallel()
	store := pending.Store{Dir: filepath.Join(t.TempDir(), "pending")}
	w := workspace(t, open(t, &Options{Warm: -1, Pending: store.Dir}))
	w.grant.FS.Mode = sallyport.FSOverlay
	w.write(".vscode/settings.json", "{\n\"a\": 1\n}\n")
	w.write(".npmrc", "old\n")
	script := `printf '{\n"a": 2\n}\n' > .vscode/settings.json && rm .npmrc && mkdir .cargo && echo new > .cargo/config.toml && echo new > main.rs`
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", script)
	if res.ExitCode != 0 {
		t.Fatalf("the child = exit %d: %s", res.ExitCode, res.Stderr)
	}
	want := map[string]string{".vscode/settings.json": "{\n\"a\": 1\n}\n", ".npmrc": "old\n", "main.rs": "new\n"}
	if diff := cmp.Diff(want, contents(t, w.dir)); diff != "" {
		t.Errorf("host after the run (-want +got):\n%s", diff)
	}
	list, err := store.List()
	if err != nil || len(list) != 1 || len(list[0].Files) != 3 {
		t.Fatalf("what waits = %+v, %v, want three files of one run", list, err)
	}
	for _, c := range res.Changes {
		if file := strings.Contains(c.Path, "settings.json"); file && !strings.Contains(c.Why, "sallyport pending show "+list[0].ID) {
			t.Errorf("%s: %s, want the command for a person", c.Path, c.Why)
		}
	}
	text, err := list[0].Difference()
	if err != nil || !strings.Contains(text, "-\"a\": 1\n+\"a\": 2\n") || !strings.Contains(text, "-old") {
		t.Errorf("Difference() = %q, %v", text, err)
	}
	w.write(".npmrc", "changed\n")
	if err := store.Apply(&list[0]); !errors.Is(err, pending.ErrChanged) {
		t.Errorf("Apply over a later change = %v, want %v", err, pending.ErrChanged)
	}
	w.write(".npmrc", "old\n")
	if err := store.Apply(&list[0]); err != nil {
		t.Fatal(err)
	}
	want = map[string]string{".vscode/settings.json": "{\n\"a\": 2\n}\n", ".cargo/config.toml": "new\n", "main.rs": "new\n"}
	if diff := cmp.Diff(want, contents(t, w.dir)); diff != "" {
		t.Errorf("host after the person (-want +got):\n%s", diff)
	}
	if list, err := store.List(); err != nil || len(list) != 0 {
		t.Errorf("what waits afterwards = %v, %v", list, err)
	}
}

// TestA7_AWaitingChangeHeedsTheHost has a person edit and remove what a child
// changes of configuration while it runs: nothing of that waits to undo it.
func TestA7_AWaitingChangeHeedsTheHost(t *testing.T) {
	t.Parallel()
	store := pending.Store{Dir: filepath.Join(t.TempDir(), "pending")}
	w := workspace(t, open(t, &Options{Warm: -1, Pending: store.Dir}))
	w.grant.FS.Mode = sallyport.FSOverlay
	w.write(".npmrc", "old\n")
	w.write(".husky/pre-commit", "old\n")
	in, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := w.start(t.Context(), sallyport.SpawnOptions{Input: in}, "sh", "-c", "echo child > .npmrc; chmod 755 .husky/pre-commit; read go || true")
	w.write(".npmrc", "person\n")
	end.Close()
	res := w.wait(c)
	for _, change := range res.Changes {
		if strings.HasSuffix(change.Path, ".npmrc") && !strings.HasPrefix(change.Why, string(sallyport.CodeStaleWrite)) {
			t.Errorf("what a person changed in between: %q, want %s", change.Why, sallyport.CodeStaleWrite)
		}
	}
	list, err := store.List()
	if err != nil || len(list) != 1 || len(list[0].Files) != 1 {
		t.Fatalf("what waits = %+v, %v, want the permissions of one file", list, err)
	}
	if text, err := list[0].Difference(); err != nil || !strings.Contains(text, "mode 0755, was 0644\n") {
		t.Errorf("Difference() = %q, %v, want the permissions", text, err)
	}
}

// TestA12_AnEmptyRepositoryStopsNoChild has folders that look like repositories and
// lack those which git makes in them.
func TestA12_AnEmptyRepositoryStopsNoChild(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	w.grant.FS.Mode = sallyport.FSOverlay
	w.ok(nil, "sh", "-c", "mkdir objects refs; mkdir -p x/objects x/refs")
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "mkdir x/info; echo evil > x/info/attributes; echo evil > x/config; echo new > x/y")
	if res.ExitCode != 0 {
		t.Fatalf("the child = exit %d: %s", res.ExitCode, res.Stderr)
	}
	if diff := cmp.Diff(map[string]string{"x/y": "new\n"}, contents(t, w.dir)); diff != "" {
		t.Errorf("host (-want +got):\n%s", diff)
	}
}

// TestA20_DirectModeLeavesConfigurationAlone: without a layer a child changes
// nothing of it.
func TestA20_DirectModeLeavesConfigurationAlone(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	want := map[string]string{}
	for _, name := range []string{
		".gemini/settings.json", ".codex/config.toml", ".claude/skills/x", ".windsurf/mcp.json", ".cargo/config.toml",
		".npmrc", ".yarnrc.yml", ".envrc", ".husky/pre-commit", ".devcontainer/x", "a.code-workspace", ".exrc", "deep/er/still/.npmrc",
	} {
		w.write(name, "old\n")
		want[name] = "old\n"
		w.run(sallyport.SpawnOptions{}, "sh", "-c", "echo evil > "+name+"; rm -f "+name+"; mv "+filepath.Dir(name)+" gone; rm -rf gone")
	}
	if diff := cmp.Diff(want, contents(t, w.dir)); diff != "" {
		t.Errorf("host (-want +got):\n%s", diff)
	}
}

// TestOverlayShowsNothingOfTheHostBesides has areas within the layer: a folder
// that may be executed, and one that is only read.
func TestOverlayShowsNothingOfTheHostBesides(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	tool := w.write("bin/tool", "#!/bin/sh\necho ran\n")
	w.write("docs/page", "old\n")
	if err := os.Chmod(tool, 0o755); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Dir(tool)
	w.grant.FS = sallyport.FSGrant{
		Read: []string{w.dir, filepath.Join(w.dir, "docs")}, Write: []string{w.dir, bin}, Mode: sallyport.FSOverlay,
	}
	w.grant.Process.ExecFrom = []string{bin}
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c",
		"bin/tool; echo evil > bin/tool; echo evil > docs/page; cp /bin/true ./t; ./t || exit 1")
	if res.ExitCode != 1 || string(res.Stdout) != "ran\n" {
		t.Fatalf("the child ended with %d %q %q, want 1 and a program that may not be executed", res.ExitCode, res.Stdout, res.Stderr)
	}
	if d := cmp.Diff(map[string]string{"bin/tool": "#!/bin/sh\necho ran\n", "docs/page": "old\n"}, contents(t, w.dir)); d != "" {
		t.Errorf("host (-want +got):\n%s", d)
	}
}

// contents reads every file below a directory.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
