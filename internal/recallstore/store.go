// Package recallstore keeps the notes of package recall in one SQLite file, with an index
// of their words, or in memory.
//
// Start with [New]. Nothing is opened before it is used. Several processes may use one
// file. What was acknowledged survives a loss of power.
package recallstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/recall"
)

// Options refine a store. nil means the defaults.
type Options struct {
	// MaxNotes bounds the notes of a shelf, trusted and untrusted ones each; 0 means
	// 10,000. What is full refuses: an agent forgets, the store does not.
	MaxNotes int
	// MaxBytes bounds the file; 0 means 1 GiB.
	MaxBytes int64
	// Now is the clock of expiry; nil means time.Now.
	Now func() time.Time
}

// Store implements recall.Store. One connection serves all calls in turn.
type Store struct {
	path string
	o    Options
	// token holds the connection: its receiver owns it, and opens it when it is nil.
	token chan *sqlite3.Conn
}

// New returns a store in a file, or in memory when the path is empty.
func New(path string, o *Options) *Store {
	s := &Store{path: path, token: make(chan *sqlite3.Conn, 1)}
	if o != nil {
		s.o = *o
	}
	if s.o.MaxNotes == 0 {
		s.o.MaxNotes = 10_000
	}
	if s.o.MaxBytes == 0 {
		s.o.MaxBytes = 1 << 30
	}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	s.token <- nil
	return s
}

// Close waits for the call under way and closes the file. Later calls open it again.
func (s *Store) Close() error {
	c := <-s.token
	defer func() { s.token <- nil }()
	if c == nil {
		return nil
	}
	return c.Close()
}

// errFailed is what callers may read of a failure of the engine.
var errFailed = errors.New("the store of the memory failed")

