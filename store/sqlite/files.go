package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/store"
)

// magic begins every SQLite file (https://sqlite.org/fileformat2.html,
// section 1.3).
const magic = "SQLite format 3\x00"

// suffixes are those of the file and its companions.
var suffixes = [...]string{"", "-wal", "-shm"}

// prepareFiles creates the file and its companions when they are missing, so
// that they are private whatever the umask, and looks at the beginning of an
// existing one. fresh is true when a name was created.
func prepareFiles(path string) (fresh bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	if err := checkHeader(path); err != nil {
		return false, err
	}
	for _, suffix := range suffixes {
		f, err := os.OpenFile(path+suffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fresh, err
		}
		fresh = true
		if err := f.Close(); err != nil {
			return fresh, err
		}
	}
	return fresh, nil
}

// settleFiles does for new files what the driver does not: it makes a log
// that the engine created itself private, and the names durable.
func settleFiles(path string) error {
	for _, suffix := range suffixes {
		if err := os.Chmod(path+suffix, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return syncDir(filepath.Dir(path))
}

// checkHeader refuses what is no regular file and what does not begin as a
// SQLite file does. An empty file is one that nobody has written yet.
func checkHeader(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &store.Error{Reason: store.ErrForeign, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f, head)
	if err == io.EOF {
		return nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if !bytes.Equal(head[:n], []byte(magic)) {
		return &store.Error{Reason: store.ErrDamaged, Err: fmt.Errorf("begins with %d bytes that no state file begins with", n)}
	}
	return nil
}
