package scoped

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

func TestDirectionsAreSeparate(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"r/a": "x", "w/b": "SECRET", "r/link": "->../w/b"})
	fsys := bindTo(t, reachOf(t, dir, []string{"r"}, []string{"w"}, nil), dir)
	refused := map[string]error{
		"write r/a":     fsys.WriteFile("r/a", nil),
		"mkdir r/d":     fsys.MkdirAll("r/d"),
		"update w/b":    fsys.UpdateFile("w/b", func(b []byte) ([]byte, error) { return b, nil }),
		"update w/none": fsys.UpdateFile("w/none", func(b []byte) ([]byte, error) { return b, nil }),
		"update r/link": fsys.UpdateFile("r/link", func(b []byte) ([]byte, error) { return b, nil }),
	}
	_, refused["read w/b"] = fsys.ReadFile("w/b")
	_, refused["read r/link"] = fsys.ReadFile("r/link")
	_, refused["list w"] = fsys.ReadDir("w")
	for what, err := range refused {
		if !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("%s: error = %v, want a refusal", what, err)
		}
	}
	if err := fsys.WriteFile("w/b", []byte("new")); err != nil {
		t.Errorf("WriteFile in the write reach: %v", err)
	}
}

// A file .git names the directory that git obeys; a directory of this name is
// judged by what is in it.
func TestTheFileOfAWorktreeIsNotWritten(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"w/wt/.git": "gitdir: ../good", "w/repo/.git/HEAD": "x", "w/to": "->wt/.git"})
	fsys := bindTo(t, reachOf(t, dir, []string{"w"}, []string{"w"}, nil), dir)
	for what, err := range map[string]error{
		"write wt/.git":     fsys.WriteFile("w/wt/.git", []byte("gitdir: ../evil")),
		"write by a link":   fsys.WriteFile("w/to", []byte("gitdir: ../evil")),
		"write new/.GIT":    fsys.WriteFile("w/new/.GIT", []byte("gitdir: ../evil")),
		"update wt/.git":    fsys.UpdateFile("w/wt/.git", func([]byte) ([]byte, error) { return []byte("evil"), nil }),
		"update other/.git": fsys.UpdateFile("w/other/.git", func([]byte) ([]byte, error) { return []byte("evil"), nil }),
	} {
		if !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("%s: error = %v, want a refusal", what, err)
		}
	}
	if data, err := fsys.ReadFile("w/wt/.git"); err != nil || string(data) != "gitdir: ../good" {
		t.Errorf("ReadFile = %q, %v", data, err)
	}
	if err := fsys.WriteFile("w/repo/.git/index", nil); err != nil {
		t.Errorf("WriteFile in a repository: %v", err)
	}
	if err := fsys.MkdirAll("w/fresh/.git"); err != nil {
		t.Errorf("MkdirAll of a repository: %v", err)
	}
}

func TestUpdateDoesNotReadThroughALinkIntoWriteReach(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"rw/link": "->../w/b", "w/b": "SECRET"})
	fsys := bindTo(t, reachOf(t, dir, []string{"rw"}, []string{"rw", "w"}, nil), dir)
	var seen []byte
	err := fsys.UpdateFile("rw/link", func(b []byte) ([]byte, error) { seen = b; return b, nil })
	if !errors.Is(err, sallyport.ErrPathNotReachable) || seen != nil {
		t.Errorf("UpdateFile through a link into write-only reach = %v, edit saw %q, want a refusal", err, seen)
	}
}

