package place

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

func TestOpenFollowsNoLink(t *testing.T) {
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
