package lock_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/lock"
)

// TestFaultsHaveTheirPlace edits the text of a good file.
func TestFaultsHaveTheirPlace(t *testing.T) {
	good := bytesOf(t, mustPin(t, offer()))
	for _, tt := range []struct{ name, from, to, at, message string }{
		{"not JSON", `"env": [`, `"env": {[`, "env", "not valid JSON"},
		{"a comment", `"env": [`, `// names` + "\n" + `"env": [`, "names", "not valid JSON"},
		{"cut off", good[len(good)-4:], "", "", "unexpected end"},
		{"more text", "  \"version\": 1\n}", "  \"version\": 1\n} {}", "{}", "more text"},
		{"byte order mark", "{", "\ufeff{", "\ufeff{", "not valid JSON"},
		{"not UTF-8", `"LANG"`, "\"L\xff\"", "\xff", "UTF-8"},
		{"half a surrogate pair", `"LANG"`, `"\ud800"`, `\ud800`, "surrogate"},
		{"repeated key", `"env": [`, `"command": [],` + "\n" + `"env": [`, `"command": []`, "repeats the key"},
		{"repeated key in a definition", `"title": "Read"`, `"title": "Read", "title": "x"`, `"title": "x"`, "repeats the key"},
		{"unknown key", `"env": [`, `"envs": [], "env": [`, `"envs"`, "did you mean"},
		{"key in another case", `"transport"`, `"Transport"`, `"Transport"`, "did you mean"},
		{"unknown version", `"version": 1`, `"version": 2`, `"version": 2`, "1"},
		{"wrong type", `"env": [`, `"url": 1, "env": [`, `"url": 1`, "string"},
		{"null", `"definition": {`, `"definition": null, "x": {`, `"definition": null`, "object"},
		{"unknown transport", `"stdio"`, `"smoke"`, `"transport": "smoke"`, "stdio"},
		{"unknown capability", `"network": {`, `"networks": {`, `"networks"`, "did you mean"},
		{"missing field", `"path": "/usr/bin/npx",`, ``, `"binary"`, "path"},
		{"short digest", `"sha256": "` + zero, `"sha256": "00`, `"sha256": "00`, "match"},
		{"capabilities of another digest", `"*.example.com"`, `"*"`, `"capabilities_sha256"`, "digest"},
		{"definition of another digest", `Reads a file.`, `Sends a file.`, `"sha256"`, "digest"},
		{"mapped name", `"mcp__files__read"`, `"mcp__files__write"`, `"name": "mcp__files__write"`, "mcp__files__read"},
		{"definition under another name", `"read": {`, `"write": {`, `"write": {`, "another tool"},
		{"server name", `"files": {`, `"a__b": {`, `"a__b"`, "separates"},
		{"url with a password", `"env": [`, `"url": "https://a:b@c/", "env": [`, `"files": {`, "user info"},
		{"hidden character in the launch", `"-y"`, "\"-y\u200b\"", `"files": {`, "not shown"},
		{"element of a list", `"LANG"`, `7`, `7,`, "/env/0"},
		{"key that does not print", `"env": [`, "\"a~\\u202e/\": 1, \"env\": [", `"a~`, "is not a known"},
		{"very long key", `"env": [`, `"` + strings.Repeat("k", 400) + `": 1, "env": [`, `"kkk`, "is not a known"},
		{"hidden field that is none", `"identity": {`, `"identity": {"hidden": {"x": "` + zero + `"},`, `"hidden"`, "does not have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(good, tt.from, tt.to, 1)
			if text == good {
				t.Fatalf("the file does not hold %q", tt.from)
			}
			f, err := lock.Parse("sallyport.lock", []byte(text))
			faults, ok := errors.AsType[lock.Faults](err)
			if f != nil || !ok || len(faults) == 0 {
				t.Fatalf("Parse = %v, %v; want faults", f, err)
			}
			i := slices.IndexFunc(faults, func(f lock.Fault) bool { return strings.Contains(f.Message, tt.message) })
			if i < 0 {
				t.Fatalf("Parse: %v, want %q", err, tt.message)
			}
			lines := strings.Split(text, "\n")
			at := faults[i]
			rest := string([]rune(lines[at.Line-1] + "\n")[at.Column-1:])
			if !strings.HasPrefix(rest, tt.at) && !strings.Contains(lines[at.Line-1], tt.at) {
				t.Errorf("the fault %v is at %q, want it at %q", at, rest, tt.at)
			}
		})
	}
}

func TestALargeFileIsRefused(t *testing.T) {
	const small = `{"version":1,"servers":{}}`
	path := filepath.Join(t.TempDir(), "sallyport.lock")
	if err := os.WriteFile(path, []byte(small+strings.Repeat(" ", 8<<20-len(small))+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Load(path); err == nil || !strings.Contains(err.Error(), ":1:1: ") || !strings.Contains(err.Error(), "larger") {
		t.Errorf("Load: %v, want that it is larger", err)
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := lock.Load(dir); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("Load of a directory: %v, want a refusal", err)
	}
	if _, err := lock.Load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load of nothing: %v, want ErrNotExist", err)
	}
}

func TestSaveReplacesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sallyport.lock")
	f := mustPin(t, offer())
	for range 2 {
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := lock.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, got); d != "" {
		t.Errorf("Load after Save (-want +got):\n%s", d)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the file has mode %v, %v; want 0644", info.Mode(), err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("the folder holds %v, want the file alone", names)
	}
}

func TestSaveKeepsTheModeAndTheLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real.lock"), filepath.Join(dir, "sallyport.lock")
	if err := os.Symlink("real.lock", link); err != nil {
		t.Skip(err)
	}
	for given, want := range map[os.FileMode]os.FileMode{0o600: 0o600, 0o664: 0o664, 0o666: 0o664} {
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, given), mustPin(t, offer()).Save(link)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want && runtime.GOOS != "windows" {
			t.Errorf("a file of mode %v has %v (%v), want %v", given, info.Mode(), err, want)
		}
		if _, err := lock.Load(path); err != nil {
			t.Errorf("what the link leads to was not written: %v", err)
		}
		if to, err := os.Readlink(link); err != nil || to != "real.lock" {
			t.Errorf("the link leads to %q (%v), want real.lock", to, err)
		}
	}
}

func TestSaveLeavesTheOldFileWhenItCannot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sallyport.lock")
	if err := mustPin(t, offer()).Save(path); err != nil {
		t.Fatal(err)
	}
	bad := mustPin(t, offer())
	s := bad.Servers["files"]
	s.Transport = "smoke"
	bad.Servers["files"] = s
	if err := bad.Save(path); err == nil {
		t.Error("Save writes a file that Load refuses")
	}
	if err := mustPin(t, offer()).Save(filepath.Join(dir, "none", "sallyport.lock")); err == nil {
		t.Error("Save into no folder succeeds")
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mustPin(t, offer()).Save(filepath.Join(dir, "taken")); err == nil {
		t.Error("Save over a folder succeeds")
	}
	if _, err := lock.Load(path); err != nil {
		t.Errorf("the old file is gone: %v", err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 2 {
		t.Errorf("the folder holds %v, want no temporary file", names)
	}
}

// TestTheTextDiffsWell holds the file to one change a line.
func TestTheTextDiffsWell(t *testing.T) {
	a, b := bytesOf(t, mustPin(t, offer())), bytesOf(t, mustPin(t, edited(t, "Reads a file.", "Reads <b>files</b> & more.")))
	var changed []string
	for i, line := range strings.Split(b, "\n") {
		if strings.Split(a, "\n")[i] != line {
			changed = append(changed, strings.TrimSpace(line))
		}
	}
	if len(changed) != 2 || changed[0] != `"description": "Reads <b>files</b> & more.",` {
		t.Errorf("changed lines %q, want the description and the digest", changed)
	}
	if !strings.HasSuffix(a, "}\n") {
		t.Error("the file does not end in a line feed")
	}
}

// TestHiddenTextInTheFileIsNoted loads a file that another party wrote, in
// which characters are hidden and the digest is right.
func TestHiddenTextInTheFileIsNoted(t *testing.T) {
	f := mustPin(t, edited(t, "Reads a file.", "Reads\u200b a file."))
	p := f.Servers["files"].Tools["read"]
	if len(p.Hidden) != 1 || strings.Contains(bytesOf(t, f), "\u200b") {
		t.Fatalf("the pin has Hidden %v, want one entry and clean text", p.Hidden)
	}
	text := bytesOf(t, f)
	text = strings.Replace(text, "Reads a file.", "Reads\u200b a file.", 1)
	start := strings.Index(text, `"hidden": {`)
	end := start + strings.Index(text[start:], "},") + 2
	got, err := lock.Parse("sallyport.lock", []byte(text[:start]+text[end:]))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, got); d != "" {
		t.Errorf("Parse (-want +got):\n%s", d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(bytesOf(f, mustPin(f, offer())))
	f.Add(bytesOf(f, mustPin(f, edited(f, "Reads a file.", "\u202eReads"))))
	f.Add(`{"version":1,"servers":{}}`)
	f.Add(`{"version":1,"servers":{"a":{"transport":"http","url":"https://a","capabilities":{},"capabilities_sha256":"` + zero + `"}}}`)
	f.Add("{\"servers\":{\"a\n\":{\"x~/\u202e\":[1,{\"k\":0,\"k\":1}]}}}")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := lock.Parse("f", []byte(text))
		if err != nil {
			faults, ok := errors.AsType[lock.Faults](err)
			if !ok || len(faults) == 0 {
				t.Fatalf("Parse: %v, want faults", err)
			}
			for _, one := range faults {
				if one.Line < 1 || one.Column < 1 || one.Line > strings.Count(text, "\n")+1 {
					t.Fatalf("fault %v is outside the text", one)
				}
			}
			return
		}
		again, err := lock.Parse("f", []byte(bytesOf(t, file)))
		if err != nil {
			t.Fatalf("Parse of Bytes: %v", err)
		}
		if d := cmp.Diff(file, again); d != "" {
			t.Fatalf("Parse of Bytes (-first +second):\n%s", d)
		}
		if list := lock.Diff(file, again); len(list) > 0 {
			t.Fatalf("Diff of equal files: %v", list)
		}
	})
}
