package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// unchanged fails when a file of the host does not hold what it held.
func unchanged(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s = %q, %v, want %q", path, got, err, want)
	}
}

// outcomeOf runs a script and returns what it printed, or why it did not start.
func (w *workplace) outcomeOf(script string) string {
	w.t.Helper()
	spawn := w.spawn(sallyport.SpawnOptions{}, "sh", "-c", script)
	spawn.Grant = placed(w.grant)
	c, err := w.r.Start(w.t.Context(), spawn)
	if err != nil {
		return "refused: " + err.Error()
	}
	res, err := c.Wait()
	if err != nil {
		return "failed: " + err.Error()
	}
	return string(res.Stdout) + string(res.Stderr)
}

// A path of the reach within another one holds a repository: moving it away
// and making another one in its place is as closed as writing to it.
func TestLinkANestedGrantKeepsItsRepository(t *testing.T) {
	t.Parallel()
	for _, mode := range []sallyport.FSMode{"", sallyport.FSOverlay} {
		w := workspace(t, open(t, &Options{Warm: -1}))
		w.grant.FS.Mode = mode
		w.write("sub/.git/config", "[core]\n")
		w.write("sub/.git/hooks/pre-commit", "good")
		w.grant.FS.Read = []string{w.dir, w.dir + "/sub"}
		w.grant.FS.Write = []string{w.dir, w.dir + "/sub"}
		out := w.outcomeOf("echo began; mv sub old && mkdir -p sub/.git/hooks && echo evil >sub/.git/config && echo evil >sub/.git/hooks/pre-commit")
		if !strings.Contains(out, "began") {
			t.Fatalf("%q: the child did not run: %s", mode, out)
		}
		unchanged(t, w.dir+"/sub/.git/config", "[core]\n")
		unchanged(t, w.dir+"/sub/.git/hooks/pre-commit", "good")
	}
}

// What lies in something that is denied as a whole is not shown, whether the
// grant names it or not.
func TestLinkAPartOfWhatIsDeniedStaysClosed(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	w.write(".ssh/sub/key", "SECRETKEY")
	for _, read := range [][]string{
		{w.dir + "/.ssh", w.dir + "/.ssh/sub"},
		{w.dir + "/.ssh/sub"},
		{w.dir + "/.ssh", w.dir + "/.ssh/sub/key"},
		{w.dir, w.dir + "/.ssh/sub"},
	} {
		for _, write := range [][]string{nil, read} {
			w.grant.FS = sallyport.FSGrant{Read: read, Write: write}
			if out := w.outcomeOf("cat " + w.dir + "/.ssh/sub/key"); strings.Contains(out, "SECRETKEY") {
				t.Errorf("reading with %v and writing with %v shows a key", read, write)
			}
		}
	}
}

// A grant by a link: the name is on the floor, or what lies below it is.
func TestLinkTheNameOfAGrantIsJudged(t *testing.T) {
	t.Parallel()
	for _, mode := range []sallyport.FSMode{"", sallyport.FSOverlay} {
		home := t.TempDir()
		w := workspace(t, open(t, &Options{Warm: -1, Files: &sallyport.FileBackend{Home: home + "/u"}}))
		w.write("keys/deploy", "SECRETKEY")
		w.write("repo/hooks/pre-commit", "good")
		w.write("data/.aws/credentials", "SECRETKEY")
		err := errors.Join(os.Symlink(w.dir+"/keys", w.dir+"/.ssh"), os.Symlink(w.dir+"/repo", w.dir+"/.git"),
			os.Symlink(w.dir+"/data", home+"/u"))
		if err != nil {
			t.Fatal(err)
		}
		w.grant.FS = sallyport.FSGrant{Read: []string{w.dir + "/.ssh", w.dir + "/.git", home + "/u"}, Write: []string{w.dir + "/.git", home + "/u"}, Mode: mode}
		out := w.outcomeOf("cat " + w.dir + "/.ssh/deploy " + home + "/u/.aws/credentials; echo evil >" + w.dir + "/.git/hooks/pre-commit; " +
			"echo evil >" + w.dir + "/.git/config; echo evil >" + home + "/u/.bashrc; echo the end")
		if !strings.Contains(out, "the end") {
			t.Fatalf("%q: the child did not run: %s", mode, out)
		}
		if strings.Contains(out, "SECRETKEY") {
			t.Errorf("%q: a key is shown: %s", mode, out)
		}
		unchanged(t, w.dir+"/repo/hooks/pre-commit", "good")
		if mode != sallyport.FSOverlay {
			continue // what did not exist is reported there
		}
		for _, path := range []string{"/repo/config", "/data/.bashrc"} {
			if _, err := os.Stat(w.dir + path); err == nil {
				t.Errorf("%s was committed", path)
			}
		}
	}
}

