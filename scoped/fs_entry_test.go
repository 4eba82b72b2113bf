package scoped

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func TestFileEntriesGrantOneFile(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"one.txt": "1", "one.txt.bak": "SECRET", "d/x": "", "link": "->one.txt"})
	fsys := bindTo(t, reachOf(t, dir, []string{"one.txt", "link"}, []string{"one.txt", "new.txt", "no/such/f"}, nil), dir)
	if got, err := fsys.ReadFile("one.txt"); string(got) != "1" || err != nil {
		t.Errorf("ReadFile of a file entry = %q, %v, want 1", got, err)
	}
	if got, err := fsys.ReadFile("link"); string(got) != "1" || err != nil {
		t.Errorf("ReadFile of an entry that is the operator's link = %q, %v, want 1", got, err)
	}
	if _, err := fsys.ReadFile("one.txt.bak"); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("ReadFile beside a file entry: error = %v, want a refusal", err)
	}
	if _, err := fsys.ReadFile("one.txt/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFile below a file entry: error = %v, want not found", err)
	}
	for _, name := range []string{"one.txt", "new.txt"} {
		if err := fsys.WriteFile(name, []byte("2")); err != nil {
			t.Errorf("WriteFile(%q) = %v, want success", name, err)
		}
	}
	if err := fsys.WriteFile("no/such/f", nil); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("WriteFile of an entry without a folder: error = %v, want a refusal", err)
	}
	if info, err := fsys.Stat("one.txt"); err != nil || info.Name() != "one.txt" || info.Size() != 1 {
		t.Errorf("Stat of a file entry = %v, %v", info, err)
	}
	// The file becomes a folder.
	if err := os.Remove(filepath.Join(dir, "one.txt")); err != nil {
		t.Fatal(err)
	}
	if err := fsys.WriteFile("one.txt", []byte("3")); err != nil {
		t.Errorf("WriteFile of a file entry that is gone = %v, want success", err)
	}
	leftovers(t, dir)
}

func TestGrantedDirectoriesMayComeAndGo(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"ws/": ""})
	f := reachOf(t, dir, []string{"ws"}, []string{"ws/notes/deep", "gone/dir"}, nil)
	fsys := bindTo(t, f, filepath.Join(dir, "ws"))
	if err := fsys.WriteFile("notes/deep/sub/a.txt", []byte("one")); err != nil {
		t.Fatalf("WriteFile in a granted directory that does not exist = %v, want success", err)
	}
	if err := os.Rename(filepath.Join(dir, "ws"), filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.ReadFile("notes/deep/sub/a.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFile after the granted directory was moved away: error = %v, want not found", err)
	}
	if err := fsys.WriteFile("notes/deep/a", nil); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("WriteFile without the parent directory: error = %v, want a refusal", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.MkdirAll("notes/deep"); err != nil {
		t.Errorf("MkdirAll of the granted directory itself = %v, want success", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ws/notes/deep")); err != nil {
		t.Error(err)
	}
	other := filepath.Join(dir, "gone/dir/x")
	for what, err := range map[string]error{"write": fsys.WriteFile(other, nil), "mkdir": fsys.MkdirAll(filepath.Dir(other))} {
		if !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("%s where nothing around is granted: error = %v, want a refusal", what, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "gone")); err == nil {
		t.Error("a refused write created a directory")
	}
}

func TestLinkPlantedAtAGrantedNameIsRefused(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"ws/notes/a": "x", "out/secret": "SECRET", "ws/f": "x"})
	f := reachOf(t, dir, []string{"ws/notes", "ws/f"}, []string{"ws/notes", "ws/later"}, nil)
	fsys := bindTo(t, f, filepath.Join(dir, "ws"))
	if _, err := fsys.ReadFile("notes/a"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ws/notes", "ws/f"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".away")); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"ws/notes": "../out", "ws/f": "../out/secret", "ws/later": "../out"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"notes/secret", "f"} {
		if got, err := fsys.ReadFile(name); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("ReadFile(%q) = %q, %v, want a refusal", name, got, err)
		}
	}
	for _, name := range []string{"notes/n", "later/n"} {
		if err := fsys.WriteFile(name, nil); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("WriteFile(%q) = %v, want a refusal", name, err)
		}
	}
}

