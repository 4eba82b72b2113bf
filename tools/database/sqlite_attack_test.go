package database_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/sqlite"
)

// content is every file below a folder with its digest.
func content(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(raw))
	}
	return out
}

// sqliteAttacks must all fail on a connection that reads.
var sqliteAttacks = []struct{ name, query string }{
	{"insert", "INSERT INTO items VALUES (9, 'x', 1)"},
	{"update", "UPDATE items SET name = 'x'"},
	{"delete", "DELETE FROM items"},
	{"replace", "REPLACE INTO items VALUES (1, 'x', 1)"},
	{"with insert", "WITH v AS (SELECT 9) INSERT INTO items SELECT *, 'x', 1 FROM v RETURNING id"},
	{"create table", "CREATE TABLE t (a)"},
	{"create table as", "CREATE TABLE t AS SELECT * FROM items"},
	{"create view", "CREATE VIEW v AS SELECT 1"},
	{"create trigger", "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END"},
	{"create virtual table", "CREATE VIRTUAL TABLE v USING dbstat"},
	{"temporary table", "CREATE TEMP TABLE t (a)"},
	{"drop", "DROP TABLE items"},
	{"alter", "ALTER TABLE items ADD COLUMN x"},
	{"reindex", "REINDEX"},
	{"analyze", "ANALYZE"},
	{"schema table", "UPDATE sqlite_schema SET sql = ''"},
	{"pragma that writes", "PRAGMA user_version = 7"},
	{"pragma that allows writing", "PRAGMA query_only = 0"},
	{"pragma writable schema", "PRAGMA writable_schema = 1"},
	{"pragma that tells the path", "PRAGMA database_list"},
	{"pragma that lifts the heap limit", "PRAGMA hard_heap_limit = 0"},
	{"pragma temporary folder", "PRAGMA temp_store_directory = '/tmp'"},
	{"pragma journal mode", "PRAGMA journal_mode = WAL"},
	{"pragma as a table", "SELECT * FROM pragma_database_list"},
	{"pragma as a function", "SELECT file FROM pragma_database_list()"},
	{"pragma as a table, quoted", `SELECT * FROM "PRAGMA_database_list"`},
	{"attach a file", "ATTACH '/etc/passwd' AS p"},
	{"attach memory", "ATTACH ':memory:' AS m"},
	{"detach", "DETACH main"},
	{"vacuum", "VACUUM"},
	{"vacuum into", "VACUUM INTO '%s/copy.db'"},
	{"load extension", "SELECT load_extension('/tmp/evil.so')"},
	{"read a file", "SELECT readfile('/etc/passwd')"},
	{"write a file", "SELECT writefile('%s/out', 'x')"},
	{"tokenizer", "SELECT fts3_tokenizer('simple')"},
	{"raw pages", "SELECT data FROM sqlite_dbpage"},
	{"begin", "BEGIN"},
	{"savepoint", "SAVEPOINT s"},
	{"two statements", "SELECT 1; DELETE FROM items"},
	{"two statements behind a comment", "SELECT 1; /* ; */ -- x\n DELETE FROM items"},
	{"large text", "SELECT printf('%%.*c', 1000000000, 'x')"},
	{"large bytes", "SELECT length(zeroblob(1000000000))"},
	{"memory", "WITH RECURSIVE n(i, b) AS (SELECT 1, randomblob(1000000) UNION SELECT i+1, randomblob(1000000) FROM n LIMIT 500) SELECT count(*) FROM (SELECT b FROM n ORDER BY b)"},
	{"expensive pattern", "SELECT hex(zeroblob(900000)) LIKE '" + strings.Repeat("%%0", 500) + "1'"},
	{"deep expression", "SELECT " + strings.Repeat("(", 900) + "1" + strings.Repeat(")", 900) + strings.Repeat("+1", 900)},
	{"no statement", "-- nothing"},
	{"runs for ever", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"},
	{"joins for ever", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 1000000) SELECT count(*) FROM n a, n b, n c"},
}

func TestSQLiteAttacksAreRefused(t *testing.T) {
	t.Parallel()
	path := newSQLite(t)
	dir := filepath.Dir(path)
	before := content(t, dir)
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: path}, &database.Options{Timeout: time.Second})
	for _, a := range sqliteAttacks {
		t.Run(a.name, func(t *testing.T) {
			q := strings.ReplaceAll(a.query, "%s", dir)
			q = strings.ReplaceAll(q, "%%", "%")
			got, err := query(t, b, sallyport.ModeRead, q)
			if !errors.Is(err, sallyport.ErrExecutionFailed) {
				t.Errorf("Query() = %v, %v, want a refusal", got, err)
			} else if strings.Contains(err.Error(), dir) && !strings.Contains(q, dir) {
				t.Errorf("Query() = %v, which tells where the file is", err)
			}
			t.Log(err)
			if diff := cmp.Diff(before, content(t, dir)); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
		})
	}
}

func TestSQLiteWriteStaysInTheFile(t *testing.T) {
	t.Parallel()
	path := newSQLite(t)
	dir := filepath.Dir(path)
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: path}, nil)
	for _, a := range []struct{ name, query string }{
		{"attach", "ATTACH '%s/new.db' AS n"},
		{"pragma", "PRAGMA journal_mode = WAL"},
		{"pragma writable schema", "PRAGMA writable_schema = 1"},
		{"pragma as a table", "SELECT * FROM pragma_database_list"},
		{"schema table", "DELETE FROM sqlite_schema"},
		{"vacuum into", "VACUUM INTO '%s/copy.db'"},
		{"virtual table", "CREATE VIRTUAL TABLE v USING dbstat"},
		{"commit", "COMMIT"},
		{"rollback", "ROLLBACK"},
		{"savepoint", "SAVEPOINT s"},
		{"two statements", "DELETE FROM items WHERE id = 1; DELETE FROM items"},
		{"fails in the middle", "INSERT INTO items SELECT id + 2, name, price FROM items ORDER BY id DESC"},
	} {
		t.Run(a.name, func(t *testing.T) {
			before := content(t, dir)
			got, err := query(t, b, sallyport.ModeWrite, strings.ReplaceAll(a.query, "%s", dir))
			if !errors.Is(err, sallyport.ErrExecutionFailed) {
				t.Errorf("Query() = %v, %v, want a refusal", got, err)
			}
			if diff := cmp.Diff(before, content(t, dir)); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
		})
	}
}

// TestSQLiteLeavesTheRuntimeAlone opens what is denied by other names for it.
func TestSQLiteLeavesTheRuntimeAlone(t *testing.T) {
	t.Parallel()
	path := newSQLite(t)
	dir := t.TempDir()
	if err := errors.Join(os.Symlink(filepath.Dir(path), filepath.Join(dir, "link")), os.Link(path, filepath.Join(dir, "hard.db"))); err != nil {
		t.Fatal(err)
	}
	for _, deny := range []string{path, filepath.Dir(path)} {
		for name, refused := range map[string]bool{path: true, filepath.Join(dir, "link", "items.db"): true, filepath.Join(dir, "hard.db"): deny == path} {
			b := open(t, database.Connection{Driver: sqlite.Driver(), Path: name}, &database.Options{Deny: []string{"/nonexistent", deny}})
			for _, mode := range []sallyport.AccessMode{sallyport.ModeRead, sallyport.ModeWrite} {
				_, err := query(t, b, mode, "SELECT 1")
				if refused != (err != nil) {
					t.Errorf("Query(%s) in mode %s without %s = %v, want refused %t", name, mode, deny, err, refused)
				}
			}
		}
	}
}
