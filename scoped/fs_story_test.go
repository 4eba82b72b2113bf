package scoped

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// tree makes files below a fresh directory without links in its name: a value
// is the content, "->target" makes a symbolic link, a name that ends in a
// slash a directory. "$T" in a target is the directory.
func tree(t testing.TB, content map[string]string) string {
	t.Helper()
	dir := realPath(t.TempDir())
	for name, body := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		target, link := strings.CutPrefix(body, "->")
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "$T", dir), path)
		default:
			err = os.WriteFile(path, []byte(body), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// reachOf compiles a grant over paths below dir.
func reachOf(t testing.TB, dir string, read, write []string, b *sallyport.FileBackend) *files {
	t.Helper()
	join := func(list []string) (out []string) {
		for _, p := range list {
			out = append(out, filepath.Join(dir, p))
		}
		return out
	}
	if b == nil {
		b = &sallyport.FileBackend{}
	}
	if b.Home == "" {
		b.Home = filepath.Join(dir, "home")
	}
	f, err := newFiles(sallyport.FSGrant{Read: join(read), Write: join(write)}, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

func bindTo(t testing.TB, f *files, dir string) sallyport.FS {
	t.Helper()
	return f.bind(t.Context(), dir, "session", nil)
}

func TestReadFollowsLinksThatStayInside(t *testing.T) {
	content := map[string]string{
		"ws/a.txt": "hello", "ws/sub/b.txt": "below", "docs/c.txt": "other grant", "out/secret": "SECRET",
		"ws/rel": "->a.txt", "ws/abs": "->$T/ws/a.txt", "ws/absdir": "->$T/ws/sub", "ws/updown": "->sub/../a.txt",
		"ws/sub/up": "->../a.txt", "ws/across": "->$T/docs/c.txt", "ws/relacross": "->../docs/c.txt",
		"ws/outside": "->$T/out/secret", "ws/parent": "->..", "ws/root": "->/", "ws/dangling": "->$T/ws/none",
		"ws/danglingout": "->$T/out/none", "ws/throughout": "->$T/out/../ws/a.txt", "ws/self": "->self",
		"ws/viaparent": "->parent/ws/a.txt", "ws/long": "->" + strings.Repeat("sub/../", 300) + "a.txt",
	}
	for i := range 45 {
		content[fmt.Sprintf("ws/chain%d", i)] = fmt.Sprintf("->chain%d", i+1)
	}
	content["ws/chain45"] = "end"
	dir := tree(t, content)
	fsys := bindTo(t, reachOf(t, dir, []string{"ws", "docs"}, nil, nil), filepath.Join(dir, "ws"))
	tests := []struct {
		name, path, want string
		fails            error
	}{
		{name: "relative", path: "rel", want: "hello"},
		{name: "absolute", path: "abs", want: "hello"},
		{name: "absolute directory", path: "absdir/b.txt", want: "below"},
		{name: "up and down", path: "updown", want: "hello"},
		{name: "up", path: "sub/up", want: "hello"},
		{name: "to another grant", path: "across", want: "other grant"},
		{name: "to another grant, relative", path: "relacross", want: "other grant"},
		{name: "through what is not granted and back", path: "throughout", want: "hello"},
		{name: "forty links", path: "chain5", want: "end"},
		{name: "more than forty links", path: "chain1", fails: sallyport.ErrPathNotReachable},
		{name: "too many elements", path: "long", fails: sallyport.ErrPathNotReachable},
		{name: "loop", path: "self", fails: sallyport.ErrPathNotReachable},
		{name: "outside", path: "outside", fails: sallyport.ErrPathNotReachable},
		{name: "parent", path: "parent/out/secret", fails: sallyport.ErrPathNotReachable},
		{name: "back from the parent", path: "viaparent", want: "hello"},
		{name: "root", path: "root/etc/hostname", fails: sallyport.ErrPathNotReachable},
		{name: "dangling inside", path: "dangling", fails: fs.ErrNotExist},
		{name: "dangling outside", path: "danglingout", fails: sallyport.ErrPathNotReachable},
		{name: "below a file", path: "a.txt/x", fails: fs.ErrNotExist},
		{name: "below a file by a link", path: "abs/x", fails: fs.ErrNotExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fsys.ReadFile(tt.path)
			if string(got) != tt.want || !errors.Is(err, tt.fails) {
				t.Errorf("ReadFile(%q) = %q, %v, want %q, %v", tt.path, got, err, tt.want, tt.fails)
			}
			if tt.fails != nil && err != nil && !strings.Contains(err.Error(), filepath.Join(dir, "ws", tt.path)) {
				t.Errorf("ReadFile(%q) error = %v, want the name that was asked for", tt.path, err)
			}
			_, serr := fsys.Stat(tt.path)
			if (serr == nil) != (err == nil) {
				t.Errorf("Stat(%q) error = %v, ReadFile's %v", tt.path, serr, err)
			}
		})
	}
}

func TestFloorIsJudgedWhereALinkLeads(t *testing.T) {
	dir := tree(t, map[string]string{
		"home/.ssh/id_rsa": "SECRET", "home/p/key": "->../.ssh/id_rsa", "home/p/dir": "->$T/home/.ssh",
		"home/p/note": "n", "vault": "->home/.ssh", "home/p/repo/.git/hooks/": "", "home/p/h": "->repo/.git/hooks",
	})
	f := reachOf(t, dir, []string{"home", "vault"}, []string{"home"}, nil)
	fsys := bindTo(t, f, dir)
	for _, path := range []string{"home/p/key", "home/p/dir/id_rsa", "home/p/dir/none", "vault/id_rsa", "vault/none"} {
		_, err := fsys.ReadFile(path)
		if !errors.Is(err, sallyport.ErrPathNotReachable) || !strings.Contains(err.Error(), "always-deny floor") {
			t.Errorf("ReadFile(%q) error = %v, want the floor's refusal", path, err)
		}
		if _, err := fsys.Stat(path); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("Stat(%q) error = %v, want the floor's refusal", path, err)
		}
	}
	for _, path := range []string{"home/p/dir", "vault"} {
		if _, err := fsys.ReadDir(path); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("ReadDir(%q) error = %v, want the floor's refusal", path, err)
		}
	}
	if err := fsys.WriteFile("home/p/h/pre-commit", nil); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("WriteFile of a hook behind a link: error = %v, want the floor's refusal", err)
	}
	if err := fsys.MkdirAll("home/p/h/x"); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("MkdirAll among hooks behind a link: error = %v, want the floor's refusal", err)
	}
	if _, err := fsys.ReadDir("home/p/h"); err != nil {
		t.Errorf("ReadDir of hooks: error = %v, want none", err)
	}
}

