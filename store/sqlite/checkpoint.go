package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/sallyport/sallyport/internal/sqlfile"
)

const (
	// logPages is how long the log becomes, in pages, before it is moved into
	// the file. The shorter it is, the more often writers wait for its end; the
	// engine finds the first 4,062 pages with one look, and more take longer.
	logPages = 3500
	// restPages is how much of the log may be left to be moved while the
	// writers wait.
	restPages = 250
	// restWait is how long the writers wait for those who still read from the
	// log, at most. A read of ours takes a tenth of it.
	restWait = 2 * time.Millisecond
)

// checkpointer moves the log into the file, on a connection of its own, while
// others commit. It belongs to one goroutine.
type checkpointer struct {
	db   *DB
	conn *conn
	// lost is the error of a sync that failed. The system forgets what it
	// could not write: the log has to stay as it is for the next process,
	// which begins anew.
	lost    error
	failing bool
}

// newCommitHook returns what the engine calls with the length of the log after each
// commit of a connection. While something keeps the log from being emptied, it
// is tried again only after the log grew further.
func (db *DB) newCommitHook() func(*sqlite3.Conn, string, int) error {
	due, last := db.o.logPages, 0
	return func(_ *sqlite3.Conn, _ string, pages int) error {
		if pages < last {
			due = db.o.logPages
		}
		if last = pages; pages < due {
			return nil
		}
		due = pages + (db.o.logPages+3)/4
		select {
		case db.grown <- struct{}{}:
		default:
		}
		return nil
	}
}

// runCheckpointer empties the log whenever it has grown, until the store is closed.
func (db *DB) runCheckpointer() {
	defer close(db.settled)
	k := checkpointer{db: db}
	for {
		select {
		case <-db.grown:
			k.logFirstFailure(k.emptyLog())
		case <-db.closing:
			if k.conn != nil {
				_ = k.conn.close()
			}
			return
		}
	}
}

// logFirstFailure logs the first of several failures: writing goes on.
func (k *checkpointer) logFirstFailure(err error) {
	if err != nil && !k.failing {
		k.db.o.Logger.Warn("the write-ahead log of the state file cannot be emptied, and grows", "path", k.db.path, "error", wrapError(err))
	}
	k.failing = err != nil
}

// emptyLog moves the log into the file so that the next commit begins it anew.
// Nearly all of it is moved and on the disk before the writers have to wait.
func (k *checkpointer) emptyLog() error {
	if k.lost != nil {
		return k.lost
	}
	if err := k.openFiles(); err != nil {
		return err
	}
	rest, err := k.moveLog(sqlite3.CHECKPOINT_PASSIVE)
	if err != nil || rest > restPages {
		return err // or a long read holds an old state
	}
	if err := k.syncFiles(); err != nil {
		return err
	}
	w, err := k.db.acquireWriter(context.Background())
	if errors.Is(err, errClosed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer k.db.releaseWriter(w)
	_, err = k.moveLog(sqlite3.CHECKPOINT_RESTART)
	return err
}

// openFiles opens the connection, and the log for those who bring it to the disk:
// who opens it after a sync failed here is not told.
func (k *checkpointer) openFiles() error {
	if err := k.db.log.open(); err != nil || k.conn != nil {
		return err
	}
	c, err := k.db.openConn(context.Background(), true)
	if err != nil {
		return err
	}
	if err := sqlfile.LimitWait(c.Conn, restWait); err != nil {
		_ = c.close()
		return wrapError(err)
	}
	k.conn = c
	return nil
}

// moveLog moves what the log no longer needs, and returns how many pages
// are left. Another process may be doing the same, which is as good.
func (k *checkpointer) moveLog(mode sqlite3.CheckpointMode) (rest int, err error) {
	length, moved, err := k.conn.WALCheckpoint("main", mode)
	switch {
	case errors.Is(err, sqlite3.BUSY):
		return length - moved, nil
	case errors.Is(err, sqlite3.IOERR_FSYNC):
		k.lost = err
	case err == nil && length < 0:
		err = errors.New("sqlite: the file has no write-ahead log")
	}
	return length - moved, k.conn.wrapError(context.Background(), err)
}

func (k *checkpointer) syncFiles() error {
	for _, which := range [...]sqlite3.FcntlOpcode{sqlite3.FCNTL_FILE_POINTER, sqlite3.FCNTL_JOURNAL_POINTER} {
		handle, err := k.conn.FileControl("main", which)
		if err != nil {
			return err
		}
		f, ok := handle.(vfs.File)
		if !ok {
			return fmt.Errorf("sqlite: a file of the engine is %T", handle)
		}
		if k.lost = f.Sync(vfs.SYNC_NORMAL); k.lost != nil {
			return k.lost
		}
	}
	return nil
}
