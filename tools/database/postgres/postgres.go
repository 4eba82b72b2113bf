// Package postgres runs queries of agents on PostgreSQL. It is a kind of
// database for package database; start with [Driver].
//
// A connection that only reads runs a query by a cursor, whose grammar admits
// nothing but queries, in a read-only transaction that is rolled back. An
// account that could step around this, a superuser for example, is refused. An
// address is "postgres://user:password@host:5432/name", with sslmode and
// sslrootcert as in libpq. The password and the settings of the session come from
// the address alone, never from the environment of the program.
package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

const (
	// declare is put before a query that only reads. The grammar admits
	// nothing behind it but SELECT, VALUES and TABLE.
	declare = "DECLARE sallyport_rows NO SCROLL CURSOR FOR "
	// firstPage is the number of rows fetched first, which tells how many the
	// next page may hold.
	firstPage = 32
	// endTime bounds the end of a transaction after the caller's deadline.
	endTime = 2 * time.Second
)

// Driver returns the driver of PostgreSQL, for the field Driver of a
// database.Connection.
func Driver() database.Driver { return pgDriver{} }

type pgDriver struct{}

func (pgDriver) Name() string                         { return "postgres" }
func (pgDriver) OnFile() bool                         { return false }
func (pgDriver) Open(s engine.Settings) engine.Engine { return &postgresEngine{s} }

// postgresEngine runs queries on a PostgreSQL server.
type postgresEngine struct{ engine.Settings }

func (e *postgresEngine) CheckAccount(ctx context.Context, mode sallyport.AccessMode) error {
	c, err := e.beginSession(ctx, mode)
	if err != nil {
		return err
	}
	c.rollBackAndClose(ctx)
	return nil
}

func (e *postgresEngine) RunQuery(ctx context.Context, mode sallyport.AccessMode, sql string, args []any, rows *engine.Collector) (affected int64, err error) {
	c, err := e.beginSession(ctx, mode)
	if err != nil {
		return 0, err
	}
	defer c.rollBackAndClose(ctx)
	if mode == sallyport.ModeRead {
		return 0, c.readByCursor(ctx, sql, args, rows)
	}
	return c.writeAndCommit(ctx, sql, args, rows)
}

// pgSession is one connection inside one transaction.
type pgSession struct {
	conn *pgconn.PgConn
	// password is taken out of messages.
	password string
}

