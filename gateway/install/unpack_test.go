package install

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// opened returns a store that the test can remove.
func opened(t testing.TB, o *Options) *Store {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = removeTree(dir) })
	s, err := New(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// entry is one entry of an archive.
type entry struct {
	name string
	body string
	kind byte
	mode int64
	link string
}

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		if e.mode == 0 {
			e.mode = 0o644
		}
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: e.mode, Size: int64(len(e.body)), Linkname: e.link}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	s := opened(t, nil)
	text := archive(t, entry{name: "./", kind: tar.TypeDir}, entry{name: "p/", kind: tar.TypeDir, mode: 0o777},
		entry{name: "p/run", body: "run", mode: 0o755}, entry{name: "p/a\nb", body: "x", mode: 0o600}, entry{name: "p.x"})
	var last string
	for range 2 {
		stage := s.newStagePath()
		digest, err := s.unpackArchive(bytes.NewReader(text), stage)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.digestFolder(stage); err != nil || again != digest || last != "" && last != digest {
			t.Errorf("the digest is %s, that of the folder %s, that before %s, %v", digest, again, last, err)
		}
		last = digest
		for name, want := range map[string]fs.FileMode{"": fs.ModeDir | 0o555, "p": fs.ModeDir | 0o555, "p/run": 0o555, "p/a\nb": 0o444} {
			if info, err := os.Stat(filepath.Join(stage, name)); err != nil || runtime.GOOS != "windows" && info.Mode() != want {
				t.Errorf("%q has the mode %v, %v, want %v", name, info.Mode(), err, want)
			}
		}
	}
	// Everything that counts is in the digest.
	for name, e := range map[string][]entry{
		"content": {{name: "a", body: "y"}}, "name": {{name: "b", body: "x"}}, "mode": {{name: "a", body: "x", mode: 0o755}},
		"more": {{name: "a", body: "x"}, {name: "b"}}, "folder": {{name: "a", kind: tar.TypeDir}}, "nothing": nil,
	} {
		base, err := s.unpackArchive(bytes.NewReader(archive(t, entry{name: "a", body: "x"})), s.newStagePath())
		other, otherErr := s.unpackArchive(bytes.NewReader(archive(t, e...)), s.newStagePath())
		if base == other || err != nil || otherErr != nil {
			t.Errorf("%s: the digest is the same: %s, %v, %v", name, base, err, otherErr)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	s := opened(t, &Options{MaxFiles: 5, MaxBytes: 100})
	deep := strings.Repeat("d/", maxDepth) + "f"
	for name, tt := range map[string]struct {
		entries []entry
		want    string
	}{
		"up":          {[]entry{{name: "../evil"}}, "leads out"},
		"inner up":    {[]entry{{name: "a", kind: tar.TypeDir}, {name: "a/../../evil"}}, "leads out"},
		"absolute":    {[]entry{{name: "/evil"}}, "leads out"},
		"unclean":     {[]entry{{name: "a//b"}}, "leads out"},
		"link":        {[]entry{{name: "l", kind: tar.TypeSymlink, link: "/etc/passwd"}}, "neither a file nor a folder"},
		"inner link":  {[]entry{{name: "l", kind: tar.TypeSymlink, link: "x"}, {name: "x"}}, "neither a file nor a folder"},
		"hard link":   {[]entry{{name: "x"}, {name: "l", kind: tar.TypeLink, link: "x"}}, "neither a file nor a folder"},
		"fifo":        {[]entry{{name: "l", kind: tar.TypeFifo}}, "neither a file nor a folder"},
		"device":      {[]entry{{name: "l", kind: tar.TypeBlock}}, "neither a file nor a folder"},
		"setuid":      {[]entry{{name: "s", mode: 0o4755}}, "changes its user"},
		"setgid":      {[]entry{{name: "s", kind: tar.TypeDir, mode: 0o2755}}, "changes its user"},
		"twice":       {[]entry{{name: "x"}, {name: "x", body: "other"}}, "exists"},
		"file as dir": {[]entry{{name: "x"}, {name: "x/y"}}, "not a directory"},
		"no folder":   {[]entry{{name: "x/y"}}, "no such file"},
		"many":        {[]entry{{name: "1"}, {name: "2"}, {name: "3"}, {name: "4"}, {name: "5"}, {name: "6"}}, "too many files"},
		"large":       {[]entry{{name: "1", body: strings.Repeat("x", 60)}, {name: "2", body: strings.Repeat("x", 60)}}, "too large"},
		"long":        {[]entry{{name: strings.Repeat("x", maxPath+1)}}, "too long"},
		"deep":        {[]entry{{name: deep}}, "too deep"},
	} {
		if _, err := s.unpackArchive(bytes.NewReader(archive(t, tt.entries...)), s.newStagePath()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: unpack = %v, want %q", name, err, tt.want)
		}
	}
	whole := archive(t, entry{name: "x", body: "content"})
	for _, text := range [][]byte{whole[:515], whole[:200], []byte("no archive at all, for 512 bytes" + strings.Repeat("!", 600))} {
		if _, err := s.unpackArchive(bytes.NewReader(text), s.newStagePath()); err == nil {
			t.Errorf("%d bytes of an archive were unpacked", len(text))
		}
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(s.dir), "evil")); found != nil {
		t.Errorf("%q was written", found)
	}
}

