// Package mysql runs queries of agents on MySQL and MariaDB. It is a kind of
// database for package database; start with [Driver].
//
// A connection that only reads needs an account without any right to write, and
// runs what EXPLAIN takes in a read-only session. An account with other rights
// is refused. An address is "mysql://user:password@host:3306/name", with
// "tls=skip-verify" or "tls=false" where the server's certificate is not
// trusted.
package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

// killTime bounds the connection that stops a query on the server.
const killTime = 3 * time.Second

// Driver returns the driver of MySQL and MariaDB, for the field Driver of a
// database.Connection.
func Driver() database.Driver { return mysqlDriver{} }

type mysqlDriver struct{}

func (mysqlDriver) Name() string                         { return "mysql" }
func (mysqlDriver) OnFile() bool                         { return false }
func (mysqlDriver) Open(s engine.Settings) engine.Engine { return &mysqlEngine{s} }

// mysqlEngine runs queries on a MySQL or MariaDB server.
type mysqlEngine struct{ engine.Settings }

type mysqlSession struct {
	*sql.Conn
	db     *sql.DB
	config *mysql.Config
	meter  *readMeter
	id     int64
	maria  bool
}

func (e *mysqlEngine) CheckAccount(ctx context.Context, mode sallyport.AccessMode) error {
	s, err := e.openSession(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return s.beginTransaction(ctx, mode)
}

func (e *mysqlEngine) RunQuery(ctx context.Context, mode sallyport.AccessMode, query string, args []any, rows *engine.Collector) (affected int64, err error) {
	s, err := e.openSession(ctx)
	if err != nil {
		return 0, err
	}
	defer s.close()
	// The driver leaves a query when its context ends; the server is told by
	// a second connection.
	defer s.killOn(ctx)()
	if err := s.beginTransaction(ctx, mode); err != nil {
		return 0, err
	}
	if mode == sallyport.ModeRead {
		if err := s.requireQuery(ctx, query); err != nil {
			return 0, err
		}
		// What is left of the answer ends with the connection.
		return 0, s.runStatement(ctx, query, args, rows, false)
	}
	return s.writeAndCommit(ctx, query, args, rows)
}

// beginTransaction checks the account and opens the transaction.
func (s *mysqlSession) beginTransaction(ctx context.Context, mode sallyport.AccessMode) error {
	if err := s.checkGrants(ctx, mode); err != nil {
		return err
	}
	left := database.DefaultTimeout
	if deadline, ok := ctx.Deadline(); ok {
		left = max(time.Until(deadline), 0)
	}
	left += time.Second
	own := []string{"SET SESSION time_zone = '+00:00'"}
	if s.maria {
		own = append(own, fmt.Sprintf("SET SESSION max_statement_time = %.3f", left.Seconds()))
	} else {
		own = append(own, fmt.Sprintf("SET SESSION max_execution_time = %d", left.Milliseconds()))
	}
	own = append(own, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", int(left.Seconds())+1))
	if mode == sallyport.ModeRead {
		// The session's default matters as well: a statement that commits
		// implicitly is then in the next transaction, which only reads too.
		own = append(own, "SET SESSION TRANSACTION READ ONLY", "START TRANSACTION READ ONLY")
	} else {
		own = append(own, "START TRANSACTION READ WRITE")
	}
	for _, statement := range own {
		if _, err := s.ExecContext(ctx, statement); err != nil {
			return &engine.ConnectError{Cause: err}
		}
	}
	return nil
}

// The numbers of errors that tell whether EXPLAIN takes a statement.
const (
	mysqlSyntax = 1064
	// mysqlViewHidden is a view that may be read and not explained.
	mysqlViewHidden = 1345
)

// requireQuery refuses what is no query, by the grammar of the engine: EXPLAIN
// takes those, and changes that the account has no right to. A read-only
// session is not enough: MariaDB's SET STATEMENT and compound statements leave
// it, and no right is needed to change the account's own password, to decide
// about a prepared XA transaction, or to be shown a password hash.
func (s *mysqlSession) requireQuery(ctx context.Context, query string) error {
	s.meter.reset()
	stmt, err := s.PrepareContext(ctx, "EXPLAIN "+query)
	if err == nil {
		return s.statementError(stmt.Close())
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	switch {
	case ok && e.Number == mysqlViewHidden:
		return nil
	case ok && e.Number == mysqlSyntax:
		return &engine.SQLError{Text: engine.ExplainRefusal(query, s.statementError(err).Error()), Cause: err}
	default:
		return s.statementError(err)
	}
}

// writeAndCommit runs one statement and commits.
func (s *mysqlSession) writeAndCommit(ctx context.Context, query string, args []any, rows *engine.Collector) (affected int64, err error) {
	if err := s.runStatement(ctx, query, args, rows, true); err != nil {
		return 0, err
	}
	if err := s.QueryRowContext(ctx, "SELECT ROW_COUNT()").Scan(&affected); err != nil {
		return 0, &engine.ConnectError{Cause: err}
	}
	if _, err := s.ExecContext(ctx, "COMMIT"); err != nil {
		if _, ok := errors.AsType[*mysql.MySQLError](err); ok {
			return 0, s.statementError(err)
		}
		return 0, errors.Join(engine.ErrUnknownOutcome, err)
	}
	return max(affected, 0), nil
}

// runStatement runs a prepared statement, which is one statement by the protocol, and
// gives its rows to the collector. With all, rows that are not kept are read
// on, so that the statement comes to its end.
func (s *mysqlSession) runStatement(ctx context.Context, query string, args []any, c *engine.Collector, all bool) error {
	s.meter.reset()
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return s.statementError(err)
	}
	defer func() { _ = stmt.Close() }()
	rows, err := stmt.QueryContext(ctx, mysqlArgs(args)...)
	if err != nil {
		if strings.HasPrefix(err.Error(), "sql: expected") {
			return &engine.SQLError{Text: strings.TrimPrefix(err.Error(), "sql: "), Cause: err}
		}
		return s.statementError(err)
	}
	err = s.readRows(rows, c, all)
	if err == nil && c.Table.More && !all {
		// Closing the rows would read the rest of them first.
		s.cutConn()
		_ = rows.Close() // The connection is gone.
		return nil
	}
	return errors.Join(err, s.statementError(rows.Close()))
}

func (s *mysqlSession) readRows(rows *sql.Rows, c *engine.Collector, all bool) error {
	types, err := rows.ColumnTypes()
	if err != nil {
		return s.statementError(err)
	}
	names, values, into := make([]string, len(types)), make([]any, len(types)), make([]any, len(types))
	for i, t := range types {
		names[i], into[i] = t.Name(), &values[i]
	}
	c.SetColumns(names)
	for rows.Next() {
		s.meter.reset()
		if c.Table.More {
			continue
		}
		if err := rows.Scan(into...); err != nil {
			return &engine.ConnectError{Cause: err}
		}
		row := make([]any, len(values))
		for i, v := range values {
			row[i] = mysqlValue(types[i].DatabaseTypeName(), v)
		}
		more, err := c.AddRow(row)
		if err != nil {
			s.cutConn()
			return err
		}
		if !more && !all {
			return nil
		}
	}
	return s.statementError(rows.Err())
}

// cutConn closes the connection under the driver, which then reads no further.
func (s *mysqlSession) cutConn() {
	s.meter.closeConn()
	s.killSession()
}

// close closes the connection. What was not committed is rolled back.
func (s *mysqlSession) close() {
	_ = s.Conn.Close()
	_ = s.db.Close()
}

// killOn stops the session on the server when the context ends. The function
// it returns waits until that is done, or cannot happen any more.
func (s *mysqlSession) killOn(ctx context.Context) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		s.killSession()
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// killSession ends the session from a second connection: every account may end its
// own. The server would go on computing for a client that has left.
func (s *mysqlSession) killSession() {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	connector, err := mysql.NewConnector(s.config)
	if err != nil {
		return
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	// The session may have ended by itself; nothing else is to be done then.
	_, _ = db.ExecContext(ctx, "KILL "+strconv.FormatInt(s.id, 10))
}

// account is how MySQL writes an account into messages.
var account = regexp.MustCompile(`(?:user )?'[^']*'@'[^']*'`)

// statementError returns what the server says about the statement, without the
// account.
func (s *mysqlSession) statementError(err error) error {
	if err == nil {
		return nil
	}
	if s.meter.isExceeded() {
		return engine.ErrRowTooLarge
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok || mysqlAboutServer(e.Number) {
		return &engine.ConnectError{Cause: err}
	}
	said := account.ReplaceAllString(engine.RedactPassword(e.Message, s.config.Passwd), "this account")
	return &engine.SQLError{Text: fmt.Sprintf("%s (error %d)", said, e.Number), Cause: err}
}

// mysqlAboutServer reports errors about the connection: too many of them, a
// host or password refused, shutting down, a session that was ended. Others
// are about the statement.
func mysqlAboutServer(number uint16) bool {
	switch number {
	case 1040, 1042, 1043, 1045, 1053, 1129, 1130, 1152, 1153, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1251, 1927, 3118, 3159, 4151:
		return true
	default:
		return false
	}
}

// mysqlArgs is arguments as the driver takes them.
func mysqlArgs(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		out[i] = arg
		if n, ok := arg.(json.Number); ok {
			out[i] = mysqlNumber(n)
		}
	}
	return out
}

func mysqlNumber(n json.Number) any {
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return u
	}
	// The text keeps every digit for a column of exact numbers.
	return n.String()
}
