package lock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/lock"
)

// TestToolsReachNoLockThatIsWritten saves a lock over a folder, which fails
// with the name under which the new lock was written. A tool that could write
// there would choose what the lock says.
func TestToolsReachNoLockThatIsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sallyport.lock")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	var file lock.File
	err := file.Save(path)
	failed, ok := errors.AsType[*os.LinkError](err)
	if !ok {
		t.Fatalf("Save over a folder = %v, want an error of the renaming", err)
	}
	if _, denied := denyfloor.New(nil).Check("write", failed.Old); !denied {
		t.Errorf("tools may write %s", filepath.Base(failed.Old))
	}
}
