package scoped

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport"
)

// The gates stand behind one another, so that a race that passes one meets the
// next. Each is tested here on its own, in the state that a race would leave.

// gateStory is a home directory with a link that an attacker has just put in
// the place of a folder.
func gateStory(t *testing.T) (dir string, b *boundFiles, h *rootHandle) {
	dir = tree(t, map[string]string{
		"home/.ssh/id_rsa": "SECRET", "home/.aws/config": "SECRET", "home/p/a": "fine", "home/repo/.git/hooks/": "",
		"home/p/swapped": "->../.ssh", "home/p/hooks": "->../repo/.git/hooks", "home/p/up": "->..", "out/secret": "SECRET",
	})
	f := reachOf(t, dir, []string{"home"}, []string{"home"}, nil)
	b = f.bindCall(t.Context(), filepath.Join(dir, "home"), "s", nil).(*boundFiles)
	h, err := f.read[0].acquireRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir, b, h
}

func wantFloor(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, sallyport.ErrPathNotReachable) || !strings.Contains(err.Error(), "always-deny floor") {
		t.Errorf("%s: error = %v, want the floor's refusal", what, err)
	}
}

func wantRefusal(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, sallyport.ErrPathNotReachable) || strings.Contains(err.Error(), "always-deny floor") {
		t.Errorf("%s: error = %v, want a refusal by the reach", what, err)
	}
}

func TestAdmitJudgesTheName(t *testing.T) {
	t.Parallel()
	_, b, _ := gateStory(t)
	_, err := b.checkName(opRead, ".ssh/none")
	wantFloor(t, "admit of a key", err)
	_, err = b.checkName(opRead, "../out/secret")
	wantRefusal(t, "admit outside", err)
	_, err = b.checkName("execute", "p/a")
	wantRefusal(t, "admit of an unknown operation", err)
}

func TestJudgeJudgesThePlace(t *testing.T) {
	t.Parallel()
	dir, b, h := gateStory(t)
	wantFloor(t, "judge of a key", b.checkOpened(opRead, "asked", h.real, filepath.Join(dir, "home/.ssh/id_rsa")))
	wantRefusal(t, "judge outside", b.checkOpened(opRead, "asked", h.real, filepath.Join(dir, "out/secret")))
	if err := b.checkOpened(opRead, "asked", h.real, filepath.Join(dir, "home/p/a")); err != nil {
		t.Errorf("judge inside = %v, want nil", err)
	}
}

func TestVetJudgesTheOpenedFile(t *testing.T) {
	t.Parallel()
	dir, b, h := gateStory(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "home/p/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	open := func(name string) (*os.File, error) {
		return os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|openFlags, 0)
	}
	for name, want := range map[string]func(*testing.T, string, error){
		"home/.ssh/id_rsa": wantFloor, "out/secret": wantRefusal, "home/p/pipe": wantRefusal,
	} {
		var f *os.File
		err := runSoon(t, "open of "+name, func() (err error) { f, err = open(name); return err })
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.checkFile(&openedFile{f: f, path: "asked", real: filepath.Join(dir, "home/p/a")}, h)
		want(t, "vet of "+name, err)
		if f.Close() == nil {
			t.Errorf("vet left %s open", name)
		}
	}
}

func TestWalkAsksNothingBeyondAGate(t *testing.T) {
	t.Parallel()
	dir, b, _ := gateStory(t)
	w := linkWalk{b: b, op: opRead, asked: "asked", at: filepath.Join(dir, "home/p")}
	wantFloor(t, "follow to keys", w.replaceLink("../.ssh"))
	w = linkWalk{b: b, op: opRead, asked: "asked", at: filepath.Join(dir, "home/p")}
	wantRefusal(t, "follow outside", w.replaceLink("../../out"))
	_, _, err := w.statElement(filepath.Join(dir, "home/.ssh"))
	wantFloor(t, "look at keys", err)
	info, target, err := w.statElement(filepath.Join(dir, "out/secret"))
	if info != nil || target != "" || err != nil {
		t.Errorf("look outside = %v, %q, %v, want nothing asked", info, target, err)
	}
	w = linkWalk{b: b, op: opRead, asked: "asked", at: filepath.Join(dir, "home/p/swapped")}
	_, err = w.newResolvedPath(nil)
	wantRefusal(t, "land on a link that has appeared", err)
	w = linkWalk{b: b, op: opRead, asked: "asked", at: filepath.Join(dir, "out/secret")}
	_, err = w.newResolvedPath(nil)
	wantRefusal(t, "land outside", err)
	// A grant of the very folder is not looked at, only landed on.
	f := reachOf(t, dir, []string{"home/.ssh"}, nil, nil)
	_, err = f.bindCall(t.Context(), dir, "s", nil).(*boundFiles).resolveLinks(opRead, filepath.Join(dir, "home/.ssh"))
	wantFloor(t, "resolve of granted keys", err)
}

func TestWritesJudgeTheOpenedFolder(t *testing.T) {
	t.Parallel()
	dir, b, h := gateStory(t)
	place := func(have, rel string) *resolvedPath {
		return &resolvedPath{entry: b.f.write[0], h: h, have: have, rel: rel, path: filepath.Join(dir, "home", rel)}
	}
	_, err := b.makeDir("asked", place("p/hooks", "p/hooks/x"), "p/hooks/x")
	wantFloor(t, "makeDir among hooks", err)
	if _, err := os.Lstat(filepath.Join(dir, "home/repo/.git/hooks/x")); err == nil {
		t.Error("makeDir created a directory before it judged the folder")
	}
	_, err = b.makeDir("asked", place("p/hooks", "p/hooks"), "p/hooks")
	wantFloor(t, "makeDir of hooks", err)
	_, _, err = b.parentOf("asked", place("p/up", "p/up/.bashrc"))
	wantFloor(t, "parentOf a start file", err)
}

func TestEntriesAreJudgedWhereTheirFolderIs(t *testing.T) {
	t.Parallel()
	_, b, _ := gateStory(t)
	entries, err := b.ReadDir("p/up")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == ".aws" {
			_, err := e.Info()
			wantFloor(t, "Info of .aws behind a link", err)
			return
		}
	}
	t.Errorf("ReadDir = %v, want .aws in it", entries)
}
