// Package sqlite runs queries of agents on SQLite files. It is a kind of
// database for package database; start with [Driver].
//
// A connection that only reads opens the file for reading, and an authorizer
// refuses what is no query. The file must exist, must be a regular file and no
// link, and must not be among database.Options.Deny.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

const (
	// sqliteHeap bounds the memory of a connection, temporary tables and
	// sorting included, which stay in memory: a query that needs more is to
	// aggregate less at once.
	sqliteHeap = 64 << 20
	// sqliteOps bounds the length of a compiled statement.
	sqliteOps = 100_000
	// sqlitePattern bounds patterns of LIKE and GLOB: matching one is a single
	// step that no deadline interrupts.
	sqlitePattern = 200
	// sqliteBusy is the pause between looks at a lock.
	sqliteBusy = 5 * time.Millisecond
)

// Driver returns the driver of SQLite files, for the field Driver of a
// database.Connection.
func Driver() database.Driver { return sqliteDriver{} }

type sqliteDriver struct{}

func (sqliteDriver) Name() string                         { return "sqlite" }
func (sqliteDriver) OnFile() bool                         { return true }
func (sqliteDriver) Open(s engine.Settings) engine.Engine { return &sqliteEngine{s} }

// sqliteEngine runs queries on a file.
type sqliteEngine struct{ engine.Settings }

func (e *sqliteEngine) CheckAccount(ctx context.Context, mode sallyport.AccessMode) error {
	return e.withConn(ctx, mode, func(c *sqlite3.Conn) error {
		s, _, err := c.Prepare("SELECT count(*) FROM sqlite_schema")
		return errors.Join(sqliteError(err), s.Close())
	})
}

func (e *sqliteEngine) RunQuery(ctx context.Context, mode sallyport.AccessMode, sql string, args []any, rows *engine.Collector) (affected int64, err error) {
	err = e.withConn(ctx, mode, func(c *sqlite3.Conn) error {
		if mode == sallyport.ModeRead {
			return e.runStatement(c, sqliteReads, sql, args, rows)
		}
		if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
			return sqliteError(err)
		}
		// What is not committed is rolled back when the connection closes.
		if err := e.runStatement(c, sqliteWrites, sql, args, rows); err != nil {
			return err
		}
		affected = c.Changes()
		return sqliteError(c.Exec("COMMIT"))
	})
	return affected, err
}

// withConn calls f with a connection and closes it.
func (e *sqliteEngine) withConn(ctx context.Context, mode sallyport.AccessMode, f func(*sqlite3.Conn) error) error {
	return recoverPanic(func() error {
		c, err := e.openConn(ctx, mode)
		if err != nil {
			return err
		}
		defer closeSQLite(c)
		return f(c)
	})
}

// closeSQLite closes a connection. Closing may report once more that memory
// ran out, and has done its work the second time.
func closeSQLite(c *sqlite3.Conn) {
	for range 2 {
		if recoverPanic(c.Close) == nil {
			return
		}
	}
}

// recoverPanic calls f. The package panics when a connection has used its memory
// up; that memory is the connection's own, so that nothing else is harmed.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &engine.ConnectError{Cause: fmt.Errorf("sqlite: %v", r)}
			if strings.Contains(fmt.Sprint(r), "out of memory") {
				err = &engine.SQLError{Text: fmt.Sprintf("out of memory: the query needs more than %d MiB", sqliteHeap>>20), Cause: err}
			}
		}
	}()
	return f()
}

// openConn opens the file. It exists and is a regular file, and no link.
func (e *sqliteEngine) openConn(ctx context.Context, mode sallyport.AccessMode) (_ *sqlite3.Conn, err error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(e.Path))
	if err != nil {
		return nil, &engine.ConnectError{Cause: err}
	}
	path := filepath.Join(dir, filepath.Base(e.Path))
	seen, err := os.Lstat(path)
	if err == nil && !seen.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err == nil && e.isDenied(path, seen) {
		err = errors.New("the file is the runtime's own")
	}
	if err != nil {
		return nil, &engine.ConnectError{Cause: err}
	}
	flags := sqlite3.OPEN_READONLY | sqlite3.OPEN_NOFOLLOW
	if mode == sallyport.ModeWrite {
		flags = sqlite3.OPEN_READWRITE | sqlite3.OPEN_NOFOLLOW
	}
	// A plain path and no URI: no part of it is taken for an option.
	c, err := sqlite3.OpenFlags(path, flags)
	if err != nil {
		return nil, &engine.ConnectError{Cause: err}
	}
	c.SetInterrupt(ctx)
	if err := errors.Join(sameFile(c, seen), e.confineConn(c)); err != nil {
		closeSQLite(c)
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, &engine.ConnectError{Cause: err}
	}
	return c, nil
}

