package onestep

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
		case errors.Is(err, fs.ErrNotExist) && c.Old == nil:
			state += "old "
		case err == nil && c.Old != nil && bytes.Equal(got, c.Old):
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
	half := filepath.Join(folder, "."+noteName+".123")
	if err := os.WriteFile(half, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
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
		t.Errorf("left: %q, want nothing, not even half a note of before", left)
	}
	if err := Replace(folder, changes); !errors.Is(err, ErrChanged) || stateOf(t, changes) != "new new" {
		t.Errorf("Replace of what is there no more = %v, %s", err, stateOf(t, changes))
	}
}

// admitAll admits the files of some changes.
func admitAll(changes []Change) func(string, []byte) bool {
	return func(path string, _ []byte) bool {
		return slices.ContainsFunc(changes, func(c Change) bool { return IsFile(c.Path, path) })
	}
}

var errStopped = errors.New("stopped")

// stoppingDisk is the disk of a process that is killed before its operation number
// stop, as by Ctrl-C or a power cut. Of the text that it was writing then, a file gets
// the first bytes.
func stoppingDisk(stop, first int) disk {
	count := 0
	alive := func() bool { count++; return count <= stop }
	return disk{
		writeNote: func(path string, text []byte) error {
			if !alive() {
				return errStopped
			}
			return systemDisk.writeNote(path, text)
		},
		overwrite: func(path string, text []byte) error {
			if alive() {
				return systemDisk.overwrite(path, text)
			}
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil && count == stop+1 {
				_, _ = f.WriteAt(text[:min(first, len(text))], 0)
				f.Close()
			}
			return errStopped
		},
		makeFile: func(path, aside string, text []byte, mode fs.FileMode) error {
			if alive() {
				return systemDisk.makeFile(path, aside, text, mode)
			}
			if count == stop+1 {
				_ = os.WriteFile(aside, text[:min(first, len(text))], 0o600)
			}
			return errStopped
		},
		remove: func(path string) error {
			if !alive() {
				return errStopped
			}
			return systemDisk.remove(path)
		},
	}
}

