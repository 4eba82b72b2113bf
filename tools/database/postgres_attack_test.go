package database_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/postgres"
)

// pgAttacks must all fail on a connection that reads, although the account
// may write to the table: %s is the schema.
var pgAttacks = []struct{ name, query string }{
	{"insert", "INSERT INTO items VALUES (9, 'x', 1)"},
	{"update", "UPDATE items SET name = 'x'"},
	{"delete", "DELETE FROM items RETURNING id"},
	{"truncate", "TRUNCATE items"},
	{"with delete", "WITH d AS (DELETE FROM items RETURNING id) SELECT * FROM d"},
	{"select into", "SELECT * INTO copy FROM items"},
	{"create table", "CREATE TABLE t (a int)"},
	{"temporary table", "CREATE TEMP TABLE t (a int)"},
	{"drop", "DROP TABLE items"},
	{"sequence", "SELECT nextval('numbers')"},
	{"set sequence", "SELECT setval('numbers', 99)"},
	{"lock rows", "SELECT * FROM items FOR UPDATE"},
	{"lock table", "LOCK TABLE items IN ACCESS EXCLUSIVE MODE"},
	{"copy to program", "COPY items TO PROGRAM 'touch /tmp/%s'"},
	{"copy to file", "COPY items TO '/tmp/%s'"},
	{"copy from program", "COPY items FROM PROGRAM 'id'"},
	{"copy to client", "COPY items TO STDOUT"},
	{"do", "DO $$ BEGIN DELETE FROM items; END $$"},
	{"notify", "NOTIFY channel"},
	{"listen", "LISTEN channel"},
	{"prepare", "PREPARE p AS DELETE FROM items"},
	{"call", "CALL danger()"},
	{"explain analyze", "EXPLAIN ANALYZE DELETE FROM items"},
	{"read write", "SET TRANSACTION READ WRITE"},
	{"read write by function", "SELECT set_config('transaction_read_only', 'off', true)"},
	{"read write within a query", "SELECT query_to_xml('SET TRANSACTION READ WRITE', true, true, '')"},
	{"delete within a query", "SELECT query_to_xml('DELETE FROM items', true, true, '')"},
	{"commit within a query", "SELECT query_to_xml('COMMIT', true, true, '')"},
	{"function of the owner", "SELECT wipe()"},
	{"superuser by function", "SELECT set_config('role', 'postgres', true)"},
	{"superuser", "SET ROLE postgres"},
	{"commit", "COMMIT"},
	{"two statements", "SELECT 1; DELETE FROM items"},
	{"commit and delete", "SELECT 1; COMMIT; DELETE FROM items"},
	{"close the cursor", "SELECT 1; CLOSE sallyport_rows; DELETE FROM items"},
	{"read a file", "SELECT pg_read_file('/etc/passwd')"},
	{"list a folder", "SELECT pg_ls_dir('/')"},
	{"import a file", "SELECT lo_import('/etc/passwd')"},
	{"export a file", "SELECT lo_export(1, '/tmp/%s')"},
	{"reload", "SELECT pg_reload_conf()"},
	{"passwords", "SELECT * FROM pg_shadow"},
	{"vacuum", "VACUUM items"},
	{"sleeps for ever", "SELECT pg_sleep(600)"},
	{"sleeps without a limit", "SELECT set_config('statement_timeout', '0', true), pg_sleep(600)"},
	{"counts for ever", "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"},
	{"large value", "SELECT repeat('x', 100000000)"},
	{"nothing", "-- nothing"},
}

func TestPostgresAttacksAreRefused(t *testing.T) {
	p := newPostgres(t)
	p.exec(`SET search_path = ` + p.name + `;
		CREATE FUNCTION wipe() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM ` + p.name + `.items; SELECT 1';
		CREATE PROCEDURE danger() LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM ` + p.name + `.items'`)
	b := open(t, database.Connection{Driver: postgres.Driver(), URL: fixed(p.readURL)}, &database.Options{Timeout: time.Second})
	state := func() string {
		return p.word(`SELECT (SELECT string_agg(i::text, ';' ORDER BY id) FROM ` + p.name + `.items i) || '|' ||
			(SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = '` + p.name + `'::regnamespace) || '|' ||
			(SELECT last_value::text || is_called FROM ` + p.name + `.numbers)`)
	}
	before := state()
	for _, a := range pgAttacks {
		t.Run(a.name, func(t *testing.T) {
			got, err := query(t, b, sallyport.ModeRead, strings.ReplaceAll(a.query, "%s", p.name))
			if !errors.Is(err, sallyport.ErrExecutionFailed) {
				t.Errorf("Query() = %v, %v, want a refusal", got, err)
			}
			t.Log(err)
			if after := state(); after != before {
				t.Errorf("state = %s, want %s", after, before)
			}
		})
	}
	p.idle(t)
}

