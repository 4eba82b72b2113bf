package sqlite

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

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