// TestAKilledStepIsFinished kills a process at each point of a step, also within a
// text. The next command finds all files as before or all as after.
func TestAKilledStepIsFinished(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for stop := range 5 {
		for _, first := range []int{0, 2, 1000} {
			folder, changes := twoFiles(t)
			s := newStep(folder, admitAll(changes))
			s.disk = stoppingDisk(stop, first)
			err := s.replaceFiles(changes)
			if (err == nil) != (stop >= 4) {
				t.Errorf("killed before operation %d: %v", stop, err)
			}
			if _, _, err := Finish(folder, admitAll(changes)); err != nil {
				t.Errorf("killed before operation %d: Finish = %v", stop, err)
			}
			state := stateOf(t, changes)
			if seen[state] = true; state != "old old" && state != "new new" {
				t.Errorf("killed before operation %d, %d bytes later: the files are %s", stop, first, state)
			}
			if _, err := os.Lstat(filepath.Join(folder, noteName)); err == nil {
				t.Errorf("killed before operation %d: the note is still there", stop)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("states %v, want both", seen)
	}
}

// TestANewFileIsPartOfAStep kills a process at each point of a step that makes one of
// the files, and lets a user change the other one before some of the next commands.
func TestANewFileIsPartOfAStep(t *testing.T) {
	t.Parallel()
	for stop := range 8 {
		for _, edited := range []bool{false, true} {
			folder, changes := twoFiles(t)
			changes[0].Old, changes[0].Private = nil, edited
			if err := os.Remove(changes[0].Path); err != nil {
				t.Fatal(err)
			}
			s := newStep(folder, admitAll(changes))
			s.disk = stoppingDisk(stop, 2)
			_ = s.replaceFiles(changes) // it is killed
			want := []string{"old old", "new new"}
			if edited && stateOf(t, changes) != "new new" {
				if err := os.WriteFile(changes[1].Path, []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
				want = []string{"old mine"}
			}
			if _, _, err := Finish(folder, admitAll(changes)); err != nil || !slices.Contains(want, stateOf(t, changes)) {
				t.Errorf("killed before operation %d: Finish = %v, %s, want one of %q", stop, err, stateOf(t, changes), want)
			}
			if left := leftovers(t, folder, changes); len(left) > 0 {
				t.Errorf("killed before operation %d: left %q", stop, left)
			}
			if info, err := os.Stat(changes[0].Path); err == nil && info.Mode().Perm() != map[bool]fs.FileMode{true: 0o600, false: newMode}[edited] {
				t.Errorf("the new file has mode %v, private: %v", info.Mode(), edited)
			}
			if info, err := os.Stat(changes[1].Path); !edited && (err != nil || info.Mode().Perm() != 0o640) {
				t.Errorf("the other file has mode %v (%v), want that of before", info.Mode(), err)
			}
		}
	}
	folder, changes := twoFiles(t)
	changes[0].Old = nil
	if err := Replace(folder, changes); !errors.Is(err, ErrChanged) {
		t.Errorf("Replace of a new file that is there = %v", err)
	}
}

// TestAKilledFinishIsFinished kills the command that completes a step, too.
func TestAKilledFinishIsFinished(t *testing.T) {
	t.Parallel()
	for stop := range 3 {
		folder, changes := twoFiles(t)
		s := newStep(folder, admitAll(changes))
		s.disk = stoppingDisk(1, 1)
		if err := s.replaceFiles(changes); err == nil {
			t.Fatal("the step was not interrupted")
		}
		again := newStep(folder, admitAll(changes))
		again.disk = stoppingDisk(stop, 2)
		_, _ = again.finishNote() // it is killed
		if _, _, err := Finish(folder, admitAll(changes)); err != nil || stateOf(t, changes) != "new new" {
			t.Errorf("killed before operation %d: %s, %v", stop, stateOf(t, changes), err)
		}
	}
}

// TestAFullDiskChangesNothing has each write fail in the middle; the old texts have
// room.
func TestAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	for stop := range 3 {
		folder, changes := twoFiles(t)
		s, writes := newStep(folder, admitAll(changes)), 0
		full := func(path string, text []byte, write func(string, []byte) error) error {
			if writes++; writes == stop+1 {
				if found, err := os.ReadFile(path); err == nil {
					_ = os.WriteFile(path, append(text[:2:2], found[2:]...), 0o600)
				}
				return errStopped
			}
			return write(path, text)
		}
		s.disk.writeNote = func(path string, text []byte) error { return full(path, text, systemDisk.writeNote) }
		s.disk.overwrite = func(path string, text []byte) error { return full(path, text, systemDisk.overwrite) }
		if err := s.replaceFiles(changes); !errors.Is(err, errStopped) {
			t.Errorf("write %d fails: %v", stop, err)
		}
		if left := leftovers(t, folder, changes); stateOf(t, changes) != "old old" || len(left) > 0 {
			t.Errorf("write %d fails: %s, left %q", stop, stateOf(t, changes), left)
		}
	}
}

// TestReplaceKeepsTheFiles looks at the files themselves: what covers one for a child
// lies on the file, and nothing waits beside it.
func TestReplaceKeepsTheFiles(t *testing.T) {
	t.Parallel()
	folder, changes := twoFiles(t)
	before, err := os.Stat(changes[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	s := newStep(folder, admitAll(changes))
	s.disk = stoppingDisk(2, 3)
	if err := s.replaceFiles(changes); err == nil {
		t.Fatal("the step was not interrupted")
	}
	if left := leftovers(t, filepath.Dir(changes[0].Path), changes); len(left) > 0 {
		t.Errorf("beside the files: %q", left)
	}
	if _, waited, err := Finish(folder, admitAll(changes)); err != nil || !waited {
		t.Fatalf("Finish = waited %v, %v", waited, err)
	}
	if after, err := os.Stat(changes[0].Path); err != nil || !os.SameFile(before, after) {
		t.Errorf("another file has the name (%v)", err)
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
	s := newStep(folder, admitAll(changes))
	s.disk = stoppingDisk(2, 0) // after the first file
	if err := s.replaceFiles(changes); err == nil || stateOf(t, changes) != "new old" {
		t.Fatalf("%v, %s", err, stateOf(t, changes))
	}
	if err := os.WriteFile(changes[1].Path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	done, _, err := Finish(folder, admitAll(changes))
	if err != nil || !strings.Contains(done, "undid a change") || stateOf(t, changes) != "old mine" {
		t.Errorf("Finish = %q, %v, %s", done, err, stateOf(t, changes))
	}
	if left := leftovers(t, folder, changes); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestWrote holds which texts a step may have left to all cuts of two long texts.
func TestWrote(t *testing.T) {
	t.Parallel()
	was, is := bytes.Repeat([]byte("old text "), 300), bytes.Repeat([]byte("new and longer "), 400)
	for _, f := range []noteFile{{Old: was, New: is}, {Old: is, New: was}, {Old: was, New: nil}} {
		for cut := 0; cut <= len(f.New); cut++ {
			found := slices.Clone(f.New[:cut])
			if cut < len(f.Old) {
				found = append(found, f.Old[cut:]...)
			}
			if !f.mayHaveLeft(found) {
				t.Fatalf("after %d of %d bytes: not known", cut, len(f.New))
			}
		}
		for _, edited := range []string{"mine", string(f.Old) + "x" + string(f.New), strings.Replace(string(f.Old), "e", "E", 1)} {
			if f.mayHaveLeft([]byte(edited)) {
				t.Errorf("a user's text of %d bytes is taken for a step's", len(edited))
			}
		}
	}
}

// TestAnOddNoteIsRefused has notes that a step must not act on: one about another file,
// one of another form, and half of one.
func TestAnOddNoteIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"files":[{"path":"/etc/passwd","old":"","new":"eA=="}]}`,
		`{"files":[{"path":"FILE","aside":"x","old":"","new_sha256":""}]}`,
		`{"files":[{"path":"FI`,
	} {
		folder, changes := twoFiles(t)
		text = strings.ReplaceAll(text, "FILE", changes[0].Path)
		if err := os.WriteFile(filepath.Join(folder, noteName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Finish(folder, admitAll(changes)); err == nil || stateOf(t, changes) != "old old" {
			t.Errorf("Finish(%s) = %v, %s, want nothing done", text, err, stateOf(t, changes))
		}
	}
}
