// Package recallstore keeps the notes of package recall in one SQLite file, with an index
// of their words, and an index of the words of recorded calls in another one, or both in
// memory.
//
// Start with [New] and [NewCallIndex]. Nothing is opened before it is used. Several
// processes may use one file. A note that was acknowledged survives a loss of power; the
// index of the calls may be lost, and is built again.
package recallstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

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

// Store implements recall.Store.
type Store struct {
	*sharedFile
	o Options
}

// New returns a store in a file, or in memory when the path is empty.
func New(path string, o *Options) *Store {
	s := &Store{}
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
	s.sharedFile = newSharedFile(path, s.o.MaxBytes, errFailed, prepareNotes)
	return s
}

// errFailed is what callers may read of a failure of the engine.
var errFailed = errors.New("the store of the memory failed")

// prepareNotes brings the file to the present schema.
func prepareNotes(c *sqlite3.Conn) error {
	have, err := readVersion(c)
	switch {
	case err != nil:
		return err
	case have == 0:
		return c.Exec(schema)
	case have == 1:
		return c.Exec(fromFirst)
	case have != version:
		return fmt.Errorf("the file has version %d, this program knows %d", have, version)
	}
	return nil
}

// sweepNotes bounds what one write removes of what has expired.
const sweepNotes = 200

// Put implements recall.Store.
func (s *Store) Put(ctx context.Context, shelf string, n recall.Note) error {
	side := sideOf(shelf, n.Untrusted)
	return s.runTx(ctx, func(c *sqlite3.Conn) error {
		if _, err := removeNotes(c, fmt.Sprintf("expires <= ?1 LIMIT %d", sweepNotes), s.o.Now().UnixNano()); err != nil {
			return err
		}
		if _, err := removeNotes(c, "side = ?1 AND key = ?2", side, n.Key); err != nil {
			return err
		}
		var have int64
		if err := runQuery(c, "SELECT count(*) FROM notes WHERE side = ?1", []any{side}, func(st *sqlite3.Stmt) { have = st.ColumnInt64(0) }); err != nil {
			return err
		}
		if have >= int64(s.o.MaxNotes) {
			return sallyport.InputInvalid(fmt.Sprintf("the memory is full: it has %d notes here; forget some first", have))
		}
		err := runQuery(c, "INSERT INTO notes(side, key, text, call, author, written, expires) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
			[]any{side, n.Key, n.Text, n.Call, authorOf(n.Author), n.Written.UnixNano(), n.Expires.UnixNano()}, func(*sqlite3.Stmt) {})
		if err == nil {
			err = runQuery(c, "INSERT INTO words(rowid, list) VALUES(?1, ?2)", []any{c.LastInsertRowID(), indexed(side, n.Key, n.Text)}, func(*sqlite3.Stmt) {})
		}
		return err
	})
}

// removeNotes removes the notes that a condition selects, and their words.
func removeNotes(c *sqlite3.Conn, condition string, args ...any) (gone int, err error) {
	lists := map[int64]string{}
	err = runQuery(c, "SELECT id, side, key, text FROM notes WHERE "+condition, args, func(st *sqlite3.Stmt) {
		lists[st.ColumnInt64(0)] = indexed(st.ColumnText(1), st.ColumnText(2), st.ColumnText(3))
	})
	for id, list := range lists {
		if err == nil {
			err = runQuery(c, "INSERT INTO words(words, rowid, list) VALUES('delete', ?1, ?2)", []any{id, list}, func(*sqlite3.Stmt) {})
		}
		if err == nil {
			err = runQuery(c, "DELETE FROM notes WHERE id = ?1", []any{id}, func(*sqlite3.Stmt) {})
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
	err = s.runTx(ctx, func(c *sqlite3.Conn) (err error) {
		gone, err = from(c)
		return err
	})
	return gone, err
}
