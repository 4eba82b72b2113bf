package onestep

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/fsx"
)

// disk is what a step does to the file system. Tests let each of it fail.
type disk struct {
	// writeAside writes a text durably beside a file and returns its path.
	writeAside func(path string, text []byte) (aside string, err error)
	rename     func(from, to string) error
	// remove removes a file, which may be gone.
	remove func(path string) error
}

var systemDisk = disk{
	writeAside: fsx.WriteAside,
	rename: func(from, to string) error {
		if err := os.Rename(from, to); err != nil {
			return err
		}
		// The file is replaced whether or not its directory can be synced.
		_ = fsx.SyncDir(filepath.Dir(to))
		return nil
	},
	remove: func(path string) error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	},
}
