package database_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
)

// mysqlAttacks must all fail on a connection that reads.
var mysqlAttacks = []struct{ name, query string }{
	{"insert", "INSERT INTO items VALUES (9, 'x', 1)"},
	{"update", "UPDATE items SET name = 'x'"},
	{"delete", "DELETE FROM items"},
	{"replace", "REPLACE INTO items VALUES (1, 'x', 1)"},
	{"truncate", "TRUNCATE TABLE items"},
	{"create table", "CREATE TABLE t (a INT)"},
	{"create table as", "CREATE TABLE t AS SELECT * FROM items"},
	{"temporary table", "CREATE TEMPORARY TABLE t (a INT)"},
	{"create view", "CREATE VIEW v AS SELECT 1"},
	{"create procedure", "CREATE PROCEDURE p() DELETE FROM items"},
	{"drop", "DROP TABLE items"},
	{"alter", "ALTER TABLE items ADD COLUMN x INT"},
	{"rename", "RENAME TABLE items TO other"},
	{"into outfile", "SELECT * INTO OUTFILE '/tmp/%s' FROM items"},
	{"into dumpfile", "SELECT name INTO DUMPFILE '/tmp/%s' FROM items LIMIT 1"},
	{"load data", "LOAD DATA INFILE '/etc/passwd' INTO TABLE items"},
	{"load data local", "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE items"},
	{"lock tables", "LOCK TABLES items WRITE"},
	{"flush", "FLUSH TABLES"},
	{"flush with lock", "FLUSH TABLES WITH READ LOCK"},
	{"set global", "SET GLOBAL max_connections = 1"},
	{"set global log", "SET GLOBAL general_log_file = '/tmp/%s'"},
	{"set password", "SET PASSWORD = PASSWORD('taken-over-1')"},
	{"alter user", "ALTER USER CURRENT_USER() IDENTIFIED BY 'taken-over-2'"},
	{"create user", "CREATE USER evil"},
	{"grant", "GRANT ALL ON *.* TO CURRENT_USER()"},
	{"set role", "SET ROLE admin"},
	{"two statements", "SELECT 1; DELETE FROM items"},
	{"version comment", "/*!50000 DELETE FROM items */"},
	{"commit and delete", "COMMIT; DELETE FROM items"},
	{"compound", "BEGIN NOT ATOMIC COMMIT; SET SESSION TRANSACTION READ WRITE; DELETE FROM items; END"},
	{"compound that creates", "BEGIN NOT ATOMIC SET SESSION TRANSACTION READ WRITE; CREATE TABLE t (a INT); END"},
	{"execute immediate", "EXECUTE IMMEDIATE 'DELETE FROM items'"},
	{"set statement", "SET STATEMENT tx_read_only = 0 FOR DELETE FROM items"},
	{"set password, read write", "SET STATEMENT tx_read_only = 0 FOR SET PASSWORD = PASSWORD('taken-over-3')"},
	{"compound that sets the password", "BEGIN NOT ATOMIC COMMIT; SET SESSION TRANSACTION READ WRITE; SET PASSWORD = PASSWORD('taken-over-4'); END"},
	{"condition that sets the password", "IF 1 THEN SET SESSION TRANSACTION READ WRITE; COMMIT; SET PASSWORD = PASSWORD('taken-over-5'); END IF"},
	{"loop that sets the password", "FOR i IN 1..2 DO SET SESSION TRANSACTION READ WRITE; COMMIT; SET PASSWORD = PASSWORD('taken-over-6'); END FOR"},
	{"compound that decides for others", "BEGIN NOT ATOMIC COMMIT; XA ROLLBACK '%s'; END"},
	{"password hash by show", "SHOW GRANTS"},
	{"password hash by show create", "SHOW CREATE USER"},
	{"call", "CALL wipe()"},
	{"function of the owner", "SELECT wiped()"},
	{"handler", "HANDLER items READ FIRST"},
	{"analyze", "ANALYZE TABLE items"},
	{"optimize", "OPTIMIZE TABLE items"},
	{"kill", "KILL 1"},
	{"shutdown", "SHUTDOWN"},
	{"install plugin", "INSTALL SONAME 'evil'"},
	{"create function of a library", "CREATE FUNCTION sys_exec RETURNS INT SONAME 'evil.so'"},
	{"binary log", "SHOW BINARY LOGS"},
	{"passwords", "SELECT * FROM mysql.global_priv"},
	{"do sleep", "DO SLEEP(600)"},
	{"select sleep", "SELECT SLEEP(600)"},
	{"benchmark", "SELECT BENCHMARK(1000000000000, SHA2('x', 512))"},
	{"without a limit", "SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(600)"},
	{"counts for ever", "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 1000) SELECT COUNT(*) FROM n a, n b, n c, n d"},
	{"large value", "SELECT REPEAT('x', 15000000)"},
}