func TestRefusalsSayTheSameWhateverExists(t *testing.T) {
	dir := tree(t, map[string]string{"ws/": "", "out/there": "x"})
	fsys := bindTo(t, reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil), filepath.Join(dir, "ws"))
	ops := map[string]func(string) error{
		"read":  func(n string) error { _, err := fsys.ReadFile(n); return err },
		"stat":  func(n string) error { _, err := fsys.Stat(n); return err },
		"list":  func(n string) error { _, err := fsys.ReadDir(n); return err },
		"open":  func(n string) error { _, err := fsys.Open(n); return err },
		"write": func(n string) error { return fsys.WriteFile(n, nil) },
		"mkdir": fsys.MkdirAll,
		"update": func(n string) error {
			return fsys.UpdateFile(n, func(b []byte) ([]byte, error) { return b, nil })
		},
	}
	for op, do := range ops {
		there, none := filepath.Join(dir, "out/there"), filepath.Join(dir, "out/none!")
		a, b := do(there), do("../out/none!")
		if !errors.Is(a, sallyport.ErrPathNotReachable) || !errors.Is(b, sallyport.ErrPathNotReachable) {
			t.Fatalf("%s outside: %v and %v, want refusals", op, a, b)
		}
		if strings.ReplaceAll(a.Error(), there, "P") != strings.ReplaceAll(b.Error(), none, "P") {
			t.Errorf("%s: %q for what exists, %q for what does not", op, a, b)
		}
	}
}

func TestNamesThatAreNoPaths(t *testing.T) {
	dir := tree(t, map[string]string{"ws/a": "x"})
	f := reachOf(t, dir, []string{"ws"}, nil, nil)
	fsys := bindTo(t, f, filepath.Join(dir, "ws"))
	for _, name := range []string{"", "a\x00b", filepath.Join(dir, "ws") + "/a\x00"} {
		if _, err := fsys.ReadFile(name); !errors.Is(err, sallyport.ErrPathNotReachable) || strings.ContainsRune(err.Error(), 0) {
			t.Errorf("ReadFile(%q) error = %v, want a refusal without the NUL", name, err)
		}
	}
	lost := f.bind(t.Context(), "", "s", nil)
	if _, err := lost.ReadFile("a"); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("ReadFile of a relative name without a workspace: error = %v, want a refusal", err)
	}
	if got := lost.Abs("./a"); got != "a" {
		t.Errorf(`Abs("./a") without a workspace = %q, want "a"`, got)
	}
	if got, want := fsys.Abs("x/../a"), filepath.Join(dir, "ws/a"); got != want {
		t.Errorf(`Abs("x/../a") = %q, want %q`, got, want)
	}
}

