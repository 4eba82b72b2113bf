package sqlite

import (
	"context"
	"errors"
	"os"

	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// copyTries bounds how often the record is copied anew when it was pruned in between.
const copyTries = 3

// Backup writes a copy of the state, as it is at a moment, to a path where nothing is
// yet, and its record beside it. Others use the state at the same time and wait for
// nothing. The record is copied last, so that it has all that the copy knows of. The
// error matches one of package store, or fs.ErrExist.
func (db *DB) Backup(ctx context.Context, path string) error {
	// The file holds hashes of tokens and what sessions have read.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// Neither the writer, which others need, nor a reader, which may write nothing.
	c, err := db.openConn(ctx, false)
	if err != nil {
		return err
	}
	err = c.runQueries(ctx, func(c *conn) error {
		_, err := c.exec("VACUUM INTO ?", path)
		return err
	})
	if err := errors.Join(err, c.close()); err != nil {
		return wrapError(err)
	}
	for try := 1; ; try++ {
		err := db.records.Copy(ctx, path+logSuffix)
		if !errors.Is(err, recordlog.ErrPruned) || try == copyTries {
			return wrapError(err)
		}
		if err := os.RemoveAll(path + logSuffix); err != nil {
			return err
		}
	}
}
