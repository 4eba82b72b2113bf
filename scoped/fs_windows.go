package scoped

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/sallyport/sallyport/internal/digest"
)

const (
	openFlags    = 0
	openDirFlags = 0
)

// fileID tells files apart while they exist.
type fileID struct{ info fs.FileInfo }

func idOf(info fs.FileInfo) fileID { return fileID{info} }

func (id fileID) isSame(o fileID) bool { return os.SameFile(id.info, o.info) }

// keepOwner does nothing: a new file inherits from its directory.
func keepOwner(*os.File, fs.FileInfo) {}

// fileIdentity returns "": the stale-write check goes by path here.
func fileIdentity(*os.File) string { return "" }

// openedPath returns where an open file lies, links followed.
func openedPath(f *os.File, path string) (string, error) { return openedPathByName(f, path) }

// lockFile takes an exclusive lock for path, on a lock file in the user's
// cache, for a lock on the file itself would hinder its readers here.
func lockFile(ctx context.Context, _ *os.File, path string) (unlock func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "sallyport", "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, digest.Text(strings.ToLower(path))[:32]), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	try := func() (bool, error) {
		const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
		err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			return false, nil
		}
		return err == nil, err
	}
	if err := pollUntil(ctx, try); err != nil {
		_ = f.Close() // The error that counts is the other one.
		return nil, err
	}
	return func() { _ = f.Close() }, nil // Closing releases the lock.
}
