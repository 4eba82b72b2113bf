package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/store"
)

// magic begins every SQLite file (https://sqlite.org/fileformat2.html,
// section 1.3).
const magic = "SQLite format 3\x00"

// companions are the files that the engine keeps beside the file.
var companions = [...]string{"-wal", "-shm"}

// prepareFiles makes what is missing, private whatever the umask, and looks
// at the beginning of an existing file. The engine may open the file then.
func prepareFiles(ctx context.Context, path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	state, err := probeFile(path)
	if err != nil {
		return err
	}
	if state == missing {
		if state, err = createFile(ctx, path); err != nil {
			return err
		}
	}
	if state != written {
		// The engine deletes the log of an empty file. See settle.
		return nil
	}
	fresh := false
	for _, suffix := range companions {
		f, err := os.OpenFile(path+suffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		fresh = true
		if err := f.Close(); err != nil {
			return err
		}
	}
	if !fresh {
		return nil
	}
	// The driver does not make the names of new files durable.
	return fsx.SyncDir(dir)
}

// makeCompanionsPrivate makes the companions that the engine created itself
// private.
func makeCompanionsPrivate(path string) error {
	for _, suffix := range companions {
		info, err := os.Stat(path + suffix)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path+suffix, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// createFile builds a new file under another name and links it to path, so that
// of several processes none ever sees half of one.
func createFile(ctx context.Context, path string) (fileState, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-new-*")
	if err != nil {
		return missing, err
	}
	defer f.Close()
	defer func() {
		for _, suffix := range [...]string{"", "-journal", "-wal", "-shm"} {
			_ = os.Remove(f.Name() + suffix)
		}
	}()
	if err := writeEmptyState(ctx, f.Name()); err != nil {
		return missing, err
	}
	if err := f.Sync(); err != nil {
		return missing, err
	}
	err = os.Link(f.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return probeFile(path)
	}
	// No hard links here: the engine creates the file in place.
	empty, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return missing, err
	}
	return blank, empty.Close()
}

// writeEmptyState writes an empty state into a file that no other process knows.
func writeEmptyState(ctx context.Context, path string) error {
	raw, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return wrapError(err)
	}
	c := &conn{Conn: raw, path: path, stmts: make(map[string]*sqlite3.Stmt)}
	// Once at the end is early enough to wait for the disk.
	err = c.wrapError(ctx, c.Exec("PRAGMA synchronous=OFF"))
	if err == nil {
		err = c.migrateSchema(ctx)
	}
	return errors.Join(err, c.close())
}

type fileState int

const (
	missing fileState = iota
	// blank is a file without a byte, which was not written yet.
	blank
	// written is a file that begins as a SQLite file does.
	written
)

// probeFile reports what is found at a path. It refuses what is no regular file
// and what does not begin as a SQLite file does.
func probeFile(path string) (fileState, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return missing, nil
	}
	if err != nil {
		return missing, err
	}
	if !info.Mode().IsRegular() {
		return missing, &store.Error{Reason: store.ErrForeign, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return missing, err
	}
	defer f.Close()
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f, head)
	if err == io.EOF {
		return blank, nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return missing, err
	}
	if !bytes.Equal(head[:n], []byte(magic)) {
		return missing, &store.Error{Reason: store.ErrDamaged, Err: fmt.Errorf("begins with %d bytes that no state file begins with", n)}
	}
	return written, nil
}