// In direct mode a person writes in the same folders: nothing that changes is
// said to be the child's, and nothing that may be a person's is moved.
func TestC5_WhatCannotBeAttributedIsReportedAndLeftAlone(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	w.write(".git/config", "[core]\n")
	w.write(".git/HEAD", "ref: refs/heads/main\n")
	input, release := io.Pipe()
	c, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{Input: input}, "sh", "-c", "read line; echo x >child; mkdir -p own/.git/hooks"))
	if err != nil {
		t.Fatal(err)
	}
	person := []string{w.write(".git/config.worktree", "[core]\n"), w.write(".git/hooks/pre-commit", "person\n"), w.write("notes", "person\n")}
	if _, err := io.WriteString(release, "go\n"); err != nil {
		t.Fatal(err)
	}
	res, err := c.Wait()
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("Wait = %+v, %v", res, err)
	}
	if len(res.Touched.Written) > 0 || len(res.Changes) > 0 {
		t.Errorf("said to be the child's: %v %v", res.Touched.Written, res.Changes)
	}
	for _, path := range append(person, w.dir+"/child") {
		if !slices.Contains(res.Touched.Changed, path) {
			t.Errorf("%s is not among what changed: %v", path, res.Touched.Changed)
		}
	}
	want := []string{w.dir + "/.git/config.worktree", w.dir + "/.git/hooks", w.dir + "/own/.git/hooks"}
	if diff := cmp.Diff(want, res.Touched.ChangedOnFloor); diff != "" {
		t.Errorf("on the floor (-want +got):\n%s", diff)
	}
	for _, path := range person {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("a person's file is gone: %v", err)
		}
	}
	if res = w.run(sallyport.SpawnOptions{}, "true"); len(res.Touched.ChangedOnFloor) != 0 {
		t.Errorf("reported again: %v", res.Touched.ChangedOnFloor)
	}
}

// In overlay mode the layer shows what the child wrote, and nothing else.
func TestC5_TheLayerAttributesWhatTheChildWrote(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	w.grant.FS.Mode = sallyport.FSOverlay
	input, release := io.Pipe()
	c, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{Input: input}, "sh", "-c", "read line; echo x >child"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("notes", "person\n")
	if _, err := io.WriteString(release, "go\n"); err != nil {
		t.Fatal(err)
	}
	res, err := c.Wait()
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("Wait = %+v, %v", res, err)
	}
	if diff := cmp.Diff([]string{w.dir + "/child"}, res.Touched.Written); diff != "" || len(res.Touched.Changed) > 0 {
		t.Errorf("written (-want +got):\n%s\nchanged: %v", diff, res.Touched.Changed)
	}
}

// Every link between .git and the repository stays what it is.
func TestLinkAChainToARepositoryStays(t *testing.T) {
	t.Parallel()
	for _, mode := range []sallyport.FSMode{"", sallyport.FSOverlay} {
		w := workspace(t, open(t, &Options{Warm: -1}))
		w.grant.FS.Mode = mode
		w.write("repo/config", "[core]\n")
		w.write("links/x", "")
		if err := errors.Join(os.Symlink("../repo", w.dir+"/links/l1"), os.Symlink("links/l1", w.dir+"/.git")); err != nil {
			t.Fatal(err)
		}
		out := w.outcomeOf("echo began; mkdir evil; echo evil >evil/config; (rm links/l1; ln -s ../evil links/l1); " +
			"(mv links old; mkdir links; ln -s ../evil links/l1); (rm .git; ln -s evil .git); echo evil >.git/config; true")
		if !strings.Contains(out, "began") {
			t.Fatalf("%q: the child did not run: %s", mode, out)
		}
		unchanged(t, w.dir+"/.git/config", "[core]\n")
	}
}

