package scoped

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	places "github.com/sallyport/sallyport/internal/place"
)

// realTempDir makes a temporary directory and returns it without links in its
// name.
func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree makes files below a fresh directory without links in its name: a value
// is the content, "->target" makes a symbolic link, a name that ends in a
// slash a directory. "$T" in a target is the directory.
func tree(t testing.TB, content map[string]string) string {
	t.Helper()
	dir := realTempDir(t)
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
func reachOf(t testing.TB, dir string, read, write []string, b *sallyport.FileBackend) *fileReach {
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
	f, err := newFileReach(placed(sallyport.FSGrant{Read: join(read), Write: join(write)}), b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.closeEntries)
	return f
}

// placed is a grant as the gate computes it where no tool may write yet: links of
// now are the operator's.
func placed(g sallyport.FSGrant) sallyport.FSGrant {
	g.Names = map[string]string{}
	table := places.Compile(places.Input{})
	for _, list := range [][]string{g.Read, g.Write} {
		for i, path := range list {
			if p := table.Place(path); p.Path != "" && p.Path != path {
				list[i], g.Names[path] = p.Path, p.Path
			}
		}
	}
	return g
}

func bindTo(t testing.TB, f *fileReach, dir string) sallyport.FS {
	t.Helper()
	return f.bindCall(t.Context(), dir, "session", nil)
}

func TestReadFollowsLinksThatStayInside(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	dir := tree(t, map[string]string{"ws/a": "x"})
	f := reachOf(t, dir, []string{"ws"}, nil, nil)
	fsys := bindTo(t, f, filepath.Join(dir, "ws"))
	for _, name := range []string{"", "a\x00b", filepath.Join(dir, "ws") + "/a\x00"} {
		if _, err := fsys.ReadFile(name); !errors.Is(err, sallyport.ErrPathNotReachable) || strings.ContainsRune(err.Error(), 0) {
			t.Errorf("ReadFile(%q) error = %v, want a refusal without the NUL", name, err)
		}
	}
	lost := f.bindCall(t.Context(), "", "s", nil)
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

// TestH7_ControlCharactersAreRefusedFirst: cleaning the path would take them away.
func TestH7_ControlCharactersAreRefusedFirst(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"ws/a": "x"})
	fsys := bindTo(t, reachOf(t, dir, []string{"ws"}, []string{"ws"}, nil), filepath.Join(dir, "ws"))
	for _, name := range []string{"b\x00/../a", "b\n/../a", dir + "/x\x1b/../ws/a", "a\x7f", "\u0085/../a"} {
		if got, err := fsys.ReadFile(name); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("ReadFile(%q) = %q, %v, want a refusal", name, got, err)
		}
	}
}

func TestListingDoesNotFollow(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