func TestMySQLAttacksAreRefused(t *testing.T) {
	m := newMaria(t)
	m.exec("USE " + m.name + "; CREATE PROCEDURE wipe() SQL SECURITY DEFINER DELETE FROM items")
	m.exec("CREATE FUNCTION " + m.name + ".wiped() RETURNS INT SQL SECURITY DEFINER BEGIN DELETE FROM items; RETURN 1; END")
	b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, &database.Options{Timeout: time.Second})
	state := func() string {
		return m.word("SELECT CONCAT((SELECT GROUP_CONCAT(id, name, price ORDER BY id) FROM " + m.name + ".items), '|', (SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = '" + m.name + "'), (SELECT COUNT(*) FROM mysql.user WHERE user = 'evil' OR user LIKE '" + m.name + "%'), @@max_connections, (SELECT authentication_string FROM mysql.user WHERE user = '" + m.reader + "'))")
	}
	before := state()
	for _, a := range mysqlAttacks {
		t.Run(a.name, func(t *testing.T) {
			got, err := query(t, b, sallyport.ModeRead, strings.ReplaceAll(a.query, "%s", m.name))
			if !errors.Is(err, sallyport.ErrExecutionFailed) {
				t.Errorf("Query() = %v, %v, want a refusal", got, err)
			} else if strings.Contains(err.Error(), m.reader) || strings.Contains(err.Error(), "localhost") {
				t.Errorf("Query() = %v, which names the account", err)
			}
			t.Log(err)
			if after := state(); after != before {
				t.Errorf("state = %s, want %s", after, before)
			}
		})
	}
	m.idle(t)
}

// idle waits until no session of the accounts is left on the server.
func (m *maria) idle(t *testing.T) {
	t.Helper()
	until(t, "the end of every session", func() bool {
		return m.word("SELECT COUNT(*) FROM information_schema.processlist WHERE user LIKE '"+m.name+"%'") == "0"
	})
}

// TestMySQLReadsQueries runs each kind of query that there is. A view is one
// that the account may read and not explain.
func TestMySQLReadsQueries(t *testing.T) {
	m := newMaria(t)
	m.exec("CREATE VIEW " + m.name + ".cheap AS SELECT id FROM " + m.name + ".items WHERE price < 2")
	b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, nil)
	for _, q := range []string{
		"SELECT id FROM cheap", "VALUES (1)", "WITH n AS (SELECT 1) SELECT * FROM n", "(SELECT 1) UNION (SELECT 1)",
		"-- why\nSELECT 1", "SELECT 1 /* why */;", "SELECT ? AS n",
	} {
		var args []any
		if strings.Contains(q, "?") {
			args = append(args, 1)
		}
		if got, err := query(t, b, sallyport.ModeRead, q, args...); err != nil || len(got.Rows) != 1 || got.Rows[0][0] != int64(1) {
			t.Errorf("Query(%q) = %v, %v, want one row with 1", q, got, err)
		}
	}
}

