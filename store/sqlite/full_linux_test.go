package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/sqlite"
)

// mountSmallDisk mounts a file system of 8 MiB and puts a file of 4 MiB on it,
// whose removal frees space.
func mountSmallDisk(t *testing.T) (dir, ballast string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast = filepath.Join(dir, "ballast")
	write(t, ballast, make([]byte, 4<<20))
	return dir, ballast
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir, ballast := mountSmallDisk(t)

	path := filepath.Join(dir, "state.db")
	f := fill(t, path, nil)
	f.fillRecord(t)
	f.check(t)
	if err := f.db.Close(); err != nil {
		t.Logf("Close on a full disk: %v", err)
	}

	// A new process finds everything, also while the disk is still full.
	f.db = open(t, path, nil)
	kv, err := f.db.KV(t.Context(), "tool:a")
	if err != nil {
		t.Fatal(err)
	}
	f.kv = kv
	f.check(t)
	if _, err := sqlite.Open(t.Context(), filepath.Join(dir, "another.db"), nil); !errors.Is(err, store.ErrFull) {
		t.Errorf("Open of a new file on a full disk = %v, want ErrFull", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := f.set(t, f.keys); err != nil {
		t.Errorf("Set after space was freed = %v", err)
	}
	f.keys++
	f.check(t)
}

// TestB13_AFullDiskRecovers goes on with the store that met the full disk: a
// record that found no room was taken back whole.
func TestB13_AFullDiskRecovers(t *testing.T) {
	t.Parallel()
	dir, ballast := mountSmallDisk(t)
	f := fill(t, filepath.Join(dir, "state.db"), nil)
	f.fillRecord(t)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if !f.record(t) {
		t.Error("Record after space was freed = an error")
	}
	f.check(t)
}
