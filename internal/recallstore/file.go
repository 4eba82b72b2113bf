package recallstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/sqlfile"
)

// lockWait is how long a connection waits for another process that holds the file.
const lockWait = 5 * time.Second

// sharedFile is one SQLite file with an index of words, or one in memory. One connection
// serves all uses in turn.
type sharedFile struct {
	path     string
	maxBytes int64
	// relaxed is true when a commit need not survive a loss of power.
	relaxed bool
	// failed is what callers may read of a failure of the engine.
	failed error
	// prepare brings the file to the present schema, in a transaction.
	prepare func(c *sqlite3.Conn) error
	// token holds the connection: its receiver owns it, and opens it when it is nil.
	token chan *sqlite3.Conn
}

// newSharedFile returns a file, which nothing opens before it is used. An empty path is
// one in memory.
func newSharedFile(path string, maxBytes int64, failed error, prepare func(c *sqlite3.Conn) error) *sharedFile {
	f := &sharedFile{path: path, maxBytes: maxBytes, failed: failed, prepare: prepare, token: make(chan *sqlite3.Conn, 1)}
	f.token <- nil
	return f
}

// Close waits for the use under way and closes the file. Later uses open it again.
func (f *sharedFile) Close() error {
	c := <-f.token
	defer func() { f.token <- nil }()
	if c == nil {
		return nil
	}
	return c.Close()
}

// discardFile removes the file. Another process that has it open goes on with what it had.
func (f *sharedFile) discardFile() error {
	err := f.Close()
	for _, suffix := range [...]string{"", "-wal", "-shm", "-journal"} {
		if bad := os.Remove(f.path + suffix); f.path != "" && !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}
	return err
}

// runOn runs fn on the connection, which ends with the context.
func (f *sharedFile) runOn(ctx context.Context, fn func(c *sqlite3.Conn) error) (err error) {
	var c *sqlite3.Conn
	select {
	case c = <-f.token:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { f.token <- c }()
	if c == nil {
		if c, err = f.openConn(ctx); err != nil {
			c = nil
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: %w", f.failed, err)
		}
	}
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	err = fn(c)
	if !c.GetAutocommit() {
		c.SetInterrupt(context.Background())
		if c.Exec("ROLLBACK") != nil {
			_ = c.Close()
			c = nil
		}
	}
	if _, ours := errors.AsType[*sallyport.Error](err); err == nil || ours {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", f.failed, err)
}

// runTx is runOn in a transaction that is the only writing one of all processes. After an
// error nothing of it stays.
func (f *sharedFile) runTx(ctx context.Context, fn func(c *sqlite3.Conn) error) error {
	return f.runOn(ctx, func(c *sqlite3.Conn) error { return inWriteTx(c, fn) })
}

func inWriteTx(c *sqlite3.Conn, fn func(c *sqlite3.Conn) error) error {
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := fn(c); err != nil {
		return err
	}
	return c.Exec("COMMIT")
}

// openConn opens the file, and makes it when it is missing.
func (f *sharedFile) openConn(ctx context.Context) (*sqlite3.Conn, error) {
	path := ":memory:"
	if f.path != "" {
		path = f.path
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := makePrivate(path); err != nil {
			return nil, err
		}
	}
	c, err := sqlfile.OpenConn(ctx, path, &sqlfile.Options{Create: true, Busy: lockWait, MaxBytes: f.maxBytes, CacheKiB: 4096, LogBytes: 4 << 20, Relaxed: f.relaxed})
	if err != nil {
		return nil, err
	}
	if err = fts5.Register(c); err == nil {
		err = sqlfile.EnterWAL(ctx, c, lockWait)
	}
	if err == nil {
		err = inWriteTx(c, f.prepare)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// makePrivate makes an empty file, private whatever the umask, as the engine makes its
// companions, or refuses one that is not a file of this user alone.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || filepath.Separator == '/' && info.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("%s is no file of its user alone", path)
	}
	return err
}

// readVersion returns the version of the schema, 0 for an empty file.
func readVersion(c *sqlite3.Conn) (version int64, err error) {
	err = runQuery(c, "PRAGMA user_version", nil, func(st *sqlite3.Stmt) { version = st.ColumnInt64(0) })
	return version, err
}

// runQuery runs a statement and calls row for each row of its answer.
func runQuery(c *sqlite3.Conn, sql string, args []any, row func(st *sqlite3.Stmt)) error {
	st, _, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // Step has said what went wrong.
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			err = st.BindInt64(i+1, v)
		case string:
			err = st.BindText(i+1, v)
		default:
			err = fmt.Errorf("cannot bind %T", arg)
		}
		if err != nil {
			return err
		}
	}
	for st.Step() {
		row(st)
	}
	return st.Err()
}