// A mount of the kernel's in the reach, such as /proc of a chroot, is covered.
func TestLinkAKernelMountIsCovered(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root mounts")
	}
	w := workspace(t, open(t, &Options{Warm: -1}))
	point := filepath.Dir(w.write("jail/proc/x", ""))
	if err := syscall.Mount("proc", point, "proc", syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, read := range [][]string{{w.dir}, {w.dir, point}, {w.dir, point + "/1"}, {point}} {
		w.grant.FS = sallyport.FSGrant{Read: read}
		if out := w.outcomeOf("cat " + point + "/1/comm && echo shown"); strings.Contains(out, "shown") || !strings.Contains(out, "comm") {
			t.Errorf("reading %v: %s", read, out)
		}
	}
}

// A child that leaves more than a survey takes does not keep later ones from
// starting, nor from being reported.
func TestChangedOnFloorBehindADeepTreeIsReported(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit; "+
		"mkdir -p $(yes a | head -140 | tr '\\n' /)")
	deep := w.dir + strings.Repeat("/a", 129)
	if diff := cmp.Diff([]string{w.dir + "/.git/hooks", deep}, res.Touched.ChangedOnFloor); diff != "" {
		t.Errorf("on the floor (-want +got):\n%s", diff)
	}
	if out := w.outcomeOf("ls " + deep + " && echo shown; echo second"); strings.Contains(out, "shown") || !strings.Contains(out, "second") {
		t.Errorf("the next child: %s", out)
	}
}

// TestA12_AFloodOfFoldersLeavesTheRest: what a child makes without bound takes
// neither later children nor what was there before with it.
func TestA12_AFloodOfFoldersLeavesTheRest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, flood string }{
		{"paths on the floor", "mkdir -p $(seq -f %g/.ssh 1100)"},
		{"below a folder", "mkdir -p src/flood && cd src/flood && mkdir -p $(seq -f %g/.ssh 1100)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := workspace(t, open(t, &Options{Warm: -1}))
			w.write("src/main", "old\n")
			w.write("src/.git/config", "[core]\n")
			w.write("notes", "old\n")
			if res := w.run(sallyport.SpawnOptions{}, "sh", "-c", tt.flood); len(res.Touched.ChangedOnFloor) == 0 && !res.Touched.More {
				t.Error("neither the flood is reported nor that there was no time to look")
			}
			res := w.run(sallyport.SpawnOptions{}, "sh", "-c",
				"cat src/main notes && echo new >> src/main && echo new > src/more; echo evil >> src/.git/config; ls 1000/.ssh src/flood/1000/.ssh")
			if string(res.Stdout) != "old\nold\n" || len(res.Touched.Withheld) != 1 {
				t.Errorf("the next child = exit %d, %q, %q, withheld %q", res.ExitCode, res.Stdout, res.Stderr, res.Touched.Withheld)
			}
			want := map[string]string{"src/main": "old\nnew\n", "src/more": "new\n", "notes": "old\n", "src/.git/config": "[core]\n"}
			if diff := cmp.Diff(want, contents(t, w.dir)); diff != "" {
				t.Errorf("host (-want +got):\n%s", diff)
			}
			// What is in the way can be removed, and then all is as before.
			for i := range 1100 {
				_ = os.RemoveAll(filepath.Join(w.dir, fmt.Sprint(i+1)))
			}
			_ = os.RemoveAll(filepath.Join(w.dir, "src/flood"))
			if res := w.run(sallyport.SpawnOptions{}, "true"); len(res.Touched.Withheld) != 0 {
				t.Errorf("after the flood: withheld %q", res.Touched.Withheld)
			}
		})
	}
}
