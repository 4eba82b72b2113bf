package secretstore

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
	"golang.org/x/sys/unix"
)

func TestFileOnAFullDiskStays(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	f := newFile(t, filepath.Join(small, "secrets.age"), newIdentity(t))
	setValue(t, f, "a", "first value")
	before, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Set(t.Context(), "b", sallyport.NewSecret(string(bytes.Repeat([]byte("x"), 60<<10)))); err == nil {
		t.Error("Set on a full disk = nil, want an error")
	}
	if now, err := os.ReadFile(f.Path()); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the file was changed: %v", err)
	}
	if got, ok, err := f.Secret(t.Context(), "a"); err != nil || !ok || got.Reveal() != "first value" {
		t.Errorf("Secret(a) = %q, %t, %v, want the value", got.Reveal(), ok, err)
	}
	if left, err := os.ReadDir(small); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v, want the file alone", left, err)
	}
}
