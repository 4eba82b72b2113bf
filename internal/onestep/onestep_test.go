package onestep

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// twoFiles returns a folder for the note and a change of two files.
func twoFiles(t *testing.T) (folder string, changes []Change) {
	t.Helper()
	folder = t.TempDir()
	dir := t.TempDir()
	for _, name := range []string{"sallyport.yaml", "sallyport.lock"} {
		c := Change{Path: filepath.Join(dir, name), Old: []byte("old " + name), New: []byte("new " + name)}
		if err := os.WriteFile(c.Path, c.Old, 0o640); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c)
	}
	return folder, changes
}

// stateOf says whether all files are as before, or all as after.
func stateOf(t *testing.T, changes []Change) string {
	t.Helper()
	state := ""
	for _, c := range changes {
		got, err := os.ReadFile(c.Path)
		switch {
		case err == nil && bytes.Equal(got, c.Old):
			state += "old "
		case err == nil && bytes.Equal(got, c.New):
			state += "new "
		default:
			state += string(got) + " "
		}
	}
	return strings.TrimSpace(state)
}

// leftovers lists what lies beside the files and in the folder.
func leftovers(t *testing.T, folder string, changes []Change) (names []string) {
	t.Helper()
	for _, dir := range []string{folder, filepath.Dir(changes[0].Path)} {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Name() != "sallyport.yaml" && e.Name() != "sallyport.lock" {
				names = append(names, e.Name())
			}
		}
	}
	return names
}

func TestReplaceChangesAllFiles(t *testing.T) {
	t.Parallel()
	folder, changes := twoFiles(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(changes[0].Path, link); err != nil {
		t.Fatal(err)
	}
	changes[0].Path = link
	if err := Replace(folder, changes); err != nil || stateOf(t, changes) != "new new" {
		t.Fatalf("Replace = %v, %s", err, stateOf(t, changes))
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is replaced, want its target")
	}
	if info, err := os.Stat(changes[1].Path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v (%v), want that of before", info.Mode(), err)
	}
	if left := leftovers(t, folder, changes[1:]); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if err := Replace(folder, changes); !errors.Is(err, ErrChanged) || stateOf(t, changes) != "new new" {
		t.Errorf("Replace of what is there no more = %v, %s", err, stateOf(t, changes))
	}
}

var errStopped = errors.New("stopped")

// stoppingDisk is the disk of a process that is killed before its operation number
// stop, as by Ctrl-C or a power cut.
func stoppingDisk(stop int) disk {
	count := 0
	alive := func() bool { count++; return count <= stop }
	return disk{
		writeAside: func(path string, text []byte) (string, error) {
			if !alive() {
				return "", errStopped
			}
			return systemDisk.writeAside(path, text)
		},
		rename: func(from, to string) error {
			if !alive() {
				return errStopped
			}
			return systemDisk.rename(from, to)
		},
		remove: func(path string) error {
			if !alive() {
				return errStopped
			}
			return systemDisk.remove(path)
		},
	}
}

// TestAKilledStepIsFinished kills a process at each point of a step. The next command
// finds all files as before or all as after.
func TestAKilledStepIsFinished(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for stop := range 8 {
		folder, changes := twoFiles(t)
		s := newStep(folder)
		s.disk = stoppingDisk(stop)
		err := s.replace(changes)
		if (err == nil) != (stop >= 7) {
			t.Errorf("killed before operation %d: %v", stop, err)
		}
		if _, err := Finish(folder, changes[0].Path, changes[1].Path); err != nil {
			t.Errorf("killed before operation %d: Finish = %v", stop, err)
		}
		state := stateOf(t, changes)
		if seen[state] = true; state != "old old" && state != "new new" {
			t.Errorf("killed before operation %d: the files are %s", stop, state)
		}
		if _, err := os.Lstat(filepath.Join(folder, noteName)); err == nil {
			t.Errorf("killed before operation %d: the note is still there", stop)
		}
	}
	if len(seen) != 2 {
		t.Errorf("states %v, want both", seen)
	}
}

// TestAKilledFinishIsFinished kills the command that completes a step, too.
func TestAKilledFinishIsFinished(t *testing.T) {
	t.Parallel()
	for stop := range 4 {
		folder, changes := twoFiles(t)
		s := newStep(folder)
		s.disk = stoppingDisk(4)
		if err := s.replace(changes); err == nil {
			t.Fatal("the step was not interrupted")
		}
		again := newStep(folder)
		again.setFiles([]string{changes[0].Path, changes[1].Path})
		again.disk = stoppingDisk(stop)
		_, _ = again.finish() // it is killed
		if _, err := Finish(folder, changes[0].Path, changes[1].Path); err != nil || stateOf(t, changes) != "new new" {
			t.Errorf("killed before operation %d: %s, %v", stop, stateOf(t, changes), err)
		}
	}
}

// TestAFullDiskChangesNothing lets each write fail while files can be removed.
func TestAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	for stop := range 3 {
		folder, changes := twoFiles(t)
		s, writes := newStep(folder), 0
		s.disk.writeAside = func(path string, text []byte) (string, error) {
			if writes++; writes > stop {
				return "", errStopped
			}
			return systemDisk.writeAside(path, text)
		}
		if err := s.replace(changes); !errors.Is(err, errStopped) {
			t.Errorf("write %d fails: %v", stop, err)
		}
		if left := leftovers(t, folder, changes); stateOf(t, changes) != "old old" || len(left) > 0 {
			t.Errorf("write %d fails: %s, left %q", stop, stateOf(t, changes), left)
		}
	}
}

