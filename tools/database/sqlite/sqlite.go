// Package sqlite runs queries of agents on SQLite files. It is a kind of
// database for package database; start with [Driver].
//
// A connection that only reads opens the file for reading, and an authorizer
// refuses what is no query. The file must exist, must be a regular file and no
// link, and must not be among database.Options.Deny.
package sqlite

import (
	"context"
	"encoding/json"
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
type sqliteEngine struct {
	engine.Settings
}

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

// runStatement runs the caller's statement under an authorizer, which is taken off
// again for our own.
func (e *sqliteEngine) runStatement(c *sqlite3.Conn, allow actionAuthorizer, sql string, args []any, rows *engine.Collector) error {
	if err := c.SetAuthorizer(allow); err != nil {
		return err
	}
	s, tail, err := c.Prepare(sql)
	if err != nil {
		return sqliteError(err)
	}
	defer func() { _ = recoverPanic(s.Close) }()
	if s == nil {
		return &engine.SQLError{Text: "the query holds no statement"}
	}
	for tail != "" {
		next, rest, err := c.Prepare(tail)
		if err != nil || next != nil {
			_ = next.Close()
			return &engine.SQLError{Text: "only one statement is allowed", Cause: err}
		}
		if rest == tail {
			break
		}
		tail = rest
	}
	if err := bindSQLite(s, args); err != nil {
		return err
	}
	if err := readSQLite(s, rows); err != nil {
		return err
	}
	return c.SetAuthorizer(nil)
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

// actionAuthorizer decides about one action of a statement that is being compiled.
type actionAuthorizer = func(action sqlite3.AuthorizerActionCode, name3rd, name4th, schema, inner string) sqlite3.AuthorizerReturnCode

// sqliteReads allows what a query needs and nothing else. What SQLite may
// learn in the future is refused.
func sqliteReads(action sqlite3.AuthorizerActionCode, name3rd, name4th, _, _ string) sqlite3.AuthorizerReturnCode {
	switch action {
	case sqlite3.AUTH_SELECT, sqlite3.AUTH_RECURSIVE:
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_READ:
		// Tables of the engine's own, which show raw pages, memory or paths.
		name := strings.ToLower(name3rd)
		if strings.HasPrefix(name, "pragma_") || strings.HasPrefix(name, "sqlite_dbpage") || strings.HasPrefix(name, "sqlite_stmt") {
			return sqlite3.AUTH_DENY
		}
		return sqlite3.AUTH_OK
	case sqlite3.AUTH_FUNCTION:
		if strings.EqualFold(name4th, "load_extension") || strings.EqualFold(name4th, "fts3_tokenizer") {
			return sqlite3.AUTH_DENY
		}
		return sqlite3.AUTH_OK
	default:
		return sqlite3.AUTH_DENY
	}
}

// sqliteWrites allows changes of tables besides. Other files, settings,
// virtual tables and transactions stay out of reach.
func sqliteWrites(action sqlite3.AuthorizerActionCode, name3rd, name4th, schema, inner string) sqlite3.AuthorizerReturnCode {
	switch action {
	case sqlite3.AUTH_INSERT, sqlite3.AUTH_UPDATE, sqlite3.AUTH_DELETE,
		sqlite3.AUTH_CREATE_TABLE, sqlite3.AUTH_CREATE_INDEX, sqlite3.AUTH_CREATE_VIEW, sqlite3.AUTH_CREATE_TRIGGER,
		sqlite3.AUTH_DROP_TABLE, sqlite3.AUTH_DROP_INDEX, sqlite3.AUTH_DROP_VIEW, sqlite3.AUTH_DROP_TRIGGER,
		sqlite3.AUTH_ALTER_TABLE, sqlite3.AUTH_REINDEX, sqlite3.AUTH_ANALYZE:
		return sqlite3.AUTH_OK
	default:
		return sqliteReads(action, name3rd, name4th, schema, inner)
	}
}

// bindSQLite sets the arguments.
func bindSQLite(s *sqlite3.Stmt, args []any) error {
	if n := s.BindCount(); n != len(args) {
		return engine.NewWrongCount(n, len(args))
	}
	for i, arg := range args {
		var err error
		switch v := arg.(type) {
		case nil:
			err = s.BindNull(i + 1)
		case bool:
			err = s.BindBool(i+1, v)
		case int64:
			err = s.BindInt64(i+1, v)
		case float64:
			err = s.BindFloat(i+1, v)
		case json.Number:
			f, _ := v.Float64() // Checked when it was accepted.
			err = s.BindFloat(i+1, f)
		case string:
			err = s.BindText(i+1, v)
		case []byte:
			err = s.BindBlob(i+1, v)
		}
		if err != nil {
			return sqliteError(err)
		}
	}
	return nil
}

// readSQLite steps through a statement. Rows beyond what is kept are counted
// as left out; a change is made completely all the same, since SQLite makes it
// before it returns the first row.
func readSQLite(s *sqlite3.Stmt, rows *engine.Collector) error {
	names := make([]string, s.ColumnCount())
	for i := range names {
		names[i] = s.ColumnName(i)
	}
	rows.SetColumns(names)
	for s.Step() {
		row := make([]any, len(names))
		for i := range row {
			row[i] = sqliteValue(s, i)
		}
		if more, err := rows.AddRow(row); err != nil || !more {
			return err
		}
	}
	return sqliteError(s.Err())
}

func sqliteValue(s *sqlite3.Stmt, col int) any {
	switch s.ColumnType(col) {
	case sqlite3.INTEGER:
		return engine.IntegerValue(s.ColumnInt64(col))
	case sqlite3.FLOAT:
		return engine.FloatValue(s.ColumnFloat(col))
	case sqlite3.TEXT:
		return engine.TextValue(s.ColumnText(col))
	case sqlite3.BLOB:
		return engine.BinaryValue(s.ColumnRawBlob(col))
	default:
		return nil
	}
}

// sqliteError keeps what SQLite says about the statement. The codes about the
// file itself may come with its path.
func sqliteError(err error) error {
	if err == nil {
		return nil
	}
	code, ok := errors.AsType[sqlite3.ErrorCode](err)
	if !ok {
		return &engine.ConnectError{Cause: err}
	}
	switch code {
	case sqlite3.ERROR, sqlite3.AUTH, sqlite3.CONSTRAINT, sqlite3.MISMATCH, sqlite3.TOOBIG, sqlite3.RANGE,
		sqlite3.READONLY, sqlite3.FULL, sqlite3.BUSY, sqlite3.LOCKED, sqlite3.INTERRUPT, sqlite3.SCHEMA:
		return &engine.SQLError{Text: strings.TrimPrefix(err.Error(), "sqlite3: "), Cause: err}
	default:
		return &engine.ConnectError{Cause: err}
	}
}
