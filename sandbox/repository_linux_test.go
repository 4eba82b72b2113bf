package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// hostGit runs git on the host, as a person would.
func hostGit(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	for name, value := range identity {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// firstLine hands on what a child says first.
type firstLine struct{ got chan string }

func (l *firstLine) Write(b []byte) (int, error) {
	select {
	case l.got <- string(b):
	default:
	}
	return len(b), nil
}

// repositories makes a workspace with repositories of every shape.
func repositories(t *testing.T, w *workplace) []string {
	t.Helper()
	w.write("lib/README", "lib\n")
	lib, app := filepath.Join(w.dir, "lib"), filepath.Join(w.dir, "app")
	for _, dir := range []string{lib, app} {
		hostGit(t, "init", "-q", "-b", "main", dir)
		w.write(strings.TrimPrefix(dir, w.dir+"/")+"/README", "x\n")
		hostGit(t, "-C", dir, "add", ".")
		hostGit(t, "-C", dir, "commit", "-q", "-m", "begin")
	}
	hostGit(t, "-C", app, "submodule", "--quiet", "add", lib, "deps/a/b/lib")
	hostGit(t, "-C", app, "commit", "-q", "-m", "submodule")
	hostGit(t, "-C", app, "worktree", "add", "-q", filepath.Join(w.dir, "tree"), "-b", "side")
	hostGit(t, "clone", "-q", "--bare", app, filepath.Join(w.dir, "bare.repo"))
	if err := os.RemoveAll(filepath.Join(lib, ".git/hooks")); err != nil {
		t.Fatal(err)
	}
	return []string{"app/.git", "app/.git/modules/deps/a/b/lib", "app/.git/worktrees/tree", "bare.repo", "lib/.git"}
}

// TestA5_A13_NothingSteersARepositoryWhileAChildRuns has a child in direct mode
// try to write each name from which git would take commands, there or not, and
// looks at the host during the run and afterwards.
func TestA5_A13_NothingSteersARepositoryWhileAChildRuns(t *testing.T) {
	t.Parallel()
	installed(t, "git")
	w := workspace(t, open(t, &Options{Warm: -1}))
	repos := repositories(t, w)
	before := contents(t, w.dir)
	script := `for r in ` + strings.Join(repos, " ") + `; do
  for n in config config.worktree commondir info/attributes objects/info/alternates hooks/pre-commit; do
    case $r/$n in app/.git/worktrees/*/config|*/worktrees/*/hooks/*|*/worktrees/*/info/*|*/worktrees/*/objects/*) continue;; esac
    (echo evil > $r/$n) 2>/dev/null && echo WROTE $r/$n
    echo evil > $r/x; mv -f $r/x $r/$n 2>/dev/null && echo MOVED $r/$n
    ln -sf /tmp/evil $r/$n 2>/dev/null && echo LINKED $r/$n
    rm -f $r/x; rm -rf $r/$n 2>/dev/null; [ -e $r/${n%/*} ] || echo REMOVED $r/$n
  done
  mv $r/objects $r/o 2>/dev/null && echo HIDDEN $r
  mv $r $r.gone 2>/dev/null && echo AWAY $r
done
echo tried; cat`
	in, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said := &firstLine{got: make(chan string, 1)}
	c := w.start(context.Background(), sallyport.SpawnOptions{Input: in, Output: said}, "sh", "-c", script)
	select {
	case text := <-said.got:
		if strings.TrimSpace(text) != "tried" {
			t.Errorf("the child said %q", text)
		}
	case <-time.After(patience):
		t.Fatal("the child did not come to its end")
	}
	// A person works on while the child is there.
	for _, repo := range []string{"app", "tree", "lib", "bare.repo"} {
		hostGit(t, "-C", filepath.Join(w.dir, repo), "log", "--oneline", "-1")
	}
	if out := hostGit(t, "-C", filepath.Join(w.dir, "app"), "status", "--porcelain"); out != "" {
		t.Errorf("git status on the host while the child runs = %q", out)
	}
	end.Close()
	res := w.wait(c)
	if len(res.Touched.ChangedOnFloor) > 0 {
		t.Errorf("on the floor changed %q", res.Touched.ChangedOnFloor)
	}
	after := contents(t, w.dir)
	for name := range after {
		if _, was := before[name]; !was {
			t.Errorf("%s is left on the host", name)
		}
	}
	for name, was := range before {
		if got, ok := after[name]; !ok || got != was && !strings.HasSuffix(name, "index") {
			t.Errorf("%s was changed on the host", name)
		}
	}
}

// TestA13_PlaceholdersGoWithTheLastChild: a child that counts on them keeps
// them, whichever child made them.
func TestA13_PlaceholdersGoWithTheLastChild(t *testing.T) {
	t.Parallel()
	installed(t, "git")
	w := workspace(t, open(t, &Options{Warm: -1}))
	hostGit(t, "init", "-q", filepath.Join(w.dir, "p"))
	placeholder := filepath.Join(w.dir, "p/.git/commondir")
	hold := func() (sallyport.Child, func()) {
		in, end, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return w.start(context.Background(), sallyport.SpawnOptions{Input: in}, "cat"), func() { end.Close() }
	}
	first, endFirst := hold()
	second, endSecond := hold()
	endFirst()
	w.wait(first)
	if data, err := os.ReadFile(placeholder); err != nil || string(data) != commonSelf {
		t.Errorf("while the second child runs commondir holds %q, %v", data, err)
	}
	endSecond()
	w.wait(second)
	if _, err := os.Lstat(placeholder); !os.IsNotExist(err) {
		t.Errorf("after the last child commondir is there: %v", err)
	}
	// One that a killed runtime left is known again and goes with the next child.
	dir, err := os.Open(filepath.Dir(placeholder))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := createPlaceholder(dir, "commondir", false); err != nil {
		t.Fatal(err)
	}
	w.ok(nil, "sh", "-c", "! echo evil > p/.git/commondir")
	if _, err := os.Lstat(placeholder); !os.IsNotExist(err) {
		t.Errorf("what a killed runtime left is there: %v", err)
	}
}

// TestA13_PlaceholdersStayForOtherGates has a child of another gate, whose folder
// for temporary files is another one, end while a child counts on its placeholders.
func TestA13_PlaceholdersStayForOtherGates(t *testing.T) {
	installed(t, "git")
	w := workspace(t, open(t, &Options{Warm: -1}))
	hostGit(t, "init", "-q", filepath.Join(w.dir, "p"))
	in, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := w.start(context.Background(), sallyport.SpawnOptions{Input: in}, "sh", "-c",
		"read go; cd p/.git; echo evil > commondir; echo evil > config.worktree; echo evil > info/attributes")
	placeholder := filepath.Join(w.dir, "p/.git/commondir")
	if _, err := os.Lstat(placeholder); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	other := *w
	other.r = open(t, &Options{Warm: -1})
	other.ok(nil, "true")
	if data, err := os.ReadFile(placeholder); err != nil || string(data) != commonSelf {
		t.Errorf("after the child of the other gate commondir holds %q, %v", data, err)
	}
	end.Close()
	if res := w.wait(c); len(res.Touched.ChangedOnFloor) > 0 {
		t.Errorf("on the floor changed %q", res.Touched.ChangedOnFloor)
	}
	if _, err := os.Lstat(placeholder); !os.IsNotExist(err) {
		t.Errorf("after the last child commondir is there: %v", err)
	}
}

// TestA5_NoSubmoduleIsPreparedForAPerson has a child put configuration where git
// would take it for that of a submodule which a person initializes later.
func TestA5_NoSubmoduleIsPreparedForAPerson(t *testing.T) {
	t.Parallel()
	installed(t, "git")
	w := workspace(t, open(t, &Options{Warm: -1}))
	repositories(t, w)
	hostGit(t, "clone", "-q", filepath.Join(w.dir, "app"), filepath.Join(w.dir, "fresh"))
	const script = `for d in fresh/.git/modules/deps/a/b/lib lib/.git/modules/new app/.git/modules/new app/.git/modules/deps/new app/.git/modules/deps/a/b/new \
    app/.git/modules/deps/a/b/lib/modules/new app/.git/worktrees/tree/modules/new bare.repo/modules/new; do
  mkdir -p $d/hooks 2>/dev/null && echo MADE $d
done
mv app/.git/modules app/.git/m 2>/dev/null && echo MOVED
cd app/deps/a/b/lib && echo x > x && git add x && git commit -q -m x && echo worked`
	env := map[string]string{"GIT_CONFIG_NOSYSTEM": "1"}
	for name, value := range identity {
		env[name] = value
	}
	res := w.run(sallyport.SpawnOptions{Env: env}, "sh", "-c", script)
	if got := string(res.Stdout); got != "worked\n" {
		t.Errorf("the child said %q, %q", got, res.Stderr)
	}
	for _, dir := range []string{"fresh/.git/modules", "lib/.git/modules", "bare.repo/modules"} {
		if _, err := os.Lstat(filepath.Join(w.dir, dir)); err == nil {
			t.Errorf("%s stayed behind", dir)
		}
	}
	hostGit(t, "-C", filepath.Join(w.dir, "fresh"), "submodule", "--quiet", "update", "--init")
}

func TestA5_HoldsForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	installed(t, "git")
	asNobody(t, "^TestA5_(A13_Nothing|NoSubmodule)", "PATH="+os.Getenv("PATH"))
}
