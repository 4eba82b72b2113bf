package copies_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/onestep"
)

// TestChangeFile changes a file that is there, one that is not, and one that is no more
// as it was read. The file stays the same one: what covers it for children lies on it.
func TestChangeFile(t *testing.T) {
	path, folder, steps := filepath.Join(t.TempDir(), "new", "mcp.json"), copies.FolderOf(t.TempDir()), t.TempDir()
	replace := func(changes []onestep.Change) error { return onestep.Replace(steps, changes) }
	change := func(old, text string, at int64) (string, error) {
		c := onestep.Change{Path: path, New: []byte(text)}
		if old != "" {
			c.Old = []byte(old)
		}
		return folder.ChangeFile(&c, time.Unix(at, 0), replace)
	}
	if copied, err := change("", "one", 1); err != nil || copied != "" || len(folder.ListOf(path)) != 0 {
		t.Fatalf("a new file: %q, %v, copies %q", copied, err, folder.ListOf(path))
	}
	before, err := os.Stat(path)
	if err != nil || before.Mode().Perm() != 0o600 {
		t.Fatalf("the new file has mode %v (%v), want one for its user alone", before.Mode(), err)
	}
	if copied, err := change("one", "two", 2); err != nil || len(folder.ListOf(path)) != 1 || folder.ListOf(path)[0] != copied {
		t.Fatalf("ChangeFile = %q, %v, copies %q", copied, err, folder.ListOf(path))
	} else if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v (%v), want one for its user alone", info.Mode(), err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("another file has the name (%v)", err)
	}
	if _, err := change("one", "ours", 3); !errors.Is(err, onestep.ErrChanged) {
		t.Errorf("a file that is not as it was read: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "two" || len(folder.ListOf(path)) != 1 {
		t.Errorf("the file is %q (%v) with copies %q, want it left alone", got, err, folder.ListOf(path))
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v, %v", left, err)
	}
}

// TestAnInterruptedChangeKeepsItsCopy has the next command find out by the copy that the
// file is one that a command was about to change, a new one too.
func TestAnInterruptedChangeKeepsItsCopy(t *testing.T) {
	path, folder := filepath.Join(t.TempDir(), "mcp.json"), copies.FolderOf(t.TempDir())
	stopped := func([]onestep.Change) error { return onestep.ErrUnfinished }
	for i, c := range []onestep.Change{{Path: path, New: []byte("first")}, {Path: path, Old: []byte("old"), New: []byte("new")}} {
		held := c.Old
		if held == nil {
			held = c.New
		}
		if _, err := folder.ChangeFile(&c, time.Unix(int64(i), 0), stopped); !errors.Is(err, onestep.ErrUnfinished) || !folder.Holds(held) {
			t.Errorf("ChangeFile = %v, a copy of %q: %v", err, held, folder.Holds(held))
		}
	}
}

// TestTwoCopiesOfOneMoment: each command keeps its copy, and the later one is the newer.
func TestTwoCopiesOfOneMoment(t *testing.T) {
	path, folder := filepath.Join(t.TempDir(), "mcp.json"), copies.FolderOf(t.TempDir())
	first, err := folder.Keep(path, []byte("one"), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	second, err := folder.Keep(path, []byte("two"), time.Unix(1, 0))
	if list := folder.ListOf(path); err != nil || !slices.Equal(list, []string{second, first}) {
		t.Fatalf("Keep = %v, copies %q, want %q and %q", err, list, second, first)
	}
	if got, err := os.ReadFile(first); err != nil || string(got) != "one" {
		t.Errorf("the first copy holds %q (%v)", got, err)
	}
}
