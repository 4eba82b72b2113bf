package digest

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("four"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("four", path("link")); err != nil {
		t.Fatal(err)
	}
	// No process ever writes to it.
	if err := syscall.Mkfifo(path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		most int64
		want error
	}{
		{"four", 4, nil},
		{"link", 4, nil},
		{"four", 3, ErrTooLong},
		{"/proc/self/status", 10, ErrTooLong}, // its size is said to be 0
		{"fifo", 4, ErrIrregular},
		{".", 4, ErrIrregular},
		{"/dev/zero", 4, ErrIrregular},
		{"none", 4, fs.ErrNotExist},
	} {
		p := tt.name
		if !filepath.IsAbs(p) {
			p = path(p)
		}
		got, err := File(p, tt.most)
		if !errors.Is(err, tt.want) {
			t.Errorf("File(%s, %d) = %v, want %v", tt.name, tt.most, err, tt.want)
		}
		if err == nil && got != sha256.Sum256([]byte("text")) {
			t.Errorf("File(%s) = %x, want the digest of its text", tt.name, got)
		}
	}
}