// TestTwoStepsAtOnce runs steps that start from the same texts. One of them is done.
func TestTwoStepsAtOnce(t *testing.T) {
	t.Parallel()
	folder, changes := twoFiles(t)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = Replace(folder, changes) })
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else if !errors.Is(err, ErrChanged) {
			t.Error(err)
		}
	}
	if done != 1 || stateOf(t, changes) != "new new" {
		t.Errorf("%d steps were done, %s, want one", done, stateOf(t, changes))
	}
}

// TestAStepIsUndoneWhenAFileChanged lets a user edit a file before the next command.
func TestAStepIsUndoneWhenAFileChanged(t *testing.T) {
	t.Parallel()
	folder, changes := twoFiles(t)
	s := newStep(folder)
	s.disk = stoppingDisk(5) // after the first file
	if err := s.replace(changes); err == nil || stateOf(t, changes) != "new old" {
		t.Fatalf("%v, %s", err, stateOf(t, changes))
	}
	if err := os.WriteFile(changes[1].Path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	done, err := Finish(folder, changes[0].Path, changes[1].Path)
	if err != nil || !strings.Contains(done, "undid a change") || stateOf(t, changes) != "old mine" {
		t.Errorf("Finish = %q, %v, %s", done, err, stateOf(t, changes))
	}
	if left := leftovers(t, folder, changes); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestAFileAsideThatWasChangedIsNotUsed changes the text that waits for its rename.
func TestAFileAsideThatWasChangedIsNotUsed(t *testing.T) {
	t.Parallel()
	folder, changes := twoFiles(t)
	s := newStep(folder)
	s.disk = stoppingDisk(4)
	if err := s.replace(changes); err == nil {
		t.Fatal("the step was not interrupted")
	}
	aside, err := filepath.Glob(filepath.Join(filepath.Dir(changes[0].Path), ".sallyport.yaml.*"))
	if err != nil || len(aside) != 1 {
		t.Fatalf("%q, %v", aside, err)
	}
	if err := os.WriteFile(aside[0], []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Finish(folder, changes[0].Path, changes[1].Path); err != nil || stateOf(t, changes) != "old old" {
		t.Errorf("Finish = %v, %s, want the old texts", err, stateOf(t, changes))
	}
}

// TestANoteAboutAnotherFileIsRefused gives a note to a command whose files are others.
func TestANoteAboutAnotherFileIsRefused(t *testing.T) {
	t.Parallel()
	folder, changes := twoFiles(t)
	s := newStep(folder)
	s.disk = stoppingDisk(4)
	if err := s.replace(changes); err == nil {
		t.Fatal("the step was not interrupted")
	}
	if _, err := Finish(folder, changes[0].Path); err == nil || stateOf(t, changes) != "old old" {
		t.Errorf("Finish = %v, %s, want nothing done", err, stateOf(t, changes))
	}
}
