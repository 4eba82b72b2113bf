package place

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// disk makes folders ("name/"), files ("name") and links ("name -> text") in a new
// folder, and returns it.
func disk(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		link, text, isLink := strings.Cut(name, " -> ")
		path := filepath.Join(dir, link)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(strings.ReplaceAll(text, "$T", dir), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPlace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		disk             []string
		workspace        string
		writes, known    []string
		path, want       string
		ground, why, fix string
	}{
		{name: "a plain folder", disk: []string{"a/"}, path: "a", want: "a"},
		{name: "a folder that does not exist", disk: []string{"a/"}, writes: []string{"a"}, path: "a/b/c", want: "a/b/c", ground: "a"},
		{name: "the operator's link", disk: []string{"a/", "l -> a"}, writes: []string{"a"}, path: "l/x", want: "a/x", ground: "a"},
		{name: "the operator's links, one after the other", disk: []string{"a/", "k -> $T/a", "l -> ./k/../k"}, path: "l/x", want: "a/x"},
		{
			name: "a link in the workspace", disk: []string{"w/", "store/", "w/data -> ../store"}, workspace: "w", path: "w/data", want: "w/data", ground: "w",
			why: "which lies in the workspace, whose content may come from others", fix: "grant the folder itself",
		},
		{
			name: "a link where tools may write", disk: []string{"w/", "w/data -> /etc"}, writes: []string{"w"}, path: "w/data/x", want: "w/data/x", ground: "w",
			why: "which lies where personality p may write",
		},
		{
			name: "a link where tools could write", disk: []string{"w/", "w/data -> /etc"}, known: []string{"w"}, path: "w/data", want: "w/data", ground: "w",
			why: "could write until 2026-11-20", fix: "sallyport reach forget",
		},
		{name: "a link behind the operator's", disk: []string{"w/", "w/data -> /etc", "l -> w"}, writes: []string{"w"}, path: "l/data", want: "w/data", ground: "w", why: "may write"},
		{name: "a link into a write place and up again", disk: []string{"w/a/", "l -> w/a/../b"}, writes: []string{"w"}, path: "l", why: "and up again"},
		{name: "a write place by two names", disk: []string{"a/", "l -> a"}, writes: []string{"a", "l"}, path: "l", want: "a", ground: "a"},
		{
			name: "a write place beneath another, spelled through a link", disk: []string{"a/", "l -> a", "a/x -> /"}, writes: []string{"a", "l/x"},
			path: "a/y", want: "a/y", ground: "a",
		},
		{name: "a control character in a link", disk: []string{"w/", "w/d -> a\x1b[2Jb"}, writes: []string{"w"}, path: "w/d", want: "w/d", ground: "w", why: `(to "a\x1b[2Jb")`},
		{name: "a name that begins like a write place", disk: []string{"ab/", "ab/l -> ../c", "c/"}, writes: []string{"a"}, path: "ab/l", want: "c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := disk(t, tt.disk...)
			at := func(p string) string {
				if p == "" {
					return ""
				}
				return filepath.Join(dir, p)
			}
			in := Input{Workspace: at(tt.workspace)}
			for _, w := range tt.writes {
				in.Writes = append(in.Writes, Write{at(w), "personality p"})
			}
			for _, k := range tt.known {
				in.Known = append(in.Known, sallyport.WritePlace{Path: at(k), By: "personality old", Last: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
			}
			p := Compile(in).Place(at(tt.path))
			if p.Path != at(tt.want) || p.Ground != at(tt.ground) {
				t.Errorf("Place(%s) = %+v, want %q in %q", tt.path, p, at(tt.want), at(tt.ground))
			}
			if (p.Why == "") != (tt.why == "") || !strings.Contains(p.Why, tt.why) || !strings.Contains(p.Fix, tt.fix) {
				t.Errorf("Place(%s) says %q, fix %q, want %q, fix %q", tt.path, p.Why, p.Fix, tt.why, tt.fix)
			}
			if strings.Contains(p.Fix, "store") || strings.Contains(p.Fix, "etc") {
				t.Errorf("the fix %q spells where the link leads", p.Fix)
			}
		})
	}
}

// TestABindMountIsTheSamePlace mounts a write place under a second name.
func TestABindMountIsTheSamePlace(t *testing.T) {
	t.Parallel()
	dir := disk(t, "a/", "b/", "a/l -> ../c", "c/")
	b := filepath.Join(dir, "b")
	if err := syscall.Mount(filepath.Join(dir, "a"), b, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("mounting: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(b, syscall.MNT_DETACH) })
	p := Compile(Input{Writes: []Write{{filepath.Join(dir, "a"), "p"}}}).Place(b + "/l")
	if p.Path != b+"/l" || p.Why == "" || p.Ground == "" {
		t.Errorf("Place = %+v, want the link in the second name of a write place to be closed", p)
	}
}

// TestALinkOfAnotherUserIsNotFollowed has another user of the machine make a link
// where everybody may write.
func TestALinkOfAnotherUserIsNotFollowed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("making a file of another user needs root")
	}
	dir := disk(t, "shared/", "shared/l -> ../c", "c/")
	err := os.Chmod(filepath.Join(dir, "shared"), 0o777)
	if err == nil {
		err = os.Lchown(filepath.Join(dir, "shared/l"), 12345, 12345)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p := Compile(Input{}).Place(filepath.Join(dir, "shared/l/x")); p.Path != filepath.Join(dir, "shared/l/x") || p.Why == "" {
		t.Errorf("Place = %+v, want the link of another user to be closed", p)
	}
}

func TestOpenFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := disk(t, "a/b/", "a/f", "l -> a", "a/k -> b")
	for _, elements := range []bool{false, true} {
		elementwise.Store(elements)
		defer elementwise.Store(false)
		for path, want := range map[string]error{
			"a/b": nil, "a/f": nil, "a": nil, "l": ErrLink, "l/b": ErrLink, "a/k": ErrLink, "a/none": os.ErrNotExist, "a/f/x": os.ErrNotExist,
		} {
			f, err := Open(filepath.Join(dir, path))
			if err == nil {
				f.Close()
			}
			if !matches(err, want) {
				t.Errorf("Open(%s) = %v, want %v", path, err, want)
			}
		}
	}
}

func matches(err, want error) bool {
	if want == nil {
		return err == nil
	}
	return errors.Is(err, want)
}
