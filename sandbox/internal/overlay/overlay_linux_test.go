package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shell runs a script in a directory of the host.
func shell(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-euc", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// child runs a script in the layers, mounted as the helper of the runtime
// does it: in a user namespace of its own.
func child(t testing.TB, v *Overlay, dir, script string) {
	t.Helper()
	var mounts strings.Builder
	for _, m := range v.Mounts() {
		dir := filepath.Join(v.root.Name(), m.Name)
		fmt.Fprintf(&mounts, "mount -t overlay overlay -o userxattr,lowerdir=%s,upperdir=%s/upper,workdir=%s/work %s\n", m.Lower, dir, dir, m.Lower)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "-Urm", "/bin/sh", "-euc", mounts.String()+"cd "+dir+"\n"+script)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("in the layer: %v\n%s\n%s", err, script, out)
	}
}

// workspace makes a base tree and a scratch directory beside it.
func workspace(t testing.TB, setup string) (ws, scratch string) {
	t.Helper()
	// Not t.TempDir: the commas of a test's name are separators for mount(8).
	top, err := os.MkdirTemp("", "overlay-test-")
	must(t, err)
	top, err = filepath.EvalSymlinks(top)
	must(t, err)
	t.Cleanup(func() {
		_ = exec.Command("chmod", "-R", "u+rwx", top).Run() // A child closed some.
		must(t, os.RemoveAll(top))
	})
	ws, scratch = filepath.Join(top, "ws"), filepath.Join(top, "scratch")
	must(t, os.Mkdir(ws, 0o755))
	must(t, os.Mkdir(scratch, 0o700))
	shell(t, ws, setup)
	return ws, scratch
}

func begin(t testing.TB, scratch string, writes ...string) *Overlay {
	t.Helper()
	v, err := New(writes, nil)
	must(t, err)
	t.Cleanup(v.Discard)
	attach(t, v, scratch)
	return v
}

// attach makes the directories of the layers, as the helper does it in memory.
func attach(t testing.TB, v *Overlay, scratch string) {
	t.Helper()
	for _, m := range v.Mounts() {
		must(t, os.MkdirAll(filepath.Join(scratch, m.Name, "upper"), 0o755))
		must(t, os.MkdirAll(filepath.Join(scratch, m.Name, "work"), 0o755))
		must(t, os.Chmod(filepath.Join(scratch, m.Name, "upper"), m.Mode))
	}
	root, err := os.Open(scratch)
	must(t, err)
	must(t, v.Attach(root))
}

// summarizeChanges prints changes: "+" added, "~" modified, "-" deleted, "!" before what
// is not committed, and the beginning of why.
func summarizeChanges(ws string, changes []sallyport.Change) []string {
	var out []string
	for _, c := range changes {
		line := map[sallyport.ChangeKind]string{"added": "+", "modified": "~", "deleted": "-"}[c.Kind]
		rel, err := filepath.Rel(ws, c.Path)
		if err != nil {
			rel = c.Path
		}
		line += " " + rel
		if !c.Committed {
			line = "!" + line
		}
		if c.Why != "" {
			why, _, _ := strings.Cut(c.Why, ":")
			line += " " + why
		}
		out = append(out, line)
	}
	return out
}

// tree prints what is in a directory: mode, name, content.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path == dir {
			return err
		}
		if errors.Is(err, fs.ErrPermission) {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		line := info.Mode().String() + " " + rel
		switch {
		case info.Mode().IsRegular():
			if info.Mode().Perm() == 0 {
				break
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += "=" + strings.TrimSpace(string(data))
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line = "link " + rel + "=" + target
		}
		out = append(out, line)
		if info.Mode() == fs.ModeDir {
			return fs.SkipDir // Closed to all but the administrator.
		}
		return nil
	}))
	return out
}

const stale = " STALE_WRITE"

