package skill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/tools/skill"
)

// roles is one personality without any tool.
type roles struct{}

func (roles) Personality(string) (*sallyport.Personality, bool) {
	return &sallyport.Personality{Name: "p", Toolset: []string{}}, true
}

func newGate(t testing.TB, folder fs.FS) *registry.Registry {
	t.Helper()
	r, err := registry.New(&sallyport.Backends{Personalities: roles{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	if err := r.Register(skill.Tool(folder)); err != nil {
		t.Fatal(err)
	}
	return r
}

func get(ctx context.Context, r *registry.Registry, args string) sallyport.Result {
	return r.Call(ctx, &sallyport.Caller{
		Principal: sallyport.Principal{Name: "ann"}, Personality: "p", Platform: sallyport.PlatformGo,
	}, sallyport.Request{Tool: "get_skill", Args: json.RawMessage(args)})
}

// newFolder writes files below a folder that has a secret beside it.
func newFolder(t testing.TB, files map[string]string) (folder string) {
	t.Helper()
	base := t.TempDir()
	folder = filepath.Join(base, "skills")
	for path, content := range files {
		full := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "outside.md"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func openRoot(t testing.TB, folder string) fs.FS {
	t.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root.FS()
}

const review = "---\nname: review\ndescription: \"How we review changes\"\n---\n# Review\n\nRead the tests first.\n"

func TestSkillsAreListedAndRead(t *testing.T) {
	t.Parallel()
	r := newGate(t, openRoot(t, newFolder(t, map[string]string{
		"release.md": "# How to release\n\nTag it.", "review/SKILL.md": review, "review.md": "the older one", "review/notes.md": "no skill",
		"empty.md": "", ".hidden.md": "x", "two words.md": "x", "readme.txt": "x", "nested/deep/SKILL.md": "x",
	})))
	res := get(t.Context(), r, `{}`)
	if want := "empty: \nrelease: How to release\nreview: How we review changes"; !res.OK || res.Value != want {
		t.Errorf("get_skill({}) = %q %s, want %q", res.Value, res.Error, want)
	}
	for name, want := range map[string]string{"review": review, "release": "# How to release\n\nTag it.", "empty": ""} {
		if res := get(t.Context(), r, `{"name":"`+name+`"}`); !res.OK || res.Value != want {
			t.Errorf("get_skill(%s) = %q %s, want the text as it is", name, res.Value, res.Error)
		}
	}
}

func TestANameIsNeverAPath(t *testing.T) {
	t.Parallel()
	folder := newFolder(t, map[string]string{"a.md": "A", "sub/x.md": "X"})
	for link, to := range map[string]string{"link.md": "../outside.md", "inside.md": "a.md", "away": "..", "absolute.md": "/etc/hostname"} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Skipf("no symbolic links: %v", err)
		}
	}
	r := newGate(t, openRoot(t, folder))
	for _, name := range []string{
		"../outside", "..", ".", "/etc/hostname", "sub/x", `sub\x`, "a.md", "a ", "link", "absolute", "away", "A\u0000", "a\n", "ä", "zzz", "con:",
	} {
		raw, err := json.Marshal(map[string]string{"name": name})
		if err != nil {
			t.Fatal(err)
		}
		res := get(t.Context(), r, string(raw))
		if res.Code != sallyport.CodeInputInvalid || !strings.HasSuffix(res.Error, ": there are a, inside") {
			t.Errorf("get_skill(%q) = %+v, want input_invalid with the names that there are", name, res)
		}
	}
	if res := get(t.Context(), r, `{"name":"inside"}`); res.Value != "A" {
		t.Errorf("get_skill(inside) = %+v, want what the link within the folder leads to", res)
	}
	for _, args := range []string{`{"name":""}`, `{"name":1}`, `{"name":"` + strings.Repeat("a", 65) + `"}`, `{"path":"a"}`, `[]`} {
		if res := get(t.Context(), r, args); res.Code != sallyport.CodeInputInvalid {
			t.Errorf("get_skill(%s) = %+v, want input_invalid", args, res)
		}
	}
}

func TestHostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	r := newGate(t, openRoot(t, newFolder(t, map[string]string{
		"big.md": strings.Repeat("x", 64<<10+1), "full.md": strings.Repeat("x", 64<<10), "binary.md": "a\x00b", "latin.md": "caf\xe9",
		"tokens.md": "a<|im_start|>b",
	})))
	for name, want := range map[string]string{
		"big": "the skill big has more than 65536 bytes", "binary": "the skill binary is no text in UTF-8", "latin": "the skill latin is no text in UTF-8",
	} {
		if res := get(t.Context(), r, `{"name":"`+name+`"}`); res.Code != sallyport.CodeExecutionFailed || res.Error != want {
			t.Errorf("get_skill(%s) = %+v, want %q", name, res, want)
		}
	}
	if res := get(t.Context(), r, `{"name":"full"}`); len(res.Value) != 64<<10 {
		t.Errorf("get_skill(full) has %d bytes, want all of them", len(res.Value))
	}
	if res := get(t.Context(), r, `{"name":"tokens"}`); strings.Contains(res.Value, "im_start") {
		t.Errorf("get_skill(tokens) = %q, want no template token", res.Value)
	}
}

func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	folder := fstest.MapFS{}
	for i := range 250 {
		folder[fmt.Sprintf("s%03d.md", i)] = &fstest.MapFile{Data: []byte(strings.Repeat("é", 500))}
	}
	res := get(t.Context(), newGate(t, folder), `{}`)
	lines := strings.Split(res.Value, "\n")
	if len(lines) != 201 || lines[200] != "There are more; only the first 200 are listed." || lines[0] != "s000: "+strings.Repeat("é", 200)+"…" {
		t.Errorf("get_skill({}) has %d lines, first %q, last %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

// broken is a folder that cannot be opened, as after a failure of its disk.
type broken struct{}

func (broken) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: "/srv/private/" + name, Err: errors.New("input/output error")}
}

func TestAFolderThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	r := newGate(t, broken{})
	for _, args := range []string{`{}`, `{"name":"a"}`} {
		res := get(t.Context(), r, args)
		if res.Code != sallyport.CodeNotAvailable || res.Error != "the folder of the skills cannot be read" {
			t.Errorf("get_skill(%s) = %+v, want not_available without the path", args, res)
		}
	}
}

func TestACancelledCallEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tool := skill.Tool(fstest.MapFS{"a.md": &fstest.MapFile{Data: []byte("A")}})
	if _, err := tool.Run(ctx, &sallyport.Call{Args: json.RawMessage(`{}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want the end of the call", err)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	r := newGate(t, openRoot(t, newFolder(t, map[string]string{"a.md": "A", "b.md": "B"})))
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			name, want := "a", "A"
			if i%2 == 1 {
				name, want = "b", "B"
			}
			if res := get(t.Context(), r, `{"name":"`+name+`"}`); res.Value != want {
				t.Errorf("get_skill(%s) = %+v", name, res)
			}
		})
	}
	all.Wait()
}