// pinned is a store with a copy of a package that is not made by npm.
func pinned(t testing.TB) (s *Store, p Package, digest, folder string) {
	t.Helper()
	s, p = opened(t, nil), Package{Registry: NPM, Name: "@s/a", Version: "1.0.0"}
	digest = installPackage(t, s, p)
	return s, p, digest, filepath.Join(s.dir, p.folderName(digest))
}

func installPackage(t testing.TB, s *Store, p Package) string {
	t.Helper()
	return installWith(t, s, p, `,"bin":"cli.js"`)
}

// installWith installs a package without npm, whose manifest holds more than its
// name and its version.
func installWith(t testing.TB, s *Store, p Package, manifest string) string {
	t.Helper()
	dir := func(name string) entry { return entry{name: name, kind: tar.TypeDir} }
	stage := s.newStagePath()
	digest, err := s.unpackArchive(bytes.NewReader(archive(t, dir("package"), dir("package/node_modules"), dir("package/node_modules/@s"),
		dir("package/node_modules/@s/a"), entry{name: "package/node_modules/@s/a/cli.js", body: "#!/usr/bin/env -S node --no-warnings\n"},
		entry{name: "package/node_modules/@s/a/run.sh", body: "#!/bin/bash\n"},
		entry{name: "package/node_modules/@s/a/package.json", body: `{"name":"@s/a","version":"1.0.0"` + manifest + `}`},
		entry{name: "package/package-lock.json", body: `{"lockfileVersion":3,"packages":{"":{},"node_modules/@s/a":{"version":"1.0.0",
			"resolved":"https://registry.npmjs.org/@s/a/-/a-1.0.0.tgz","integrity":"sha512-x"}}}`})), stage)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.storeInstalled(stage, p, digest); err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestOpen(t *testing.T) {
	t.Parallel()
	s, p, digest, folder := pinned(t)
	o, err := s.Open(p, digest)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "package", "node_modules", "@s", "a", "cli.js")
	if got := strings.Join(o.Command, " "); got != "node --no-warnings "+file || o.Folder != folder || o.Integrity != "sha512-x" {
		t.Errorf("Open = %+v", o)
	}
	if _, err := s.Open(p, strings.Repeat("0", 64)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another digest = %v, want that it is not installed", err)
	}
	// A folder's name shows the beginning of the digest only.
	if _, err := s.Open(p, digest[:digestDigits]+strings.Repeat("0", 64-digestDigits)); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("another digest with the same beginning = %v", err)
	}
	for _, bad := range []string{"", "x", "../../..", strings.ToUpper(digest)} {
		if _, err := s.Open(p, bad); err == nil || !strings.Contains(err.Error(), "is not a digest") {
			t.Errorf("Open with the digest %q = %v", bad, err)
		}
	}
}

