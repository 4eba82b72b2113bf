//go:build unix

package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheDigestOfAFolderTellsEveryChange changes one thing of a folder at a time: the
// digest is another one, or what an installation never holds is named.
func TestTheDigestOfAFolderTellsEveryChange(t *testing.T) {
	t.Parallel()
	deep := "a" + strings.Repeat("/d", maxDepth)
	for _, tt := range []struct {
		name, fault string
		change      func(dir string) error
		same        bool
	}{
		{name: "nothing", change: func(string) error { return nil }, same: true},
		{name: "a time", change: func(dir string) error { return os.Chtimes(dir+"/a/b/f", time.Unix(1, 0), time.Unix(1, 0)) }, same: true},
		{name: "a text", change: func(dir string) error { return os.WriteFile(dir+"/a/b/f", []byte("texT"), 0o600) }},
		{name: "a new file", change: func(dir string) error { return os.WriteFile(dir+"/a/b/g", nil, 0o600) }},
		{name: "a new folder", change: func(dir string) error { return os.Mkdir(dir+"/a/c", 0o700) }},
		{name: "another name", change: func(dir string) error { return os.Rename(dir+"/a/b/f", dir+"/a/f") }},
		{name: "a program", change: func(dir string) error { return os.Chmod(dir+"/a/b/f", 0o700) }},
		{name: "a file that is gone", change: func(dir string) error { return os.Remove(dir + "/a/b/f") }},
		{name: "a link", fault: `"a/b/l" is no plain file or folder`, change: func(dir string) error { return os.Symlink("f", dir+"/a/b/l") }},
		{name: "a link to a folder", fault: `"l" is no plain file or folder`, change: func(dir string) error { return os.Symlink("a", dir+"/l") }},
		{name: "a changed user", fault: `"a/b/f" is no plain file or folder`, change: func(dir string) error { return os.Chmod(dir+"/a/b/f", 0o600|os.ModeSetuid) }},
		{name: "a shared folder", fault: `"a/b" is no plain file or folder`, change: func(dir string) error { return os.Chmod(dir+"/a/b", 0o700|os.ModeSticky) }},
		{name: "a folder that is too deep", fault: "is too deep", change: func(dir string) error { return os.MkdirAll(filepath.Join(dir, deep), 0o700) }},
		{name: "too many files", fault: "it has too many files", change: func(dir string) error {
			return os.WriteFile(dir+"/g", nil, 0o600)
		}},
		{name: "too large a file", fault: "it is too large", change: func(dir string) error {
			return os.WriteFile(dir+"/a/b/f", make([]byte, 1<<10), 0o600)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := Options{MaxFiles: 200, MaxBytes: 1 << 9}
			if strings.HasPrefix(tt.name, "too many") {
				o.MaxFiles = 3
			}
			s, err := New(t.TempDir(), &o)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.MkdirAll(dir+"/a/b", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir+"/a/b/f", []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := s.digestFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			after, err := s.digestFolder(dir)
			switch {
			case tt.fault != "":
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("the digest = %s, %v, want the fault %q", after, err, tt.fault)
				}
			case err != nil || (before == after) != tt.same:
				t.Errorf("the digest was %s and is %s, %v, want the same: %v", before, after, err, tt.same)
			}
		})
	}
}