// beginSession connects, opens a transaction and checks the account.
func (e *postgresEngine) beginSession(ctx context.Context, mode sallyport.AccessMode) (*pgSession, error) {
	c, err := e.openSession(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.beginTransaction(ctx, mode); err != nil {
		c.rollBackAndClose(ctx)
		return nil, err
	}
	return c, nil
}

// beginTransaction opens the transaction. The settings last as long as it does. They
// are a second line: a query may change them with set_config, the deadline of
// the context and the transaction's being read-only it cannot.
func (c *pgSession) beginTransaction(ctx context.Context, mode sallyport.AccessMode) error {
	begin := "BEGIN READ ONLY"
	if mode == sallyport.ModeWrite {
		begin = "BEGIN READ WRITE"
	}
	if err := c.runConstant(ctx, begin); err != nil {
		return err
	}
	left := database.DefaultTimeout
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	// The statement's own limit comes a little later than the cancellation
	// that we send, and holds when that cannot be sent.
	limit := max(left+time.Second, time.Second).Milliseconds()
	if err := c.runConstant(ctx, fmt.Sprintf(pgSettings, limit, limit, limit, limit)); err != nil {
		return err
	}
	refused, err := c.queryText(ctx, pgAccount)
	if err != nil {
		return err
	}
	if refused != "" {
		return &engine.AccountError{Text: "its account " + refused + "; use an account that can only do what the queries need"}
	}
	return nil
}

// pgSettings sets what this version of the server knows. After it the
// transaction has a snapshot, and SET TRANSACTION READ WRITE comes too late.
const pgSettings = `SELECT pg_catalog.set_config(v.name, v.value, true) FROM (VALUES
	('statement_timeout', '%d'), ('lock_timeout', '%d'), ('idle_in_transaction_session_timeout', '%d'),
	('transaction_timeout', '%d'), ('work_mem', '16MB'), ('max_parallel_workers_per_gather', '0'),
	('cursor_tuple_fraction', '1'), ('TimeZone', 'UTC'), ('DateStyle', 'ISO, MDY'), ('IntervalStyle', 'postgres'),
	('bytea_output', 'hex'), ('extra_float_digits', '1'), ('standard_conforming_strings', 'on')
) v(name, value) WHERE v.name IN (SELECT name FROM pg_catalog.pg_settings)`

// pgAccount says in words what an account has too much of. A role that the
// account is a member of counts, since set_config('role', …) takes it on.
const pgAccount = `SELECT COALESCE((SELECT CASE
		WHEN r.rolsuper THEN 'is a superuser or a member of one'
		WHEN r.rolreplication THEN 'may replicate'
		WHEN r.rolcreaterole THEN 'may create roles'
		ELSE 'has the role ' || r.rolname END
	FROM pg_catalog.pg_roles r
	WHERE (pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER') OR pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER'))
	  AND (r.rolsuper OR r.rolreplication OR r.rolcreaterole OR r.rolname IN (
		'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_signal_backend',
		'pg_checkpoint', 'pg_maintain', 'pg_create_subscription', 'pg_use_reserved_connections'))
	ORDER BY r.rolsuper DESC, r.rolname LIMIT 1),
	CASE WHEN pg_catalog.has_table_privilege('pg_catalog.pg_authid', 'SELECT') THEN 'may read the passwords of others' END, '')`

// readByCursor runs a query through a cursor and fetches until there are enough rows.
func (c *pgSession) readByCursor(ctx context.Context, sql string, args []any, rows *engine.Collector) error {
	// Never the simple protocol: it would run what follows a semicolon.
	_, err := c.conn.ExecParams(ctx, declare+sql, pgArgs(args), nil, nil, nil).Close()
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == pgSyntax {
		return &engine.SQLError{Text: engine.ExplainRefusal(sql, c.statementError(err, len([]rune(declare))).Error()), Cause: err}
	}
	if err != nil {
		return c.statementError(err, len([]rune(declare)))
	}
	for page := firstPage; ; page = rows.NextPageSize(firstPage) {
		got, more, err := c.fetchRows(ctx, "FETCH FORWARD "+strconv.Itoa(page)+" FROM sallyport_rows", rows)
		if err != nil || !more || got < page {
			return err
		}
	}
}

// writeAndCommit runs one statement and commits.
func (c *pgSession) writeAndCommit(ctx context.Context, sql string, args []any, rows *engine.Collector) (affected int64, err error) {
	r := c.conn.ExecParams(ctx, sql, pgArgs(args), nil, nil, nil)
	_, _, err = c.readRows(r, rows)
	tag, closeErr := r.Close()
	if err = errors.Join(err, c.statementError(closeErr, 0)); err != nil {
		return 0, err
	}
	if c.conn.TxStatus() != 'T' {
		return 0, &engine.SQLError{Text: "the statement ended the transaction: BEGIN, COMMIT and ROLLBACK are not for the caller"}
	}
	if !tag.Select() {
		affected = tag.RowsAffected()
	}
	tags, err := c.conn.Exec(ctx, "COMMIT").ReadAll()
	if err != nil {
		if _, ok := errors.AsType[*pgconn.PgError](err); ok {
			return 0, c.statementError(err, 0)
		}
		return 0, errors.Join(engine.ErrUnknownOutcome, err)
	}
	if len(tags) != 1 || tags[0].CommandTag.String() != "COMMIT" {
		return 0, &engine.SQLError{Text: "the change was not kept"}
	}
	return affected, nil
}

// fetchRows runs a statement and gives its rows to the collector.
func (c *pgSession) fetchRows(ctx context.Context, sql string, rows *engine.Collector) (got int, more bool, err error) {
	r := c.conn.ExecParams(ctx, sql, nil, nil, nil, nil)
	got, more, err = c.readRows(r, rows)
	_, closeErr := r.Close()
	return got, more, errors.Join(err, c.statementError(closeErr, 0))
}

// readRows gives rows to the collector. What it does not take is read on without
// being kept.
func (c *pgSession) readRows(r *pgconn.ResultReader, rows *engine.Collector) (got int, more bool, err error) {
	more = true
	for r.NextRow() {
		got++
		if !more || err != nil {
			continue
		}
		fields := r.FieldDescriptions()
		row := make([]any, len(fields))
		for i, v := range r.Values() {
			row[i] = pgValue(fields[i].DataTypeOID, v)
		}
		more, err = rows.AddRow(row)
	}
	if rows.Table.Columns == nil {
		names := make([]string, len(r.FieldDescriptions()))
		for i, f := range r.FieldDescriptions() {
			names[i] = f.Name
		}
		rows.SetColumns(names)
	}
	return got, more, err
}

// runConstant runs a constant statement of ours.
func (c *pgSession) runConstant(ctx context.Context, sql string) error {
	if _, err := c.conn.Exec(ctx, sql).ReadAll(); err != nil {
		return &engine.ConnectError{Cause: err}
	}
	return nil
}

// queryText runs a constant query of ours that gives one text.
func (c *pgSession) queryText(ctx context.Context, sql string) (string, error) {
	r := c.conn.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	if r.Err != nil || len(r.Rows) != 1 {
		return "", &engine.ConnectError{Cause: errors.Join(errors.New("the account cannot be judged"), r.Err)}
	}
	return string(r.Rows[0][0]), nil
}

// rollBackAndClose rolls back what was not committed and closes.
func (c *pgSession) rollBackAndClose(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if !c.conn.IsClosed() && c.conn.TxStatus() != 'I' {
		_, _ = c.conn.Exec(ctx, "ROLLBACK").ReadAll()
	}
	_ = c.conn.Close(ctx) // What was not committed is gone either way.
	select {
	case <-c.conn.CleanupDone():
	case <-ctx.Done():
		// The driver would go on reading what is still on its way.
		_ = c.conn.Conn().Close()
	}
}

// statementError returns what the server says about the statement; prefix is
// the length of what we put before it.
func (c *pgSession) statementError(err error, prefix int) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
		return engine.ErrRowTooLarge
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if ok && e.Code == pgProtocol {
		// The drivers' half of the protocol is right; the other cause is ours.
		return &engine.SQLError{Text: "the query has another number of placeholders than params has values", Cause: err}
	}
	if !ok || len(e.Code) != 5 || !strings.Contains(pgClasses, " "+e.Code[:2]+" ") {
		return &engine.ConnectError{Cause: err}
	}
	said := e.Message
	if at := int(e.Position) - prefix; at > 0 {
		said += " at character " + strconv.Itoa(at)
	}
	said += " (SQLSTATE " + e.Code + ")"
	if e.Hint != "" {
		said += "; " + e.Hint
	}
	return &engine.SQLError{Text: engine.RedactPassword(said, c.password), Cause: err}
}

// pgProtocol is the code of a message that does not fit the statement, pgSyntax
// that of one that the grammar does not have.
const (
	pgProtocol = "08P01"
	pgSyntax   = "42601"
)

// pgClasses is the classes of errors that are about the statement and the
// data, by appendix A of the manual. The others are about the connection and
// the server.
const pgClasses = " 03 09 0A 0F 0L 0P 20 21 22 23 24 25 26 27 2B 2D 2F 34 38 39 3B 3F 40 42 44 53 54 55 57 72 HV P0 "

// pgArgs is arguments in the text format; the server infers their types.
func pgArgs(args []any) [][]byte {
	out := make([][]byte, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case bool:
			out[i] = strconv.AppendBool(nil, v)
		case int64:
			out[i] = strconv.AppendInt(nil, v, 10)
		case float64:
			out[i] = strconv.AppendFloat(nil, v, 'g', -1, 64)
		case json.Number:
			out[i] = []byte(v)
		case string:
			out[i] = []byte(v)
		case []byte:
			out[i] = fmt.Appendf(nil, `\x%x`, v)
		}
	}
	return out
}
