package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/internal/sqlfile"
)

// conn is one connection with its prepared statements. It belongs to one
// goroutine at a time.
type conn struct {
	*sqlite3.Conn
	path  string
	busy  time.Duration // how long it waits for another process
	stmts map[string]*sqlite3.Stmt
	// relaxed is true while commits do not wait for the disk.
	relaxed bool
	// broken is true when a transaction could not be ended.
	broken bool
}

// openConn opens a connection. The file exists.
func (db *DB) openConn(ctx context.Context, readOnly bool) (*conn, error) {
	raw, err := sqlfile.OpenConn(ctx, db.path, &sqlfile.Options{
		Busy: db.o.Busy, MaxBytes: db.o.MaxBytes, CacheKiB: cacheKiB, LogBytes: walLimit, KeepLog: true,
	})
	if err != nil {
		return nil, (&conn{path: db.path}).wrapError(ctx, err)
	}
	c := &conn{Conn: raw, path: db.path, busy: db.o.Busy, stmts: make(map[string]*sqlite3.Stmt)}
	if err := c.configure(ctx, readOnly); err != nil {
		_ = c.close()
		return nil, c.wrapError(ctx, err)
	}
	if !readOnly {
		c.WALHook(db.newCommitHook())
	}
	return c, nil
}

func (c *conn) configure(ctx context.Context, readOnly bool) error {
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := c.Exec("PRAGMA wal_autocheckpoint=0"); err != nil || !readOnly {
		return err
	}
	return c.Exec("PRAGMA query_only=ON")
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		_ = s.Close()
	}
	clear(c.stmts)
	return wrapError(c.Conn.Close())
}

// preparedStmt returns a prepared statement, which is reset.
func (c *conn) preparedStmt(sql string) (*sqlite3.Stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, err
	}
	c.stmts[sql] = s
	return s, nil
}

// withLimit writes the bound of a statement into it: the engine prepares one
// whose LIMIT is an argument anew each time that it is bound.
func withLimit(sql string, n int) string { return fmt.Sprintf(sql, n) }

// blob is an argument that is bound as bytes, even when it is empty.
type blob string

// bindArgs sets the arguments of a statement: int64, int, string, blob, []byte
// or nil.
func bindArgs(s *sqlite3.Stmt, args []any) error {
	for i, arg := range args {
		var err error
		switch v := arg.(type) {
		case int64:
			err = s.BindInt64(i+1, v)
		case int:
			err = s.BindInt64(i+1, int64(v))
		case string:
			err = s.BindText(i+1, v)
		case blob:
			err = s.BindBlob(i+1, []byte(v))
		case []byte:
			err = s.BindBlob(i+1, v)
		case nil:
			err = s.BindNull(i + 1)
		default:
			err = fmt.Errorf("sqlite: cannot bind %T", arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exec runs a statement without an answer and returns how many rows it
// changed.
func (c *conn) exec(sql string, args ...any) (changed int64, err error) {
	err = c.query(sql, args, func(*sqlite3.Stmt) (bool, error) { return true, nil })
	return c.Changes(), err
}

// readInt returns the integer in the first row of an answer, 0 without a row.
func (c *conn) readInt(sql string, args ...any) (n int64, err error) {
	err = c.query(sql, args, func(s *sqlite3.Stmt) (bool, error) {
		n = s.ColumnInt64(0)
		return false, nil
	})
	return n, err
}

// query runs a statement and calls row for each row of the answer until it
// says stop or fails.
func (c *conn) query(sql string, args []any, row func(s *sqlite3.Stmt) (more bool, err error)) (err error) {
	s, err := c.preparedStmt(sql)
	if err != nil {
		return err
	}
	defer func() {
		// Step has reported what Reset would repeat. The bindings go, so
		// that a large value does not stay in the engine's memory.
		_ = s.Reset()
		err = errors.Join(err, s.ClearBindings())
	}()
	if err := bindArgs(s, args); err != nil {
		return err
	}
	for s.Step() {
		if more, err := row(s); err != nil || !more {
			return err
		}
	}
	return s.Err()
}

// inWriteTx runs fn in a transaction that is the only writing one of all
// processes from its start.
func (c *conn) inWriteTx(ctx context.Context, durable bool, fn func(c *conn) error) error {
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := c.setDurable(durable); err != nil {
		return c.wrapError(ctx, err)
	}
	return c.inTx(ctx, "BEGIN IMMEDIATE", fn)
}

// runQueries runs fn, whose queries have a snapshot each.
func (c *conn) runQueries(ctx context.Context, fn func(c *conn) error) error {
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	return c.wrapError(ctx, fn(c))
}

func (c *conn) inSnapshot(ctx context.Context, fn func(c *conn) error) error {
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	return c.inTx(ctx, "BEGIN", fn)
}

func (c *conn) inTx(ctx context.Context, begin string, fn func(c *conn) error) (err error) {
	if _, err := c.exec(begin); err != nil {
		return c.wrapError(ctx, err)
	}
	defer func() {
		c.rollBackIfOpen() // After an error, or when fn panicked.
		err = c.wrapError(ctx, err)
	}()
	if err = fn(c); err == nil {
		_, err = c.exec("COMMIT")
	}
	return err
}

// rollBackIfOpen ends the transaction if the engine has not done so itself.
func (c *conn) rollBackIfOpen() {
	if c.GetAutocommit() {
		return
	}
	c.SetInterrupt(context.Background())
	if _, err := c.exec("ROLLBACK"); err != nil {
		c.broken = true
	}
}

// setDurable says whether commits wait for the disk.
func (c *conn) setDurable(durable bool) error {
	if durable != c.relaxed {
		return nil
	}
	mode := "PRAGMA synchronous=NORMAL"
	if durable {
		mode = "PRAGMA synchronous=FULL"
	}
	if _, err := c.exec(mode); err != nil {
		return err
	}
	c.relaxed = !durable
	return nil
}