// TestMySQLFilesStayClosed asks for what the engine answers with NULL.
func TestMySQLFilesStayClosed(t *testing.T) {
	m := newMaria(t)
	b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, nil)
	got, err := query(t, b, "", "SELECT LOAD_FILE('/etc/passwd'), LOAD_FILE('/etc/hostname')")
	if err != nil || len(got.Rows) != 1 || got.Rows[0][0] != nil || got.Rows[0][1] != nil {
		t.Errorf("Query() = %v, %v, want NULL", got, err)
	}
}

func TestMySQLRefusesAccounts(t *testing.T) {
	m := newMaria(t)
	for _, c := range []struct {
		name, rights, want string
		write              bool // refused for writing as well
	}{
		{"writes", "SELECT, INSERT ON db.*", "the right INSERT", false},
		{"writes a column", "SELECT (id), UPDATE (name, price) ON db.items", "the right UPDATE", false},
		{"creates", "CREATE ON db.*", "the right CREATE", false},
		{"locks", "SELECT, LOCK TABLES ON db.*", "the right LOCK TABLES", false},
		{"executes", "EXECUTE ON db.*", "the right EXECUTE", false},
		{"all of a database", "ALL PRIVILEGES ON db.*", "the right ALL PRIVILEGES", false},
		{"file", "FILE ON *.*", "the right FILE", true},
		{"super", "SUPER ON *.*", "the right SUPER", true},
		{"process", "PROCESS ON *.*", "the right PROCESS", true},
		{"everything", "ALL PRIVILEGES ON *.*", "the right ALL PRIVILEGES", true},
		{"passes on", "SELECT ON db.* TO 'user'@'%' WITH GRANT OPTION", "GRANT OPTION", true},
		{"passwords of all databases", "SELECT ON *.*", "passwords", true},
		{"passwords by name", "SELECT ON mysql.*", "passwords", true},
		{"writes passwords", "INSERT ON mysql.*", "the right INSERT", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			user := unique()
			rights := strings.ReplaceAll(c.rights, " db.", " "+m.name+".")
			if strings.Contains(rights, " TO ") {
				m.user(user, "USAGE ON *.*")
				m.exec("GRANT " + strings.ReplaceAll(rights, "'user'", "'"+user+"'"))
			} else {
				m.user(user, rights)
			}
			m.exec("GRANT SELECT ON " + m.name + ".* TO '" + user + "'@'%'") // To get in.
			b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(user))}, nil)
			m.refuses(t, b, sallyport.ModeRead, c.want)
			if c.write {
				m.refuses(t, b, sallyport.ModeWrite, c.want)
			} else if err := b.Check(t.Context(), "db", sallyport.ModeWrite); err != nil {
				t.Errorf("Check(write) = %v", err)
			}
		})
	}
}

func (m *maria) refuses(t *testing.T, b *database.Backend, mode sallyport.AccessMode, want string) {
	t.Helper()
	_, queryErr := query(t, b, mode, "SELECT 1")
	for _, err := range []error{b.Check(t.Context(), "db", mode), queryErr} {
		if !errors.Is(err, sallyport.ErrNotAvailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("mode %s: %v, want a refusal with %q", mode, err, want)
		}
	}
}

func TestMySQLRefusesRoles(t *testing.T) {
	m := newMaria(t)
	role := unique()
	m.exec("CREATE ROLE " + role)
	t.Cleanup(func() { m.exec("DROP ROLE " + role) })
	m.exec("GRANT ALL ON *.* TO " + role + "; GRANT " + role + " TO '" + m.reader + "'@'%'")
	b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, nil)
	m.refuses(t, b, sallyport.ModeRead, "has a role")
}

func TestMySQLRefusesWhatEverybodyMay(t *testing.T) {
	m := newMaria(t)
	m.exec("GRANT INSERT ON " + m.name + ".* TO PUBLIC")
	t.Cleanup(func() { m.exec("REVOKE INSERT ON " + m.name + ".* FROM PUBLIC") })
	b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, nil)
	m.refuses(t, b, sallyport.ModeRead, "the right INSERT")
}
