package onestep

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/fsx"
)

// disk is what a step does to the file system. Tests let each of it fail.
type disk struct {
	// writeNote writes the note durably: the whole of it, or nothing.
	writeNote func(path string, text []byte) error
	// overwrite gives a file that is there another text, durably. It stays the
	// same file.
	overwrite func(path string, text []byte) error
	// makeFile makes a file, durably, by way of a name beside it.
	makeFile func(path, aside string, text []byte, mode fs.FileMode) error
	// remove removes a file, which may be gone.
	remove func(path string) error
}

var systemDisk = disk{
	writeNote: fsx.ReplaceFile,
	overwrite: func(path string, text []byte) error {
		f, err := openFile(path)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(text, 0)
		if err == nil {
			err = f.Truncate(int64(len(text)))
		}
		return errors.Join(err, f.Sync(), f.Close())
	},
	makeFile: makeWhole,
	remove: func(path string) error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	},
}

// maxFile bounds a file of a step, in bytes.
const maxFile = 64 << 20

// openFile opens a regular file for reading and writing.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|fsx.NoWait, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, f.Close(), fmt.Errorf("%s is not a regular file", path))
	}
	return f, nil
}

// newMode is the mode of a new file that is not private: that of the rest of a project.
const newMode = 0o644

func makeWhole(path, aside string, text []byte, mode fs.FileMode) error {
	err := fsx.WriteAside(path, aside, text)
	if err == nil {
		err = os.Chmod(aside, mode)
	}
	if err == nil {
		err = os.Rename(aside, path)
	}
	if err != nil {
		_ = os.Remove(aside) // which may not be there
		return err
	}
	// The file is there whether or not its directory can be synced.
	_ = fsx.SyncDir(filepath.Dir(path))
	return nil
}

// closeFile closes a file that may not be open.
func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

func readWhole(f *os.File) ([]byte, error) { return io.ReadAll(io.LimitReader(f, maxFile)) }
