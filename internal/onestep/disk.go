package onestep

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sallyport/sallyport/internal/fsx"
)

// disk is what a step does to the file system. Tests let each of it fail.
type disk struct {
	// writeNote writes the note durably: the whole of it, or nothing.
	writeNote func(path string, text []byte) error
	// overwrite gives a file that is there another text, durably. It stays the
	// same file.
	overwrite func(path string, text []byte) error
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

func readWhole(f *os.File) ([]byte, error) { return io.ReadAll(io.LimitReader(f, maxFile)) }
