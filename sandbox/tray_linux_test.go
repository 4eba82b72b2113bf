package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/tray"
)

// trayPlace returns a place whose child may write single names of it, and read
// what is listed.
func trayPlace(t *testing.T, l Limits, read, write []string) *workplace {
	t.Helper()
	w := workspace(t, open(t, &Options{Warm: -1, Limits: l}))
	w.dir = outsideTmp(t)
	w.write("old.md", "old\n")
	w.write("sub/deep.md", "deep\n")
	at := func(names []string) (list []string) {
		for _, name := range names {
			list = append(list, filepath.Join(w.dir, name))
		}
		return list
	}
	w.grant.FS = sallyport.FSGrant{Read: at(read), Write: at(write)}
	return w
}

// outsideTmp returns a folder outside of those for temporary files, in which every child
// has rights of its own. A user who can make none, such as nobody, gets one of those.
func outsideTmp(t *testing.T) string {
	t.Helper()
	here, _ := os.Getwd()
	for _, base := range []string{"/srv", here} {
		if dir, err := os.MkdirTemp(base, "sallyport-tray-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	return t.TempDir()
}

// ofTmp reports whether every child has rights of its own in a folder.
func ofTmp(dir string) bool { return reach.Within(tmpDir, dir) || reach.Within(varTmpDir, dir) }

// changeOf is what the result says of a name, in one line.
func (w *workplace) changeOf(res sallyport.ProcessResult, name string) string {
	for i := range res.Changes {
		if c := &res.Changes[i]; c.Path == filepath.Join(w.dir, name) {
			return strings.TrimSpace(fmt.Sprintf("%s %v %s", c.Kind, c.Committed, c.Why))
		}
	}
	return ""
}

func TestAGrantedFileThatIsNotThereIsCreated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		read, write  []string
		host         map[string]string // what is on the host besides, or in place of, what was there
		out          string
		code         int
		ofLandlock   bool
	}{
		{name: "in place", script: "echo one >new.md; echo two >>new.md", write: []string{"new.md"}, host: map[string]string{"new.md": "one\ntwo\n"}},
		{name: "aside and renamed", script: "echo new >.new.md.tmp && mv .new.md.tmp new.md", write: []string{"new.md"}, host: map[string]string{"new.md": "new\n"}},
		{name: "renamed over", script: "echo a >new.md; echo b >t; mv t new.md", write: []string{"new.md"}, host: map[string]string{"new.md": "b\n"}},
		{name: "linked aside and unlinked", script: "echo a >t; ln t new.md; rm t", write: []string{"new.md"}, host: map[string]string{"new.md": "a\n"}},
		{name: "read back", script: "echo a >new.md; cat new.md", read: []string{"new.md"}, write: []string{"new.md"}, out: "a\n", host: map[string]string{"new.md": "a\n"}},
		{name: "for writing only", script: "echo a >new.md; cat new.md", write: []string{"new.md"}, code: 1, ofLandlock: true, host: map[string]string{"new.md": "a\n"}},
		{name: "whatever the exit code", script: "echo a >new.md; exit 3", write: []string{"new.md"}, code: 3, host: map[string]string{"new.md": "a\n"}},
		{name: "removed again", script: "echo a >new.md; rm new.md", write: []string{"new.md"}},
		{name: "removed and made again", script: "echo a >new.md; rm new.md; echo b >new.md", write: []string{"new.md"}, host: map[string]string{"new.md": "b\n"}},
		{name: "empty", script: ": >new.md", write: []string{"new.md"}, host: map[string]string{"new.md": ""}},
		{name: "several of one folder", script: "echo a >a.md; echo b >b.md; echo c >sub/c.md", write: []string{"a.md", "b.md", "sub/c.md"}, host: map[string]string{"a.md": "a\n", "b.md": "b\n", "sub/c.md": "c\n"}},
		{name: "beside what is there", script: "cat old.md sub/deep.md; echo a >new.md; echo more >>old.md", read: []string{"."}, write: []string{"new.md", "old.md"}, out: "old\ndeep\n", host: map[string]string{"new.md": "a\n", "old.md": "old\nmore\n"}},
		{name: "beside a link", script: "cat link.md; echo a >new.md", read: []string{"."}, write: []string{"new.md"}, out: "old\n", host: map[string]string{"new.md": "a\n"}},
		{name: "in a folder below", script: "echo a >sub/new.md; cat sub/deep.md", read: []string{"."}, write: []string{"sub/new.md"}, out: "deep\n", host: map[string]string{"sub/new.md": "a\n"}},
		{name: "beside a folder for writing", script: "echo a >new.md; echo b >sub/b.md", read: []string{"."}, write: []string{"new.md", "sub"}, host: map[string]string{"new.md": "a\n", "sub/b.md": "b\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := trayPlace(t, Limits{}, tt.read, tt.write)
			if tt.ofLandlock && ofTmp(w.dir) {
				t.Skip("every child may do that below " + tmpDir)
			}
			if err := os.Symlink("old.md", filepath.Join(w.dir, "link.md")); err != nil {
				t.Fatal(err)
			}
			want := contents(t, w.dir)
			if slices.Contains(tt.write, "old.md") {
				want["link.md"] = "old\nmore\n"
			}
			for name, text := range tt.host {
				want[name] = text
			}
			res := w.run(sallyport.SpawnOptions{Dir: w.dir}, "sh", "-c", tt.script)
			if res.ExitCode != tt.code || string(res.Stdout) != tt.out {
				t.Errorf("exit %d, want %d; said %q, want %q; %s", res.ExitCode, tt.code, res.Stdout, tt.out, res.Stderr)
			}
			if got := contents(t, w.dir); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("on the host: %q, want %q; %v", got, want, res.Changes)
			}
		})
	}
}