func TestLinkOnTheWayToAGrantedDirectoryCreatesNothing(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"ws/other/": ""})
	fsys := bindTo(t, reachOf(t, dir, []string{"ws"}, []string{"ws/later/deep"}, nil), filepath.Join(dir, "ws"))
	if err := os.Symlink("other", filepath.Join(dir, "ws/later")); err != nil {
		t.Fatal(err)
	}
	if err := fsys.WriteFile("later/deep/f", nil); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("WriteFile behind a link on the way = %v, want a refusal", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "ws/other/deep")); err == nil {
		t.Error("a refused write created a directory outside the write reach")
	}
}

// TestOperatorsLinkIsFollowedWhenTheGrantIsComputed moves the operator's link
// afterwards: the grant is for the place.
func TestOperatorsLinkIsFollowedWhenTheGrantIsComputed(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"r1/v": "one", "r2/v": "two", "r1/abs": "->$T/r1/v", "r1/up": "->../r1/v", "cur": "->r1"})
	fsys := bindTo(t, reachOf(t, dir, []string{"cur"}, []string{"cur"}, nil), dir)
	for name, want := range map[string]string{"cur/v": "one", "cur/abs": "one", "cur/up": "one"} {
		if got, err := fsys.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("ReadFile(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "cur")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("r2", filepath.Join(dir, "cur")); err != nil {
		t.Fatal(err)
	}
	if got, err := fsys.ReadFile("cur/v"); string(got) != "one" || err != nil {
		t.Errorf("ReadFile after the operator's link moved = %q, %v, want the place that was granted", got, err)
	}
	if err := fsys.WriteFile("cur/new", []byte("n")); err != nil {
		t.Errorf("WriteFile through the operator's link = %v", err)
	}
}

func TestClosedReachFails(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"ws/a": "x"})
	f := reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil)
	fsys := bindTo(t, f, filepath.Join(dir, "ws"))
	if _, err := fsys.ReadFile("a"); err != nil {
		t.Fatal(err)
	}
	f.closeEntries()
	if _, err := fsys.ReadFile("a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("ReadFile after close: error = %v, want fs.ErrClosed", err)
	}
	if err := fsys.WriteFile("a", nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("WriteFile after close: error = %v, want fs.ErrClosed", err)
	}
}

func TestNewFilesRefusesWhatItCannotMean(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]sallyport.FSGrant{
		"relative": {Read: []string{"ws"}}, "NUL": {Write: []string{"/a\x00"}},
	} {
		if f, err := newFileReach(g, nil); err == nil {
			t.Errorf("newFiles(%s) = %v, want an error", name, f)
		}
	}
	if f, err := newFileReach(sallyport.FSGrant{}, &sallyport.FileBackend{MaxFileBytes: -1}); err == nil {
		t.Errorf("newFiles with a negative bound = %v, want an error", f)
	}
	f, err := newFileReach(sallyport.FSGrant{Read: []string{""}}, nil)
	if err != nil || len(f.read) != 0 {
		t.Errorf("newFiles with an empty entry = %v, %v, want no reach", f, err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	content := map[string]string{}
	for i := range 100 {
		content[fmt.Sprintf("ws/f%d", i)] = "x"
	}
	dir := tree(t, content)
	var mu sync.Mutex
	var notes []sallyport.Decision
	f := reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil)
	fsys := f.bindCall(t.Context(), filepath.Join(dir, "ws"), "s", func(d sallyport.Decision) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, d)
	})
	for i := range 100 {
		for range 2 {
			if _, err := fsys.ReadFile(fmt.Sprintf("f%d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(notes) != maxTouches || !notes[0].Allowed || notes[0].Step != sallyport.StepAccess || notes[0].Why != "read "+filepath.Join(dir, "ws/f0") {
		t.Errorf("100 files read twice left %d notes, the first %+v, want %d", len(notes), notes[0], maxTouches)
	}
	notes = nil
	for range 70 {
		_ = fsys.WriteFile("/etc/x", nil)
	}
	want := sallyport.Decision{Step: sallyport.StepAccess, Capability: "fs_reach.write", Resource: "/etc/x", Why: "write /etc/x: outside the granted write reach"}
	if len(notes) != 70 || !cmp.Equal(notes[69], want) {
		t.Errorf("70 refusals left %d notes, the last %+v, want %+v", len(notes), notes[len(notes)-1], want)
	}
	notes = nil
	_ = fsys.WriteFile(".git/config", nil)
	if len(notes) != 1 || !strings.Contains(notes[0].Why, "run commands") || notes[0].Fix != "" {
		t.Errorf("a floor refusal left %+v, want the reason and no fix", notes)
	}
}