// leftovers fails when a temporary file stayed behind.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if strings.Contains(p, ".sallyport-") {
			t.Errorf("temporary file %s stayed behind", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEndOfTheCallEndsTheAccessor(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"ws/a": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	fsys := reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil).bindCall(ctx, filepath.Join(dir, "ws"), "s", nil)
	file, err := fsys.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	err = fsys.UpdateFile("a", func([]byte) ([]byte, error) { cancel(); return []byte("late"), nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("UpdateFile cancelled in the middle = %v, want the context's error", err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "ws/a")); string(got) != "x" {
		t.Errorf("a = %q after a cancelled update, want x", got)
	}
	leftovers(t, dir)
	_, rerr := fsys.ReadFile("a")
	_, ferr := file.Read(make([]byte, 1))
	_, aerr := file.(io.ReaderAt).ReadAt(make([]byte, 1), 0)
	for what, err := range map[string]error{"read": rerr, "write": fsys.WriteFile("a", nil), "open file": ferr, "at": aerr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the end: error = %v, want the context's error", what, err)
		}
	}
}

func TestWriteKeepsWhatItReplaces(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"ws/a": "old", "ws/link": "->a", "ws/abs": "->$T/ws/sub/new", "out/b": "OUT", "ws/dir/": "", "ws/outlink": "->../out/new",
	})
	ws := filepath.Join(dir, "ws")
	fsys := bindTo(t, reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil), ws)
	if err := os.Chmod(filepath.Join(ws, "a"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "out/b"), filepath.Join(ws, "hard")); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"link": "through", "abs": "created", "hard": "mine", "deep/er/f": "new", "dir/f": "x"} {
		if err := fsys.WriteFile(name, []byte(data)); err != nil {
			t.Errorf("WriteFile(%q) = %v", name, err)
		}
	}
	for path, want := range map[string]string{"ws/a": "through", "ws/sub/new": "created", "ws/hard": "mine", "out/b": "OUT", "ws/deep/er/f": "new"} {
		if got, err := os.ReadFile(filepath.Join(dir, path)); string(got) != want || err != nil {
			t.Errorf("%s = %q, %v, want %q", path, got, err, want)
		}
	}
	if info, err := os.Lstat(filepath.Join(ws, "link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("link = %v, %v after a write through it, want still a link", info, err)
	}
	if info, err := os.Stat(filepath.Join(ws, "a")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode of a = %v, %v, want 0640", info.Mode(), err)
	}
	for _, name := range []string{"dir", "."} {
		if err := fsys.WriteFile(name, nil); err == nil {
			t.Errorf("WriteFile(%q) on a directory = nil, want an error", name)
		}
	}
	if err := fsys.WriteFile("a/b", nil); err == nil {
		t.Error("WriteFile below a file = nil, want an error")
	}
	if err := fsys.MkdirAll("a"); err == nil {
		t.Error("MkdirAll of a file = nil, want an error")
	}
	if err := fsys.MkdirAll("dir"); err != nil {
		t.Errorf("MkdirAll of what exists = %v", err)
	}
	if err := fsys.WriteFile("outlink", nil); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("WriteFile through a link out = %v, want a refusal", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "out/new")); err == nil {
		t.Error("a write through a link created a file outside")
	}
	leftovers(t, dir)
}

func TestUpdateFile(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"ws/a": "old"})
	fsys := bindTo(t, reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil), filepath.Join(dir, "ws"))
	if err := fsys.UpdateFile("a", func(b []byte) ([]byte, error) { return append(bytes.ToUpper(b), '!'), nil }); err != nil {
		t.Fatal(err)
	}
	want := errors.New("no match")
	if err := fsys.UpdateFile("a", func([]byte) ([]byte, error) { return nil, want }); !errors.Is(err, want) {
		t.Errorf("UpdateFile with a failing edit = %v, want %v", err, want)
	}
	if got, err := fsys.ReadFile("a"); string(got) != "OLD!" || err != nil {
		t.Errorf("a = %q, %v, want OLD!", got, err)
	}
	err := fsys.UpdateFile("none", func(b []byte) ([]byte, error) { return b, nil })
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "File not found: "+filepath.Join(dir, "ws/none") {
		t.Errorf("UpdateFile of nothing = %v, want File not found", err)
	}
	leftovers(t, dir)
}