// Whatever a child tries in a tray, nothing but the granted name changes on the
// host, and nothing of the host is seen that is not granted.
func TestNothingElseComesOfATray(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		read         []string
		refused      string // what the system says
		change       string // what the result says of new.md
	}{
		{name: "another name", script: "echo a >other.md; echo b >.envrc"},
		{name: "what is there, unseen", script: "cat old.md", refused: "No such file"},
		{name: "the folder, unseen", script: "echo *; test \"$(echo *)\" = '*'"},
		{name: "what is there, written unseen", script: "echo evil >old.md"},
		{name: "what is there, written", read: []string{"."}, script: "echo evil >old.md", refused: "Read-only file system"},
		{name: "what is there, replaced", read: []string{"."}, script: "echo evil >t; mv -f t old.md", refused: "Device or resource busy"},
		{name: "what is there, removed", read: []string{"."}, script: "rm -f old.md", refused: "Device or resource busy"},
		{name: "what is there, moved to the name", read: []string{"."}, script: "mv -f old.md new.md", refused: "Device or resource busy"},
		{name: "what is there, linked", read: []string{"."}, script: "ln old.md new.md", refused: "Invalid cross-device link"},
		{name: "below what is there", read: []string{"."}, script: "echo evil >sub/x.md", refused: "Read-only file system"},
		{name: "a folder", script: "mkdir new.md", refused: "Permission denied"},
		{name: "a link", script: "ln -s old.md new.md", refused: "Permission denied"},
		{name: "a pipe", script: "mkfifo new.md", refused: "Permission denied"},
		{name: "a second name", script: "echo a >t; ln t new.md", change: "added false it has a second name: a hard link is not carried back"},
		{name: "a program", read: []string{"."}, script: "cp /bin/true new; chmod 755 new; ./new", refused: "Permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := trayPlace(t, Limits{}, tt.read, []string{"new.md"})
			if tt.refused == "Permission denied" && ofTmp(w.dir) {
				t.Skip("every child may do that below " + tmpDir)
			}
			want := contents(t, w.dir)
			res := w.run(sallyport.SpawnOptions{Dir: w.dir}, "sh", "-c", tt.script)
			if tt.refused != "" && (res.ExitCode == 0 || !strings.Contains(string(res.Stderr), tt.refused)) {
				t.Errorf("exit %d, %s, want %q", res.ExitCode, res.Stderr, tt.refused)
			}
			if tt.refused == "" && res.ExitCode != 0 {
				t.Errorf("exit %d, %s%s", res.ExitCode, res.Stdout, res.Stderr)
			}
			if got := contents(t, w.dir); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("on the host: %q, want %q", got, want)
			}
			if got := w.changeOf(res, "new.md"); got != tt.change {
				t.Errorf("the result says %q, want %q", got, tt.change)
			}
		})
	}
}