func TestDirectionsAreSeparate(t *testing.T) {
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

func TestUpdateDoesNotReadThroughALinkIntoWriteReach(t *testing.T) {
	dir := tree(t, map[string]string{"rw/link": "->../w/b", "w/b": "SECRET"})
	fsys := bindTo(t, reachOf(t, dir, []string{"rw"}, []string{"rw", "w"}, nil), dir)
	var seen []byte
	err := fsys.UpdateFile("rw/link", func(b []byte) ([]byte, error) { seen = b; return b, nil })
	if !errors.Is(err, sallyport.ErrPathNotReachable) || seen != nil {
		t.Errorf("UpdateFile through a link into write-only reach = %v, edit saw %q, want a refusal", err, seen)
	}
}

func TestFileEntriesGrantOneFile(t *testing.T) {
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

func TestGrantedDirectoriesMayComeAndGo(t *testing.T) {
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

func TestOperatorsLinkIsFollowedAfresh(t *testing.T) {
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
	if got, err := fsys.ReadFile("cur/v"); string(got) != "two" || err != nil {
		t.Errorf("ReadFile after the operator's link moved = %q, %v, want two", got, err)
	}
	if err := fsys.WriteFile("cur/new", []byte("n")); err != nil {
		t.Errorf("WriteFile through the operator's link = %v", err)
	}
}

func TestListingDoesNotFollow(t *testing.T) {
	dir := tree(t, map[string]string{"ws/b": "bb", "ws/a": "a", "ws/l": "->../out/secret", "ws/.ssh/k": "", "out/secret": "SECRET"})
	fsys := bindTo(t, reachOf(t, dir, []string{"ws"}, nil, nil), filepath.Join(dir, "ws"))
	entries, err := fsys.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case e.Name() == ".ssh":
			if err == nil {
				t.Error("Info of a floor entry = nil error, want a refusal")
			}
			continue
		case err != nil:
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Name(), e.Type(), e.IsDir(), info.Mode().Type() == e.Type()))
	}
	want := []string{"a---------- false true", "b---------- false true", "lL--------- false true"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("ReadDir: (-want +got)\n%s", d)
	}
	if _, err := fsys.ReadDir("a"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadDir of a file: error = %v, want not a directory", err)
	}
	if _, err := fsys.ReadDir("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadDir of nothing: error = %v, want not found", err)
	}
}

func TestOpenIsAReadOnlyView(t *testing.T) {
	dir := tree(t, map[string]string{"ws/a": "hello", "ws/d/x": "", "ws/d/y": "", "ws/l": "->a"})
	fsys := bindTo(t, reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil), filepath.Join(dir, "ws"))
	f, err := fsys.Open("l")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.(io.Writer); ok {
		t.Error("Open returned something that writes")
	}
	data, err := io.ReadAll(f)
	info, serr := f.Stat()
	if err != nil || serr != nil || string(data) != "hello" || info.Name() != "l" || info.Size() != 5 {
		t.Errorf("Open(l) read %q, %v; Stat %v, %v", data, err, info, serr)
	}
	if n, err := f.(io.Seeker).Seek(1, io.SeekStart); n != 1 || err != nil {
		t.Errorf("Seek(1) = %d, %v", n, err)
	}
	var buf [2]byte
	if n, err := f.(io.ReaderAt).ReadAt(buf[:], 3); n != 2 || err != nil || string(buf[:]) != "lo" {
		t.Errorf("ReadAt(3) = %q, %v", buf[:n], err)
	}
	if _, err := f.(io.Seeker).Seek(-1, io.SeekStart); err == nil {
		t.Error("Seek(-1) = nil error")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Read(buf[:]); err == nil || strings.Contains(err.Error(), "/proc") {
		t.Errorf("Read after Close: error = %v", err)
	}
	d, err := fsys.Open("d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Read(buf[:]); err == nil {
		t.Error("Read of a directory = nil error")
	}
	if info, err := d.Stat(); err != nil || !info.IsDir() {
		t.Errorf("Stat of a directory = %v, %v", info, err)
	}
	rd := d.(fs.ReadDirFile)
	one, err1 := rd.ReadDir(1)
	two, err2 := rd.ReadDir(5)
	_, err3 := rd.ReadDir(1)
	if len(one) != 1 || len(two) != 1 || err1 != nil || err2 != nil || !errors.Is(err3, io.EOF) {
		t.Errorf("ReadDir in steps = %v %v, %v %v, %v", one, err1, two, err2, err3)
	}
	var walked []string
	err = fs.WalkDir(fsys, ".", func(p string, _ fs.DirEntry, err error) error { walked = append(walked, p); return err })
	if diff := cmp.Diff([]string{".", "a", "d", "d/x", "d/y", "l"}, walked); diff != "" || err != nil {
		t.Errorf("WalkDir: %v (-want +got)\n%s", err, diff)
	}
}