// stories are what a child and the host do, and what comes of it.
var stories = []struct {
	name              string
	base, child, host string
	want              []string
	tree              []string
}{
	{
		name:  "files are added, modified and deleted",
		base:  "echo 1 >keep; echo 1 >mod; echo 1 >del; echo 1 >replaced",
		child: "echo 2 >mod; rm del; echo 1 >new; echo 2 >t; mv t replaced; mkdir -p d/e; echo x >d/e/f",
		want:  []string{"+ d", "+ d/e", "+ d/e/f", "- del", "~ mod", "+ new", "~ replaced"},
		tree: []string{
			"drwxr-xr-x d", "drwxr-xr-x d/e", "-rw-r--r-- d/e/f=x", "-rw-r--r-- keep=1",
			"-rw-r--r-- mod=2", "-rw-r--r-- new=1", "-rw-r--r-- replaced=2",
		},
	},
	{
		name:  "what did not change is no change",
		base:  "echo 1 >a; mkdir d; echo 1 >d/b; ln -s a l; echo 1 >m",
		child: ": >>a; touch d/b; echo 1 >x; rm x; rm l; ln -s a l; chmod 600 m; chmod 644 m",
		tree:  []string{"-rw-r--r-- a=1", "drwxr-xr-x d", "-rw-r--r-- d/b=1", "link l=a", "-rw-r--r-- m=1"},
	},
	{
		name:  "modes change, setuid bits stay behind",
		base:  "echo 1 >x; mkdir d",
		child: "chmod 750 x; chmod 700 d; echo 1 >s; chmod 6755 s; mkdir e; chmod 500 e",
		want:  []string{"~ d", "+ e", "+ s", "~ x"},
		tree:  []string{"drwx------ d", "dr-x------ e", "-rwxr-xr-x s=1", "-rwxr-x--- x=1"},
	},
	{
		name:  "directories are removed whole",
		base:  "mkdir -p d/e; echo 1 >d/e/f; echo 1 >d/g",
		child: "rm -r d",
		want:  []string{"- d"},
	},
	{
		name:  "a directory is removed and made anew",
		base:  "mkdir -p d/e; echo 1 >d/e/f; echo 1 >d/g; echo 1 >d/h",
		child: "rm -r d; mkdir d; echo 2 >d/g",
		want:  []string{"- d/e", "~ d/g", "- d/h"},
		tree:  []string{"drwxr-xr-x d", "-rw-r--r-- d/g=2"},
	},
	{
		name:  "a file becomes a directory and the reverse",
		base:  "echo 1 >f; mkdir d; echo 1 >d/x; mkdir e; echo 1 >e/x; ln -s f l",
		child: "rm f; mkdir f; echo 2 >f/y; rm -r d; echo 2 >d; rm -r e; ln -s f e; rm l; mkdir l",
		want:  []string{"~ d", "~ e", "~ f", "+ f/y", "~ l"},
		tree:  []string{"-rw-r--r-- d=2", "link e=f", "drwxr-xr-x f", "-rw-r--r-- f/y=2", "drwxr-xr-x l"},
	},
	{
		name:  "a renamed file and a renamed directory",
		base:  "echo 1 >a; mkdir d; echo 1 >d/x",
		child: "mv a b; mv d e",
		want:  []string{"- a", "+ b", "- d", "+ e", "+ e/x"},
		tree:  []string{"-rw-r--r-- b=1", "drwxr-xr-x e", "-rw-r--r-- e/x=1"},
	},
	{
		name:  "FIFOs are never carried over",
		base:  "echo 1 >a",
		child: "mkfifo p; rm a; mkfifo a",
		want:  []string{"!~ a a FIFO, socket or device is not carried over", "!+ p a FIFO, socket or device is not carried over"},
		tree:  []string{"-rw-r--r-- a=1"},
	},
	{
		name:  "what the host changed is stale, the rest is not",
		base:  "echo 1 >mod; echo 1 >inplace; echo 1 >gone; echo 1 >del; mkdir d; echo 1 >d/x; echo 1 >ok; echo 1 >same",
		child: "echo 2 >mod; echo 2 >>inplace; echo 2 >>gone; rm del; rm -r d; echo 2 >ok; echo 2 >appears; echo 2 >same",
		host:  "echo 3 >t; mv t mod; echo 3 >>inplace; rm gone; echo 3 >del; echo 3 >d/y; echo 3 >appears; chmod 600 same",
		want: []string{
			"!~ appears" + stale, "!- d" + stale, "!- del" + stale, "!+ gone" + stale, "!~ inplace" + stale,
			"!~ mod" + stale, "~ ok", "!~ same" + stale,
		},
		tree: []string{
			"-rw-r--r-- appears=3", "drwxr-xr-x d", "-rw-r--r-- d/x=1", "-rw-r--r-- d/y=3", "-rw-r--r-- del=3",
			"-rw-r--r-- inplace=1\n3", "-rw-r--r-- mod=3", "-rw-r--r-- ok=2", "-rw------- same=1",
		},
	},
	{
		name:  "an old file that the host moved there is stale",
		base:  "mkdir old; echo 1 >old/x; echo 1 >f",
		child: "echo 2 >f; echo 2 >new",
		host:  "mv old/x f; mv old new",
		want:  []string{"!~ f" + stale, "!~ new" + stale},
		tree:  []string{"-rw-r--r-- f=1", "drwxr-xr-x new"},
	},
	{
		name:  "a directory that the host removed, or put a link in the place of",
		base:  "mkdir d e outside; echo 1 >d/x; echo 1 >e/x; echo 1 >outside/x",
		child: "echo 2 >>d/x; echo 2 >d/new; echo 2 >e/x; echo 2 >e/new; rm -r outside",
		host:  "rm -r d e; ln -s outside e",
		want: []string{
			"!+ d" + stale, "!+ d/new" + stale, "!+ d/x" + stale,
			"!~ e" + stale, "!+ e/new" + stale, "!+ e/x" + stale, "- outside",
		},
		tree: []string{"link e=outside"},
	},
	{
		name:  "both removed it",
		base:  "echo 1 >x",
		child: "rm x",
		host:  "rm x",
	},
	{
		name:  "two names of one file",
		base:  "echo 1 >a; ln a b; echo 1 >c; ln c e",
		child: "echo 2 >a; echo 3 >b; rm e; echo 4 >c",
		want:  []string{"~ a", "~ b", "~ c", "- e"},
		tree:  []string{"-rw-r--r-- a=2", "-rw-r--r-- b=3", "-rw-r--r-- c=4"},
	},
	{
		name:  "the floor",
		base:  "mkdir -p .git/hooks sub; echo 1 >.git/config; echo 1 >.git/HEAD; echo 1 >sub/.netrc; ln -s hk .vscode; mkdir hk",
		child: "echo 2 >.git/config; echo 2 >.git/HEAD; echo 2 >.git/hooks/pre-commit; rm -r sub; mkdir -p new/.git/hooks; echo 2 >new/.git/config; echo 2 >new/.git/HEAD; echo 2 >new/x; rm .vscode; mkdir .vscode; echo 2 >hk/x; echo 2 >id_rsa",
		want: []string{
			"~ .git/HEAD", "!~ .git/config on the always-deny floor", "!+ .git/hooks/pre-commit on the always-deny floor",
			"!~ .vscode on the always-deny floor", "!+ hk/x on the always-deny floor", "!+ id_rsa on the always-deny floor",
			"+ new", "+ new/.git", "+ new/.git/HEAD", "!+ new/.git/config on the always-deny floor",
			"!+ new/.git/hooks on the always-deny floor", "+ new/x", "!- sub on the always-deny floor",
		},
		tree: []string{
			"drwxr-xr-x .git", "-rw-r--r-- .git/HEAD=2", "-rw-r--r-- .git/config=1", "drwxr-xr-x .git/hooks", "link .vscode=hk",
			"drwxr-xr-x hk", "drwxr-xr-x new", "drwxr-xr-x new/.git", "-rw-r--r-- new/.git/HEAD=2", "-rw-r--r-- new/x=2",
			"drwxr-xr-x sub", "-rw-r--r-- sub/.netrc=1",
		},
	},
	{
		name:  "a repository under another name",
		base:  "mkdir store; echo 1 >store/config; ln -s store .git",
		child: "echo 2 >store/config; mkdir -p a/s b/s; echo 2 >a/s/config; ln -s s a/.git; echo 'gitdir: s' >b/.git; ln -s s a/harmless; rm .git",
		want: []string{
			"!- .git on the always-deny floor", "+ a", "!+ a/.git leads to where a protected file would be under another name",
			"+ a/harmless", "+ a/s", "+ a/s/config", "+ b", "!+ b/.git leads to where a protected file would be under another name", "+ b/s",
			"!~ store/config on the always-deny floor",
		},
		tree: []string{
			"link .git=store", "drwxr-xr-x a", "link a/harmless=s", "drwxr-xr-x a/s", "-rw-r--r-- a/s/config=2",
			"drwxr-xr-x b", "drwxr-xr-x b/s", "drwxr-xr-x store", "-rw-r--r-- store/config=1",
		},
	},
	{
		name:  "names that are hard to handle",
		base:  "echo 1 >'a b'; mkdir ./-d",
		child: "echo 2 >'a b'; echo 2 >\"$(printf 'n\\nl')\"; echo 2 >./-d/-f; echo 2 >'...'; ln -s /etc/passwd abs; ln -s missing dangling",
		want:  []string{"+ -d/-f", "+ ...", "~ a b", "+ abs", "+ dangling", "+ n\nl"},
		tree:  []string{"drwxr-xr-x -d", "-rw-r--r-- -d/-f=2", "-rw-r--r-- ...=2", "-rw-r--r-- a b=2", "link abs=/etc/passwd", "link dangling=missing", "-rw-r--r-- n\nl=2"},
	},
	{
		name:  "what the child closed to itself",
		base:  "echo 1 >a",
		child: "mkdir d; echo 2 >d/x; chmod 0 d/x; chmod 0 d; chmod 0 a",
		want:  []string{"~ a", "+ d", "+ d/x"},
		tree:  []string{"---------- a", "d--------- d"},
	},
}