func TestProgramsThatAreMissing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ manifest, want string }{
		"no bin":          {"", "has no bin"},
		"no file":         {`,"bin":"absent.js"`, "no file of the package"},
		"outside":         {`,"bin":"../../package.json"`, "no file of the package"},
		"another name":    {`,"bin":{"x":"cli.js","b":"run.sh"}`, `no program "a"`},
		"another runtime": {`,"bin":"run.sh"`, `runs with "/bin/bash"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := opened(t, nil), Package{Registry: NPM, Name: "@s/a", Version: "1.0.0"}
			if _, err := s.Open(p, installWith(t, s, p, tt.manifest)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestOpenFindsChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string) error{
		"content": func(dir string) error { return os.WriteFile(filepath.Join(dir, "cli.js"), []byte("evil"), 0o444) },
		"added":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "new.js"), nil, 0o444) },
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "cli.js")) },
		"mode":    func(dir string) error { return os.Chmod(filepath.Join(dir, "cli.js"), 0o755) },
		"setuid":  func(dir string) error { return os.Chmod(filepath.Join(dir, "cli.js"), 0o444|fs.ModeSetuid) },
		"link": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "cli.js")), os.Symlink("/etc/passwd", filepath.Join(dir, "cli.js")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p, digest, folder := pinned(t)
			dir := filepath.Join(folder, "package", "node_modules", "@s", "a")
			for _, path := range []string{dir, filepath.Join(dir, "cli.js")} {
				if err := os.Chmod(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(filepath.Join(dir, "cli.js"), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Open(p, digest); err != nil {
				t.Fatal(err)
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Open(p, digest); err == nil || !strings.Contains(err.Error(), "was changed") {
				t.Errorf("Open = %v, want that it was changed", err)
			}
			// Another installation mends it.
			if again := installPackage(t, s, p); again != digest {
				t.Fatalf("another digest: %s", again)
			}
			if _, err := s.Open(p, digest); err != nil {
				t.Errorf("after another installation: %v", err)
			}
			if found, _ := filepath.Glob(filepath.Join(s.dir, "*")); len(found) != 1 {
				t.Errorf("the store holds %q", found)
			}
		})
	}
}

func TestCheckNPM(t *testing.T) {
	t.Parallel()
	const top = `{"name":"a","version":"1.0.0"}`
	const from = `"resolved":"https://registry.npmjs.org/`
	lock := func(more string) string {
		return `{"lockfileVersion":3,"packages":{"":{},"node_modules/a":{"version":"1.0.0",` + from + `a/-/a-1.0.0.tgz","integrity":"sha1-x sha512-y"}` + more + `}}`
	}
	entryOf := func(key, body string) string { return `,"` + key + `":{"version":"1.0.0",` + body + `}` }
	for name, tt := range map[string]struct{ manifest, lock, want string }{
		"good":            {top, lock(""), ""},
		"bundled":         {top, lock(entryOf("node_modules/a/node_modules/b", `"inBundle":true`)), ""},
		"deeper":          {top, lock(entryOf("node_modules/a/node_modules/b", `"inBundle":true`) + entryOf("node_modules/a/node_modules/b/node_modules/c", `"inBundle":true`)), ""},
		"bundled by none": {top, lock(entryOf("node_modules/b", `"inBundle":true`)), "archive of no package"},
		"name":            {`{"name":"b","version":"1.0.0"}`, lock(""), "says that it is"},
		"version":         {`{"name":"a","version":"1.0.1"}`, lock(""), "says that it is"},
		"no manifest":     {"", lock(""), "cannot be read"},
		"no JSON":         {"{", lock(""), "unexpected end"},
		"no lock":         {top, "", "cannot be read"},
		"old lock":        {top, `{"lockfileVersion":1}`, "has version 1"},
		"other lock":      {top, `{"lockfileVersion":3,"packages":{"":{}}}`, "does not have it"},
		"git":             {top, lock(entryOf("node_modules/b", `"resolved":"git+ssh://git@github.com/b/b.git#abc","integrity":"sha512-x"`)), "is not the registry"},
		"other host":      {top, lock(entryOf("node_modules/b", `"resolved":"https://registry.npmjs.org.evil/b.tgz","integrity":"sha512-x"`)), "is not the registry"},
		"plain http":      {top, lock(entryOf("node_modules/b", `"resolved":"http://registry.npmjs.org/b.tgz","integrity":"sha512-x"`)), "is not the registry"},
		"up":              {top, lock(entryOf("node_modules/b", from+`../b.tgz","integrity":"sha512-x"`)), "is not the registry"},
		"file":            {top, lock(entryOf("node_modules/b", `"resolved":"file:../b"`)), "is not the registry"},
		"link":            {top, lock(entryOf("node_modules/b", `"link":true,"resolved":"../b"`)), "is a link"},
		"nothing":         {top, lock(entryOf("node_modules/b", `"optional":true`)), "is not the registry"},
		"no digest":       {top, lock(entryOf("node_modules/b", from+`b.tgz"`)), "has no SHA-512"},
		"weak digest":     {top, lock(entryOf("node_modules/b", from+`b.tgz","integrity":"sha1-x"`)), "has no SHA-512"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := opened(t, nil), t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "node_modules", "a"), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{"node_modules/a/package.json": tt.manifest, "package-lock.json": tt.lock} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			integrity, err := s.checkNPM(root, Package{Registry: NPM, Name: "a", Version: "1.0.0"})
			if tt.want == "" && (err != nil || integrity != "sha512-y") || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("checkNPM = %q, %v, want %q", integrity, err, tt.want)
			}
		})
	}
}

// TestUnfinishedStagesAreSwept: what a process left that was killed goes when
// it is old, and what another one works on stays.
func TestUnfinishedStagesAreSwept(t *testing.T) {
	t.Parallel()
	s, _, _, folder := pinned(t)
	old, young := s.newStagePath(), s.newStagePath()
	for _, stage := range []string{old, young} {
		if _, err := s.unpackArchive(bytes.NewReader(archive(t, entry{name: "d", kind: tar.TypeDir}, entry{name: "d/f"})), stage); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * stageLife)
	for _, path := range []string{old, folder} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(s.dir, nil); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{old: false, young: true, folder: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*Options{
		"scheme": {NPM: "file:///etc"}, "no host": {NPM: "https:///x"}, "user": {NPM: "https://u:p@x.example/"},
		"text": {NPM: "https://a b/"}, "files": {MaxFiles: -1}, "bytes": {MaxBytes: -1},
	} {
		if _, err := New("/nowhere", o); err == nil {
			t.Errorf("%s: New(%+v) succeeded", name, o)
		}
	}
	if _, err := New("relative", nil); err == nil {
		t.Error("New of a relative folder succeeded")
	}
}