// DescribeTarget follows links, so that an exchanged one is another target.
func (e *sqliteEngine) DescribeTarget(context.Context) (string, error) {
	path, err := filepath.EvalSymlinks(e.Path)
	if err != nil {
		return "", errors.Join(errors.New("the file is not there"), err)
	}
	return "sqlite " + path, nil
}

// isDenied reports whether a file, whose path is free of links but for the last
// part, is one that is never opened or stands in such a folder. Files are
// compared and not names: a link leads to the same one.
func (e *sqliteEngine) isDenied(path string, seen fs.FileInfo) bool {
	for _, name := range e.Deny {
		own, err := os.Stat(name)
		if err != nil {
			continue // What is not there is not the file that is.
		}
		if os.SameFile(own, seen) {
			return true
		}
		for dir := filepath.Dir(path); own.IsDir(); dir = filepath.Dir(dir) {
			if at, err := os.Stat(dir); err != nil || os.SameFile(own, at) {
				return true
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return false
}

// sameFile reports an error when the file that was opened is not the one that
// was checked: it was replaced in between.
func sameFile(c *sqlite3.Conn, seen fs.FileInfo) error {
	p, err := c.FileControl("main", sqlite3.FCNTL_FILE_POINTER)
	if err != nil {
		return err
	}
	for wrapped, ok := p.(vfs.FileUnwrap); ok; wrapped, ok = p.(vfs.FileUnwrap) {
		p = wrapped.Unwrap()
	}
	f, ok := p.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return errors.New("the opened file cannot be looked at")
	}
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	if !opened.Mode().IsRegular() || !os.SameFile(opened, seen) {
		return errors.New("the file was replaced while it was opened")
	}
	return nil
}

// confineConn sets limits and removes what reaches beyond the file.
func (e *sqliteEngine) confineConn(c *sqlite3.Conn) error {
	length := int(max(2*e.MaxBytes, 2<<20))
	for id, value := range map[sqlite3.LimitCategory]int{
		sqlite3.LIMIT_ATTACHED:            0,
		sqlite3.LIMIT_LENGTH:              length,
		sqlite3.LIMIT_SQL_LENGTH:          engine.MaxQueryBytes,
		sqlite3.LIMIT_VARIABLE_NUMBER:     engine.MaxArgs,
		sqlite3.LIMIT_VDBE_OP:             sqliteOps,
		sqlite3.LIMIT_LIKE_PATTERN_LENGTH: sqlitePattern,
		sqlite3.LIMIT_EXPR_DEPTH:          200,
		sqlite3.LIMIT_WORKER_THREADS:      0,
	} {
		c.Limit(id, value)
	}
	for op, on := range map[sqlite3.DBConfig]bool{
		sqlite3.DBCONFIG_DEFENSIVE:             true,
		sqlite3.DBCONFIG_TRUSTED_SCHEMA:        false,
		sqlite3.DBCONFIG_ENABLE_LOAD_EXTENSION: false,
		sqlite3.DBCONFIG_WRITABLE_SCHEMA:       false,
		// A word in double quotes is a name and never falls back to text.
		sqlite3.DBCONFIG_DQS_DML: false,
	} {
		if _, err := c.Config(op, on); err != nil {
			return err
		}
	}
	if err := errors.Join(sqliteFunctions(c, length), c.BusyHandler(waitForLock)); err != nil {
		return err
	}
	// Temporary tables stay in memory, where the heap limit holds them; the
	// limit is that of this connection, whose memory is its own.
	return c.Exec("PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8192; PRAGMA hard_heap_limit=" + strconv.Itoa(sqliteHeap))
}

// waitForLock waits for another process's lock until the time is up.
func waitForLock(ctx context.Context, _ int) (retry bool) {
	t := time.NewTimer(sqliteBusy)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