// idle waits until no session of the accounts is left on the server.
func (p *postgresServer) idle(t *testing.T) {
	t.Helper()
	until(t, "the end of every session", func() bool {
		return p.word(`SELECT count(*) FROM pg_stat_activity WHERE usename LIKE '`+p.name+`%'`) == "0"
	})
}

// TestPostgresLeavesNothing runs what the engine allows a reader and what has
// to be gone afterwards.
func TestPostgresLeavesNothing(t *testing.T) {
	p := newPostgres(t)
	b := open(t, database.Connection{Driver: postgres.Driver(), URL: fixed(p.readURL)}, nil)
	objects := p.word("SELECT count(*) FROM pg_largeobject_metadata")
	for _, q := range []string{
		"SELECT lo_create(0)", "SELECT lo_from_bytea(0, 'x')", "SELECT pg_notify('channel', 'x')",
		"SELECT pg_advisory_lock(4711)", "SELECT set_config('search_path', 'pg_catalog', false)",
	} {
		_, _ = query(t, b, sallyport.ModeRead, q) // Allowed by some versions of the server.
	}
	p.idle(t)
	if now := p.word("SELECT count(*) FROM pg_largeobject_metadata"); now != objects {
		t.Errorf("%s large objects, want %s", now, objects)
	}
	if locks := p.word("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711"); locks != "0" {
		t.Errorf("%s advisory locks, want none", locks)
	}
	if _, err := query(t, b, sallyport.ModeRead, "SELECT * FROM items"); err != nil {
		t.Errorf("a setting outlived its query: %v", err)
	}
}

func TestPostgresRefusesAccounts(t *testing.T) {
	p := newPostgres(t)
	for _, c := range []struct{ name, grant, want string }{
		{"superuser", "ALTER ROLE %s SUPERUSER", "is a superuser"},
		{"replication", "ALTER ROLE %s REPLICATION", "may replicate"},
		{"roles", "ALTER ROLE %s CREATEROLE", "may create roles"},
		{"member of a superuser", "GRANT postgres TO %s", "is a superuser"},
		{"member that does not inherit", "ALTER ROLE %s NOINHERIT; GRANT pg_read_server_files TO %s", "has the role pg_read_server_files"},
		{"read files", "GRANT pg_read_server_files TO %s", "has the role pg_read_server_files"},
		{"write files", "GRANT pg_write_server_files TO %s", "has the role pg_write_server_files"},
		{"programs", "GRANT pg_execute_server_program TO %s", "has the role pg_execute_server_program"},
		{"signals", "GRANT pg_signal_backend TO %s", "has the role pg_signal_backend"},
		{"all data", "GRANT pg_read_all_data TO %s", "may read the passwords"},
	} {
		t.Run(c.name, func(t *testing.T) {
			user := unique()
			p.exec("CREATE ROLE " + user + " LOGIN PASSWORD '" + password + "'; " + strings.ReplaceAll(c.grant, "%s", user))
			t.Cleanup(func() { p.exec("DROP ROLE " + user) })
			b := open(t, database.Connection{Driver: postgres.Driver(), URL: fixed(p.url(user))}, nil)
			for _, mode := range []sallyport.AccessMode{sallyport.ModeRead, sallyport.ModeWrite} {
				err := b.Check(t.Context(), "db", mode)
				_, queryErr := query(t, b, mode, "SELECT 1")
				for _, err := range []error{err, queryErr} {
					if !errors.Is(err, sallyport.ErrNotAvailable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), user) {
						t.Errorf("mode %s: %v, want a refusal with %q", mode, err, c.want)
					}
				}
			}
		})
	}
}
