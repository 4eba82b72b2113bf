package scoped

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// reachCase is a case of the area fs_reach in testdata/fs/behaviour.json.
type reachCase struct {
	Area, Name string
	Input      struct {
		Read, Write     []string
		AlwaysDeny      []string `json:"always_deny"`
		Op, Path        string
		Symlinks        map[string]string
		Hardlinks       map[string]string
		DeclaredRead    string `json:"declared_read"`
		DefaultContains string `json:"default_always_deny_contains"`
	}
	Expect struct {
		Allow, Denied bool
		Code          sallyport.Code
		Error         string
		Value         *string
	}
}

func TestReachBehaviour(t *testing.T) {
	t.Parallel()
	for _, c := range loadCases[reachCase](t, "testdata/fs/behaviour.json") {
		if c.Area == "fs_reach" {
			t.Run(c.Name, func(t *testing.T) { runReachCase(t, c) })
		}
	}
}

func runReachCase(t *testing.T, c reachCase) {
	dir := tree(t, map[string]string{
		"data/file.txt": "x", "data/b": "x", "data/x": "x", "out/": "", "secret/key": "SECRET",
		"root/": "", "outside/secret.txt": "SECRET", "outside/vault": "SECRET",
	})
	// The folders of the cases live below the test's; those of the system do
	// not.
	place := func(p string) string {
		p = strings.NewReplacer("<root>", "/root-of-case", "<outside>", "/outside", "<own pid>", strconv.Itoa(os.Getpid()), "<tid>", strconv.Itoa(os.Getpid())).Replace(p)
		for _, own := range []string{"/data", "/out", "/secret", "/cwd", "/root-of-case", "/outside"} {
			if reach.Within(own, p) {
				return filepath.Join(dir, strings.Replace(p, "/root-of-case", "/root", 1)) + strings.Repeat("/", len(p)-len(strings.TrimSuffix(p, "/")))
			}
		}
		return p
	}
	b := &sallyport.FileBackend{Home: filepath.Join(dir, "home")}
	if name := c.Input.DefaultContains; name != "" {
		checkDefaultDeny(t, denyfloor.New(b), strings.Replace(name, "~", b.Home, 1))
		return
	}
	for _, p := range c.Input.AlwaysDeny {
		if p != "<default>" {
			b.Deny = append(b.Deny, place(p))
		}
	}
	for link, target := range c.Input.Symlinks {
		if err := os.Symlink(place(target), place(link)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range c.Input.Hardlinks {
		if err := os.Link(place(target), place(link)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := newFileReach(sallyport.FSGrant{Read: expandAll(c.Input.Read, place), Write: expandAll(c.Input.Write, place)}, b)
	if err != nil {
		t.Fatal(err)
	}
	defer f.closeEntries()
	op := c.Input.Op
	if op == "" {
		op = "read" // from-personality without a personality: an empty grant.
	}
	_, err = operate(bindTo(t, f, dir), op, place(c.Input.Path), "n")
	checkReach(t, c, err, strings.ReplaceAll(errText(err), dir, ""))
}

func checkReach(t *testing.T, c reachCase, err error, text string) {
	t.Helper()
	e, _ := errors.AsType[*sallyport.Error](err)
	switch {
	case c.Expect.Allow && err != nil && !errors.Is(err, fs.ErrNotExist):
		t.Errorf("%s(%q) = %v, want it allowed", c.Input.Op, c.Input.Path, err)
	case !c.Expect.Allow && err == nil:
		t.Errorf("%s(%q) = nil, want a refusal", c.Input.Op, c.Input.Path)
	case c.Expect.Code != "" && e.Code != c.Expect.Code:
		t.Errorf("%s(%q) = %v, want code %s", c.Input.Op, c.Input.Path, err, c.Expect.Code)
	case c.Expect.Error != "" && text != c.Expect.Error:
		t.Errorf("%s(%q) = %q, want %q", c.Input.Op, c.Input.Path, text, c.Expect.Error)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func checkDefaultDeny(t *testing.T, d *denyfloor.Floor, path string) {
	t.Helper()
	for _, p := range []string{path, filepath.Join(path, "child")} {
		for _, op := range []string{opRead, opWrite} {
			if _, denied := d.Check(op, p); !denied {
				t.Errorf("Check(%s, %q) = allowed, want denied", op, p)
			}
		}
	}
}

func loadCases[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []T
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// operate runs one operation; got is a string or a list of names.
func operate(fsys sallyport.FS, op, path, content string) (got any, err error) {
	switch op {
	case "read":
		data, err := fsys.ReadFile(path)
		return string(data), err
	case "write":
		return "", fsys.WriteFile(path, []byte(content))
	case "exists", "mtime":
		_, err := fsys.Stat(path)
		return "", err
	case "mkdir":
		return "", fsys.MkdirAll(path)
	case "list":
		entries, err := fsys.ReadDir(path)
		names := []string{}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names, err
	default:
		return nil, errors.New("no operation " + op)
	}
}

func expandAll(list []string, expand func(string) string) []string {
	var out []string
	for _, s := range list {
		out = append(out, expand(s))
	}
	return out
}

// FuzzReadStaysInside reads through names and links that the fuzzer makes up.
// Whatever is returned comes from the granted directory.
func FuzzReadStaysInside(f *testing.F) {
	f.Add("l", "../out/secret")
	f.Add("l/secret", "$T/out")
	f.Add("sub/../l", "$T/ws/../out/./secret")
	f.Add("l/l/l", ".")
	f.Add("m", "l/../../out/secret")
	dir := tree(f, map[string]string{
		"ws/a": "fine", "ws/sub/b": "fine", "out/secret": "SECRET", "out/a": "SECRET", "ws/home/.ssh/a": "SECRET",
		"ws/m": "->l", "ws/sub/n": "->../l",
	})
	fs := reachOf(f, dir, []string{"ws"}, nil, &sallyport.FileBackend{Home: filepath.Join(dir, "ws/home")})
	link := filepath.Join(dir, "ws/l")
	f.Fuzz(func(t *testing.T, name, target string) {
		_ = os.Remove(link)
		_ = os.Symlink(strings.ReplaceAll(target, "$T", dir), link) // Not every text is a target.
		got, err := bindTo(t, fs, filepath.Join(dir, "ws")).ReadFile(strings.ReplaceAll(name, "$T", dir))
		if err == nil && string(got) != "fine" {
			t.Errorf("ReadFile(%q) with l -> %q = %q, want nothing from outside", name, target, got)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("ReadFile(%q) with l -> %q: error %v", name, target, err)
		}
	})
}

func BenchmarkReadFile(b *testing.B) {
	dir := tree(b, map[string]string{"ws/docs/guide/readme.md": strings.Repeat("line\n", 800)})
	const name = "docs/guide/readme.md"
	ws := filepath.Join(dir, "ws")
	root, err := os.OpenRoot(ws)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	fsys := bindTo(b, reachOf(b, dir, []string{"ws"}, nil, nil), ws)
	remembering := bindTo(b, reachOf(b, dir, []string{"ws"}, nil, &sallyport.FileBackend{Reads: discard{}}), ws)
	for _, way := range []struct {
		name string
		read func() ([]byte, error)
	}{
		{"os.ReadFile", func() ([]byte, error) { return os.ReadFile(filepath.Join(ws, name)) }},
		{"os.Root", func() ([]byte, error) { return root.ReadFile(name) }},
		{"accessor", func() ([]byte, error) { return fsys.ReadFile(name) }},
		{"accessor, remembering", func() ([]byte, error) { return remembering.ReadFile(name) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if data, err := way.read(); len(data) != 4000 || err != nil {
					b.Fatal(len(data), err)
				}
			}
		})
	}
}

func BenchmarkWriteFile(b *testing.B) {
	dir := tree(b, map[string]string{"ws/f": "x"})
	ws := filepath.Join(dir, "ws")
	fsys := bindTo(b, reachOf(b, dir, nil, []string{"ws"}, nil), ws)
	data := []byte(strings.Repeat("line\n", 800))
	for _, way := range []struct {
		name  string
		write func() error
	}{
		{"os.WriteFile", func() error { return os.WriteFile(filepath.Join(ws, "f"), data, 0o644) }},
		{"accessor, durable", func() error { return fsys.WriteFile("f", data) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := way.write(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNewFiles is the cost of a grant that is seen for the first time.
func BenchmarkNewFiles(b *testing.B) {
	dir := tree(b, map[string]string{"ws/f": "x"})
	g := sallyport.FSGrant{Read: []string{dir}, Write: []string{filepath.Join(dir, "ws")}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newFileReach(g, nil); err != nil {
			b.Fatal(err)
		}
	}
}