func tellStories(t *testing.T, scratchTop string) {
	for _, tt := range stories {
		t.Run(tt.name, func(t *testing.T) {
			ws, scratch := workspace(t, "umask 022; "+tt.base)
			if scratchTop != "" {
				var err error
				scratch, err = os.MkdirTemp(scratchTop, "sallyport-test-")
				must(t, err)
				t.Cleanup(func() { _ = os.RemoveAll(scratch) })
			}
			v := begin(t, scratch, ws)
			child(t, v, ws, "umask 022; "+tt.child)
			if tt.host != "" {
				shell(t, ws, "umask 022; "+tt.host)
			}
			before := tree(t, ws)
			diff, err := v.Diff(t.Context())
			must(t, err)
			if d := cmp.Diff(before, tree(t, ws)); d != "" {
				t.Errorf("Diff changed the base:\n%s", d)
			}
			got, err := v.Commit(t.Context(), denyfloor.New(nil))
			must(t, err)
			if d := cmp.Diff(tt.tree, tree(t, ws), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("the tree afterwards (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.want, summarizeChanges(ws, got), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("Commit() (-want +got):\n%s\n%+v", d, got)
			}
			ignore := cmpopts.IgnoreFields(sallyport.Change{}, "Committed", "Why")
			if d := cmp.Diff(diff, got, ignore); d != "" {
				t.Errorf("Diff() and Commit() differ:\n%s", d)
			}
		})
	}
}

func TestStoriesOnTheDisk(t *testing.T) { tellStories(t, "") }

func TestStoriesInMemory(t *testing.T) { tellStories(t, "/dev/shm") }

// TestStoriesAsAnOrdinaryUser runs the stories again without privileges.
func TestStoriesAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		tellStories(t, "")
		return
	}
	const nobody = 65534
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		must(t, os.Chmod(d, 0o755))
	}
	bin := filepath.Join(dir, "again.test")
	must(t, os.WriteFile(bin, data, 0o755))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !slices.Contains(strings.Split(string(out), "\n"), "PASS") {
		t.Errorf("as uid %d: %v\n%s", nobody, err, out)
	}
}