func TestReadIsBounded(t *testing.T) {
	dir := tree(t, map[string]string{"ws/a": "0123456789", "ws/b": "01234567890"})
	f := reachOf(t, dir, []string{"ws"}, []string{"ws"}, &sallyport.FileBackend{MaxFileBytes: 10})
	fsys := bindTo(t, f, filepath.Join(dir, "ws"))
	if got, err := fsys.ReadFile("a"); len(got) != 10 || err != nil {
		t.Errorf("ReadFile at the bound = %q, %v", got, err)
	}
	if got, err := fsys.ReadFile("b"); got != nil || err == nil || !strings.Contains(err.Error(), "larger than 10 bytes") {
		t.Errorf("ReadFile over the bound = %q, %v, want too large", got, err)
	}
	err := fsys.UpdateFile("b", func(b []byte) ([]byte, error) { return b, nil })
	if err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("UpdateFile over the bound = %v, want too large", err)
	}
	// A file that says it is small and is not: procfs has no sizes.
	b := &boundFiles{f: f, ctx: t.Context()}
	file, err := os.Open(filepath.Join(dir, "ws/b"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got, err := b.readAll(file, "b", 0); got != nil || err == nil {
		t.Errorf("readAll of a file that grew = %q, %v, want too large", got, err)
	}
}

func TestEndOfTheCallEndsTheAccessor(t *testing.T) {
	dir := tree(t, map[string]string{"ws/a": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	fsys := reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil).bind(ctx, filepath.Join(dir, "ws"), "s", nil)
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

func TestClosedReachFails(t *testing.T) {
	dir := tree(t, map[string]string{"ws/a": "x"})
	f := reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil)
	fsys := bindTo(t, f, filepath.Join(dir, "ws"))
	if _, err := fsys.ReadFile("a"); err != nil {
		t.Fatal(err)
	}
	f.close()
	if _, err := fsys.ReadFile("a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("ReadFile after close: error = %v, want fs.ErrClosed", err)
	}
	if err := fsys.WriteFile("a", nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("WriteFile after close: error = %v, want fs.ErrClosed", err)
	}
}

func TestNewFilesRefusesWhatItCannotMean(t *testing.T) {
	for name, g := range map[string]sallyport.FSGrant{
		"relative": {Read: []string{"ws"}}, "NUL": {Write: []string{"/a\x00"}},
	} {
		if f, err := newFiles(g, nil); err == nil {
			t.Errorf("newFiles(%s) = %v, want an error", name, f)
		}
	}
	if f, err := newFiles(sallyport.FSGrant{}, &sallyport.FileBackend{MaxFileBytes: -1}); err == nil {
		t.Errorf("newFiles with a negative bound = %v, want an error", f)
	}
	f, err := newFiles(sallyport.FSGrant{Read: []string{""}}, nil)
	if err != nil || len(f.read) != 0 {
		t.Errorf("newFiles with an empty entry = %v, %v, want no reach", f, err)
	}
}

func TestNotes(t *testing.T) {
	content := map[string]string{}
	for i := range 100 {
		content[fmt.Sprintf("ws/f%d", i)] = "x"
	}
	dir := tree(t, content)
	var mu sync.Mutex
	var notes []sallyport.Decision
	f := reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil)
	fsys := f.bind(t.Context(), filepath.Join(dir, "ws"), "s", func(d sallyport.Decision) {
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
	want := sallyport.Decision{Step: sallyport.StepAccess, Why: "write /etc/x: outside the granted write reach", Fix: "add /etc/x to fs_reach.write"}
	if len(notes) != 70 || !cmp.Equal(notes[69], want) {
		t.Errorf("70 refusals left %d notes, the last %+v, want %+v", len(notes), notes[len(notes)-1], want)
	}
	notes = nil
	_ = fsys.WriteFile(".git/config", nil)
	if len(notes) != 1 || !strings.Contains(notes[0].Why, "run commands") || notes[0].Fix != "" {
		t.Errorf("a floor refusal left %+v, want the reason and no fix", notes)
	}
}

func TestWriteKeepsWhatItReplaces(t *testing.T) {
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