func TestWhatIsLeftInATrayIsReported(t *testing.T) {
	t.Parallel()
	w := trayPlace(t, Limits{}, []string{"."}, []string{"new.md"})
	res := w.run(sallyport.SpawnOptions{Dir: w.dir}, "sh", "-c", "echo a >other.md; echo b >new.md")
	if got, want := w.changeOf(res, "other.md"), "added false not granted: of a new file's folder only the granted name is carried back"; got != want {
		t.Errorf("the result says %q, want %q", got, want)
	}
	for _, c := range res.Changes {
		if c.NotGranted != strings.HasSuffix(c.Path, "other.md") {
			t.Errorf("%s is outside of the grant: %v", c.Path, c.NotGranted)
		}
	}
	if len(res.Changes) != 2 || w.changeOf(res, "new.md") != "added true" {
		t.Errorf("changes = %+v, want the name and what is left", res.Changes)
	}
	if want := []string{filepath.Join(w.dir, "new.md")}; !slices.Equal(res.Touched.Written, want) {
		t.Errorf("written = %q, want %q", res.Touched.Written, want)
	}
}

func TestTheFloorHoldsInATray(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".envrc", ".git/config", ".git/hooks/pre-commit", ".vscode/tasks.json"} {
		t.Run(name, func(t *testing.T) {
			w := trayPlace(t, Limits{}, []string{"."}, []string{name, "new.md"})
			for _, dir := range []string{".git/hooks", ".git/objects", ".git/refs", ".vscode"} {
				if err := os.MkdirAll(filepath.Join(w.dir, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			w.write(".git/HEAD", "ref: refs/heads/main\n")
			want := contents(t, w.dir)
			want["new.md"] = "a\n"
			w.run(sallyport.SpawnOptions{Dir: w.dir}, "sh", "-c", "echo a >new.md; echo evil >"+name)
			if got := contents(t, w.dir); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("on the host: %q, want %q", got, want)
			}
		})
	}
}

func TestAKeyInTheFolderOfATrayStaysCovered(t *testing.T) {
	t.Parallel()
	w := trayPlace(t, Limits{}, []string{"."}, []string{"new.md"})
	w.write("id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
	res := w.run(sallyport.SpawnOptions{Dir: w.dir}, "sh", "-c", "echo a >new.md; cat id_rsa")
	if res.ExitCode == 0 || len(res.Stdout) > 0 {
		t.Errorf("exit %d, %s, want a refusal", res.ExitCode, res.Stdout)
	}
}

func TestATrayIsBounded(t *testing.T) {
	t.Parallel()
	w := trayPlace(t, Limits{LayerBytes: 8 << 20}, nil, []string{"new.md"})
	res := w.run(sallyport.SpawnOptions{Dir: w.dir}, "sh", "-c", "head -c 64M /dev/zero >new.md")
	if res.ExitCode == 0 || !strings.Contains(string(res.Stderr), "No space left on device") || res.LayerFull != "8388608 bytes" {
		t.Errorf("exit %d, %s, full %q, want ENOSPC", res.ExitCode, res.Stderr, res.LayerFull)
	}
}

func TestTraysOfAnOrdinaryUser(t *testing.T) {
	asNobody(t, "^(TestAGrantedFileThatIsNotThereIsCreated|TestNothingElseComesOfATray|TestAServersFileIsThereWithItsAnswer|TestTheAnswerAboutANewFileIsWhatAChildMeets|TestAFileClosedToItsOwner)$")
}

// A child of the gate's own user can close its file to itself, and so to the gate.
func TestAFileClosedToItsOwner(t *testing.T) {
	t.Parallel()
	w := trayPlace(t, Limits{}, nil, []string{"new.md"})
	w.run(sallyport.SpawnOptions{Dir: w.dir}, "sh", "-c", "echo a >new.md; chmod 0 new.md .")
	info, err := os.Stat(filepath.Join(w.dir, "new.md"))
	if err != nil || info.Size() != 2 || info.Mode().Perm() != 0 {
		t.Errorf("the file is %v, %v, want two bytes of mode 0", info, err)
	}
}

// TestTheAnswerAboutANewFileIsWhatAChildMeets puts each grant to the plan that
// explain and check ask, and to a child.
func TestTheAnswerAboutANewFileIsWhatAChildMeets(t *testing.T) {
	t.Parallel()
	for _, level := range []sallyport.Level{sallyport.LevelFull, sallyport.LevelLandlock} {
		r := open(t, &Options{Warm: -1, Level: level})
		for _, tt := range []struct {
			name string
			g    sallyport.FSGrant
			path string
		}{
			{"a file", sallyport.FSGrant{Write: []string{"DIR/new.md"}}, "DIR/new.md"},
			{"a readable one", sallyport.FSGrant{Read: []string{"DIR"}, Write: []string{"DIR/new.md"}}, "DIR/new.md"},
			{"in a folder for writing", sallyport.FSGrant{Read: []string{"DIR/sub"}, Write: []string{"DIR/sub"}}, "DIR/sub/new.md"},
			{"no folder", sallyport.FSGrant{Write: []string{"DIR/none/new.md"}}, "DIR/none/new.md"},
			{"below a granted folder that is not there", sallyport.FSGrant{Write: []string{"DIR/none"}}, "DIR/none/new.md"},
			{"beside what is for writing only", sallyport.FSGrant{Read: []string{"DIR/new.md"}, Write: []string{"DIR/new.md", "DIR/sub"}}, "DIR/new.md"},
			{"overlay", sallyport.FSGrant{Read: []string{"DIR/sub"}, Write: []string{"DIR/sub", "DIR/new.md"}, Mode: sallyport.FSOverlay}, "DIR/new.md"},
			{"of the system", sallyport.FSGrant{Write: []string{"/usr/sallyport-new"}}, "/usr/sallyport-new"},
		} {
			t.Run(string(level)+"/"+tt.name, func(t *testing.T) {
				w := workspace(t, r)
				w.dir = outsideTmp(t)
				w.write("sub/deep.md", "")
				if ofTmp(w.dir) && tt.name == "beside what is for writing only" {
					t.Skip("there is no such grant below " + tmpDir)
				}
				in := func(s string) string { return strings.ReplaceAll(s, "DIR", w.dir) }
				at := func(list []string) (out []string) {
					for _, s := range list {
						out = append(out, in(s))
					}
					return out
				}
				w.grant.FS = sallyport.FSGrant{Read: at(tt.g.Read), Write: at(tt.g.Write), Mode: tt.g.Mode}
				confined, err := r.Confines(w.grant)
				if err != nil {
					t.Skip(err)
				}
				said := tray.CheckPath(&w.grant.FS, confined, in(tt.path))
				w.run(sallyport.SpawnOptions{}, "sh", "-c", "echo a >"+in(tt.path))
				if _, err := os.Lstat(in(tt.path)); (err == nil) != (said == nil) {
					t.Errorf("said %+v, and the child's file is there: %v", said, err == nil)
				}
			})
		}
	}
}