// run runs fn on the connection, which ends with the context.
func (s *Store) run(ctx context.Context, fn func(c *sqlite3.Conn) error) (err error) {
	var c *sqlite3.Conn
	select {
	case c = <-s.token:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.token <- c }()
	if c == nil {
		if c, err = s.open(ctx); err != nil {
			c = nil
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: %w", errFailed, err)
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
	return fmt.Errorf("%w: %w", errFailed, err)
}

// lockPause is how long a start waits for another one before it tries again, and
// lockTries how often it does: 5 seconds.
const lockPause, lockTries = 10 * time.Millisecond, 500

// open opens the file, and makes it when it is missing. The engine waits for other
// processes only once a connection is set up.
func (s *Store) open(ctx context.Context) (*sqlite3.Conn, error) {
	path := ":memory:"
	if s.path != "" {
		path = s.path
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := makePrivate(path); err != nil {
			return nil, err
		}
	}
	for n := 1; ; n++ {
		c, err := s.openOnce(path)
		if !errors.Is(err, sqlite3.BUSY) || n == lockTries {
			return c, err
		}
		if !waitForLock(ctx, n) {
			return nil, err
		}
	}
}

func (s *Store) openOnce(path string) (*sqlite3.Conn, error) {
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		return nil, err
	}
	if err = fts5.Register(c); err == nil {
		err = s.prepare(c)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// waitForLock waits while another process writes.
func waitForLock(ctx context.Context, count int) (retry bool) {
	select {
	case <-time.After(lockPause/2 + time.Duration(rand.Int64N(int64(lockPause)))):
		return count < lockTries
	case <-ctx.Done():
		return false
	}
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

// prepare sets the connection up and brings the file to the present schema.
func (s *Store) prepare(c *sqlite3.Conn) error {
	if err := c.BusyHandler(waitForLock); err != nil {
		return err
	}
	if err := c.Exec(pragmas + fmt.Sprintf("PRAGMA max_page_count = %d;", max(s.o.MaxBytes/4096, 1))); err != nil {
		return err
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	var have int64
	err := query(c, "PRAGMA user_version", nil, func(st *sqlite3.Stmt) { have = st.ColumnInt64(0) })
	switch {
	case err != nil:
		return err
	case have == 0:
		if err := c.Exec(schema); err != nil {
			return err
		}
	case have == 1:
		if err := c.Exec(fromFirst); err != nil {
			return err
		}
	case have != version:
		return fmt.Errorf("the file has version %d, this program knows %d", have, version)
	}
	return c.Exec("COMMIT")
}

// query runs a statement and calls row for each row of its answer.
func query(c *sqlite3.Conn, sql string, args []any, row func(st *sqlite3.Stmt)) error {
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

// sweepNotes bounds what one write removes of what has expired.
const sweepNotes = 200

// Put implements recall.Store.
func (s *Store) Put(ctx context.Context, shelf string, n recall.Note) error {
	side := sideOf(shelf, n.Untrusted)
	return s.run(ctx, func(c *sqlite3.Conn) error {
		if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		if _, err := removeNotes(c, fmt.Sprintf("expires <= ?1 LIMIT %d", sweepNotes), s.o.Now().UnixNano()); err != nil {
			return err
		}
		if _, err := removeNotes(c, "side = ?1 AND key = ?2", side, n.Key); err != nil {
			return err
		}
		var have int64
		if err := query(c, "SELECT count(*) FROM notes WHERE side = ?1", []any{side}, func(st *sqlite3.Stmt) { have = st.ColumnInt64(0) }); err != nil {
			return err
		}
		if have >= int64(s.o.MaxNotes) {
			return sallyport.InputInvalid(fmt.Sprintf("the memory is full: it has %d notes here; forget some first", have))
		}
		err := query(c, "INSERT INTO notes(side, key, text, call, author, written, expires) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
			[]any{side, n.Key, n.Text, n.Call, authorOf(n.Author), n.Written.UnixNano(), n.Expires.UnixNano()}, func(*sqlite3.Stmt) {})
		if err == nil {
			err = query(c, "INSERT INTO words(rowid, list) VALUES(?1, ?2)", []any{c.LastInsertRowID(), indexed(side, n.Key, n.Text)}, func(*sqlite3.Stmt) {})
		}
		if err != nil {
			return err
		}
		return c.Exec("COMMIT")
	})
}

// removeNotes removes the notes that a condition selects, and their words.
func removeNotes(c *sqlite3.Conn, condition string, args ...any) (gone int, err error) {
	lists := map[int64]string{}
	err = query(c, "SELECT id, side, key, text FROM notes WHERE "+condition, args, func(st *sqlite3.Stmt) {
		lists[st.ColumnInt64(0)] = indexed(st.ColumnText(1), st.ColumnText(2), st.ColumnText(3))
	})
	for id, list := range lists {
		if err == nil {
			err = query(c, "INSERT INTO words(words, rowid, list) VALUES('delete', ?1, ?2)", []any{id, list}, func(*sqlite3.Stmt) {})
		}
		if err == nil {
			err = query(c, "DELETE FROM notes WHERE id = ?1", []any{id}, func(*sqlite3.Stmt) {})
		}
	}
	return len(lists), err
}

// Forget implements recall.Store.
func (s *Store) Forget(ctx context.Context, shelf, key string, trusted bool) (gone int, err error) {
	sides := []string{sideOf(shelf, true)}
	if trusted {
		sides = append(sides, sideOf(shelf, false))
	}
	return s.remove(ctx, func(c *sqlite3.Conn) (gone int, err error) {
		for _, side := range sides {
			n, err := removeNotes(c, "side = ?1 AND key = ?2", side, key)
			if err != nil {
				return gone, err
			}
			gone += n
		}
		return gone, nil
	})
}

// ForgetAuthor implements recall.Store. Where there is no file yet, none is made.
func (s *Store) ForgetAuthor(ctx context.Context, principal string) (gone int, err error) {
	if _, err := os.Stat(s.path); s.path != "" && errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return s.remove(ctx, func(c *sqlite3.Conn) (int, error) {
		return removeNotes(c, "author = ?1", authorOf(principal))
	})
}

// remove removes notes in a transaction.
func (s *Store) remove(ctx context.Context, from func(c *sqlite3.Conn) (int, error)) (gone int, err error) {
	err = s.run(ctx, func(c *sqlite3.Conn) error {
		if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		if gone, err = from(c); err != nil {
			return err
		}
		return c.Exec("COMMIT")
	})
	return gone, err
}
