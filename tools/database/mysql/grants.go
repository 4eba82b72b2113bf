package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

// mysqlReadRights is what an account of a connection that only reads may
// hold. A read-only transaction is not enough: statements that change tables
// commit implicitly, MariaDB's compound statements may commit themselves, and
// EXECUTE runs what others wrote.
var mysqlReadRights = []string{"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES"}

// mysqlWriteRights is what an account of a connection that writes may hold
// besides: nothing that reaches files, other accounts or the server.
var mysqlWriteRights = []string{
	"INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX", "REFERENCES", "CREATE TEMPORARY TABLES",
	"LOCK TABLES", "CREATE VIEW", "EXECUTE", "CREATE ROUTINE", "ALTER ROUTINE", "TRIGGER", "EVENT", "DELETE HISTORY",
}

// checkGrants refuses an account that holds more than its mode needs. What the
// server reports and is not understood is refused as well.
func (s *mysqlSession) checkGrants(ctx context.Context, mode sallyport.AccessMode) error {
	grants, err := s.queryTexts(ctx, "SHOW GRANTS")
	if err != nil {
		return &engine.ConnectError{Cause: err}
	}
	if s.maria {
		// What everybody holds. Servers before 10.11 do not know it.
		public, err := s.queryTexts(ctx, "SHOW GRANTS FOR PUBLIC")
		if e, ok := errors.AsType[*mysql.MySQLError](err); err != nil && (!ok || mysqlAboutServer(e.Number)) {
			return &engine.ConnectError{Cause: err}
		}
		grants = append(grants, public...)
	}
	for _, grant := range grants {
		if text := checkGrant(grant, mode); text != "" {
			return &engine.AccountError{Text: text}
		}
	}
	return s.checkPasswordGrants(ctx)
}

// checkPasswordGrants asks the engine whether the account may read the password
// hashes, however that is granted.
func (s *mysqlSession) checkPasswordGrants(ctx context.Context) error {
	for _, table := range []string{"mysql.user", "mysql.global_priv"} {
		_, err := s.queryTexts(ctx, "SELECT 1 FROM "+table+" LIMIT 0")
		e, ok := errors.AsType[*mysql.MySQLError](err)
		switch {
		case err == nil:
			return &engine.AccountError{Text: "its account may read the passwords of others: grant SELECT on the databases it needs, not on *.*"}
		case !ok || mysqlAboutServer(e.Number):
			return &engine.ConnectError{Cause: err}
		}
	}
	return nil
}

// queryTexts runs a constant query of ours that gives one column of text.
func (s *mysqlSession) queryTexts(ctx context.Context, query string) (out []string, err error) {
	rows, err := s.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, rows.Err()
}

// checkGrant returns what is wrong with one line of SHOW GRANTS, and nothing
// for a line that is allowed.
func checkGrant(line string, mode sallyport.AccessMode) string {
	if strings.HasPrefix(line, "REVOKE ") || strings.HasPrefix(line, "SET DEFAULT ROLE ") {
		return "" // It takes away, or says what a GRANT line says too.
	}
	rest, ok := strings.CutPrefix(line, "GRANT ")
	if !ok {
		return "its rights are not understood"
	}
	rights, rest := grantRights(rest)
	if rest == "" {
		return "its account has a role: grant it the rights themselves"
	}
	scope, tail := grantScope(rest)
	if strings.Contains(tail, "WITH GRANT OPTION") || strings.Contains(tail, "WITH ADMIN OPTION") {
		return "its account may pass on rights (GRANT OPTION)"
	}
	for _, right := range rights {
		if !allowedRight(right, scope, mode) {
			return fmt.Sprintf("its account has the right %s, which a connection with mode %s must not have", right, mode)
		}
	}
	return ""
}

func allowedRight(right, scope string, mode sallyport.AccessMode) bool {
	if slices.Contains(mysqlReadRights, right) {
		return true
	}
	if mode != sallyport.ModeWrite || strings.HasPrefix(scope, "`mysql`.") {
		return false
	}
	if right == "ALL PRIVILEGES" {
		// Of one database it is the rights listed; of all it is everything.
		return scope != "*.*"
	}
	return slices.Contains(mysqlWriteRights, right)
}

// grantRights splits "SELECT (`a`, `b`), INSERT ON …" into its rights, without
// columns, and what follows "ON ". Without an ON, as for a role, rest is
// empty.
func grantRights(s string) (rights []string, rest string) {
	var right strings.Builder
	quoted, depth := false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '`':
			// A quoted name of its own is a role; within parentheses a column.
			quoted = !quoted
			if depth == 0 {
				right.WriteByte(c)
			}
		case quoted:
			if depth == 0 {
				right.WriteByte(c)
			}
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth > 0:
		case c == ',':
			rights = append(rights, strings.TrimSpace(right.String()))
			right.Reset()
		case strings.HasPrefix(s[i:], " ON "):
			return append(rights, strings.TrimSpace(right.String())), s[i+len(" ON "):]
		default:
			right.WriteByte(c)
		}
	}
	return nil, ""
}

// grantScope splits "`db`.* TO …" at its TO.
func grantScope(s string) (scope, tail string) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '`':
			quoted = !quoted
		case !quoted && strings.HasPrefix(s[i:], " TO "):
			return s[:i], s[i:]
		}
	}
	return s, ""
}
