package database_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
	"github.com/sallyport/sallyport/tools/database/postgres"
	"github.com/sallyport/sallyport/tools/database/sqlite"
)

// server is one of the three databases with both kinds of account.
type server struct {
	name        string
	read, write database.Connection
	// many is a query of a million rows of 200 bytes.
	many string
	// word asks for one value past the backend.
	word func(q string) string
	// items is the name of the table for word.
	items string
	// insert changes two rows and returns nothing.
	insert string
}

// servers returns all of them.
func servers(t testing.TB) []server {
	t.Helper()
	p, m, path := newPostgres(t), newMaria(t), newSQLite(t)
	lite := database.Connection{Driver: sqlite.Driver(), Path: path}
	reader := open(t, lite, nil)
	return []server{
		{
			name: "postgres", word: p.word, items: p.name + ".items",
			read:   database.Connection{Driver: postgres.Driver(), URL: fixed(p.readURL)},
			write:  database.Connection{Driver: postgres.Driver(), URL: fixed(p.wrtURL)},
			many:   "SELECT g, repeat('x', 200) FROM generate_series(1, 1000000) g",
			insert: "INSERT INTO items VALUES ($1, $2, 5), ($3, $4, 6)",
		},
		{
			name: "mariadb", word: m.word, items: m.name + ".items",
			read:   database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))},
			write:  database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.writer))},
			many:   "SELECT seq, REPEAT('x', 200) FROM seq_1_to_1000000",
			insert: "INSERT INTO items VALUES (?, ?, 5), (?, ?, 6)",
		},
		{
			name: "sqlite", read: lite, write: lite, items: "items",
			word: func(q string) string {
				got, err := query(t, reader, "", "SELECT CAST(v AS TEXT) FROM (SELECT ("+q+") AS v)")
				if err != nil || len(got.Rows) != 1 {
					t.Fatalf("%s: %v, %v", q, got, err)
				}
				s, _ := got.Rows[0][0].(string)
				return s
			},
			many:   "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 1000000) SELECT i, printf('%.200c', 'x') FROM n",
			insert: "INSERT INTO items VALUES (?, ?, 5), (?, ?, 6)",
		},
	}
}

// allocated is what f allocates, which is at least what it ever held.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAMillionRowsDoNotGrowTheHeap(t *testing.T) {
	for _, s := range servers(t) {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, s.read, nil)
			if _, err := query(t, b, "", "SELECT 1"); err != nil { // What is made once is made now.
				t.Fatal(err)
			}
			var got sallyport.Table
			var err error
			grown := allocated(func() { got, err = query(t, b, "", s.many) })
			if err != nil || len(got.Rows) != 1000 || !got.More {
				t.Fatalf("Query() = %d rows, more %t, %v; want %d and more", len(got.Rows), got.More, err, 1000)
			}
			// A million rows are 200 MB, the kept ones 0.2 MB.
			if limit := uint64(8 << 20); grown > limit {
				t.Errorf("allocated %d bytes, want at most %d", grown, limit)
			}
		})
	}
}

func TestWriteDrainsWithoutKeeping(t *testing.T) {
	for _, s := range servers(t) {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, s.write, nil)
			var got sallyport.Table
			var err error
			grown := allocated(func() { got, err = query(t, b, sallyport.ModeWrite, s.many) })
			if err != nil || len(got.Rows) != 1000 || !got.More {
				t.Fatalf("Query() = %d rows, more %t, %v", len(got.Rows), got.More, err)
			}
			// The driver of MariaDB makes a small slice for each row, and drops it.
			if limit := uint64(100 << 20); grown > limit {
				t.Errorf("allocated %d bytes, want at most %d", grown, limit)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	for _, s := range servers(t) {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, s.read, &database.Options{MaxRows: 2, MaxBytes: 100})
			for _, c := range []struct {
				query string
				rows  int
				more  bool
			}{
				{"SELECT id FROM items WHERE id < 3", 2, false},
				{"SELECT id FROM items", 2, true},
				{"SELECT id FROM items WHERE id > 9", 0, false},
				{"SELECT 1 WHERE 1 = 0", 0, false},
				{"SELECT '" + strings.Repeat("x", 60) + "' FROM items", 1, true},
			} {
				got, err := query(t, b, "", c.query)
				if err != nil || len(got.Rows) != c.rows || got.More != c.more || len(got.Columns) != 1 {
					t.Errorf("%s = %v, %v, want %d rows, more %t", c.query, got, err, c.rows, c.more)
				}
			}
			if _, err := query(t, b, "", "SELECT '"+strings.Repeat("x", 120)+"'"); err == nil || !strings.Contains(err.Error(), "one row is larger") {
				t.Errorf("a row over the limit: %v", err)
			}
		})
	}
}

func TestWrites(t *testing.T) {
	for _, s := range servers(t) {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, s.write, nil)
			got, err := query(t, b, sallyport.ModeWrite, s.insert, int64(4), "fig'; --", int64(5), nil)
			if err != nil || got.Affected != 2 || len(got.Rows) != 0 {
				t.Errorf("insert = %v, %v, want 2 rows changed", got, err)
			}
			if n := s.word("SELECT name FROM " + s.items + " WHERE id = 4"); n != "fig'; --" {
				t.Errorf("name = %q, want the argument as it was", n)
			}
			got, err = query(t, b, sallyport.ModeWrite, "DELETE FROM items WHERE id > 3 RETURNING id")
			if err != nil || len(got.Rows) != 2 {
				t.Errorf("delete returning = %v, %v, want 2 rows", got, err)
			}
			// Half of this is possible; nothing of it may stay.
			if _, err = query(t, b, sallyport.ModeWrite, s.insert, int64(7), "x", int64(1), "y"); !errors.Is(err, sallyport.ErrExecutionFailed) {
				t.Errorf("duplicate key: %v", err)
			}
			if _, err = query(t, b, sallyport.ModeRead, s.insert, int64(8), "x", int64(9), "y"); err == nil {
				t.Error("a query in mode read has written")
			}
			if n := s.word("SELECT COUNT(*) FROM " + s.items); n != "3" {
				t.Errorf("%s rows, want 3", n)
			}
		})
	}
}

func TestAWrongNumberOfArgumentsIsSaid(t *testing.T) {
	for _, s := range servers(t) {
		t.Run(s.name, func(t *testing.T) {
			b := open(t, s.write, nil)
			for _, args := range [][]any{nil, {int64(7)}, {int64(7), "a", int64(8), "b", "c"}} {
				_, err := query(t, b, sallyport.ModeWrite, s.insert, args...)
				if !errors.Is(err, sallyport.ErrExecutionFailed) || strings.Contains(err.Error(), "reached") {
					t.Errorf("%d arguments: %v, want that their number is wrong", len(args), err)
				}
			}
		})
	}
}

func TestAWriterReadsNoFiles(t *testing.T) {
	m := newMaria(t)
	b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.writer))}, nil)
	for _, q := range []string{
		"LOAD DATA LOCAL INFILE '/etc/hostname' REPLACE INTO TABLE items", "LOAD DATA INFILE '/etc/hostname' REPLACE INTO TABLE items",
		"SELECT * INTO OUTFILE '/tmp/" + m.name + "' FROM items", "SET GLOBAL local_infile = 1", "GRANT ALL ON *.* TO CURRENT_USER()",
		"INSERT INTO items VALUES (7, 'x', 1); DELETE FROM items",
	} {
		if got, err := query(t, b, sallyport.ModeWrite, q); !errors.Is(err, sallyport.ErrExecutionFailed) {
			t.Errorf("%s = %v, %v, want a refusal", q, got, err)
		}
	}
	if n := m.word("SELECT COUNT(*) FROM " + m.name + ".items"); n != "3" {
		t.Errorf("%s rows, want 3", n)
	}
}

func TestStatementsOfAWriterEndNothing(t *testing.T) {
	p := newPostgres(t)
	b := open(t, database.Connection{Driver: postgres.Driver(), URL: fixed(p.wrtURL)}, &database.Options{Timeout: time.Second})
	for _, q := range []string{
		"COMMIT", "ROLLBACK", "DELETE FROM items; COMMIT", "COPY items FROM STDIN", "COPY items FROM PROGRAM 'id'",
		"COPY items TO '/tmp/x'", "VACUUM", "INSERT INTO items VALUES (1, 'x', 1)",
	} {
		if got, err := query(t, b, sallyport.ModeWrite, q); !errors.Is(err, sallyport.ErrExecutionFailed) {
			t.Errorf("%s = %v, %v, want a refusal", q, got, err)
		}
	}
	if n := p.word("SELECT COUNT(*) FROM " + p.name + ".items"); n != "3" {
		t.Errorf("%s rows, want 3", n)
	}
	p.idle(t)
}

func TestErrorsTellNothingOfTheConnection(t *testing.T) {
	p, m, path := newPostgres(t), newMaria(t), newSQLite(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	for _, c := range []struct {
		name, want string
		c          database.Connection
	}{
		{"postgres, wrong database", "connection db cannot be reached", database.Connection{Driver: postgres.Driver(), URL: fixed("postgres://hidden:" + password + "@" + p.host + "/hidden")}},
		{"postgres, no server", "connection db cannot be reached", database.Connection{Driver: postgres.Driver(), URL: fixed("postgres://hidden:" + password + "@127.0.0.1:1/hidden")}},
		{"postgres, no url", "connection db cannot be reached", database.Connection{Driver: postgres.Driver(), URL: fixed("hidden " + password)}},
		{"postgres, service file", "connection db cannot be reached", database.Connection{Driver: postgres.Driver(), URL: fixed("postgres://hidden:" + password + "@" + p.host + "/hidden?servicefile=/etc/passwd&service=x")}},
		{"mysql, wrong password", "connection db cannot be reached", database.Connection{Driver: mysql.Driver(), URL: fixed("mysql://" + m.reader + ":hidden" + password + "@" + m.host + "/hidden")}},
		{"mysql, no server", "connection db cannot be reached", database.Connection{Driver: mysql.Driver(), URL: fixed("mysql://hidden:" + password + "@127.0.0.1:1/hidden")}},
		{"mysql, no url", "connection db cannot be reached", database.Connection{Driver: mysql.Driver(), URL: fixed("hidden " + password)}},
		{"mysql, silent", "the query on db failed: the time is up", database.Connection{Driver: mysql.Driver(), URL: fixed("mysql://hidden:" + password + "@" + silent.Addr().String() + "/hidden")}},
		{"postgres, silent", "the query on db failed: the time is up", database.Connection{Driver: postgres.Driver(), URL: fixed("postgres://hidden:" + password + "@" + silent.Addr().String() + "/hidden")}},
		{"sqlite, no file", "connection db cannot be reached", database.Connection{Driver: sqlite.Driver(), Path: filepath.Join(filepath.Dir(path), "hidden.db")}},
		{"sqlite, a folder", "connection db cannot be reached", database.Connection{Driver: sqlite.Driver(), Path: filepath.Dir(path)}},
		{"sqlite, a device", "connection db cannot be reached", database.Connection{Driver: sqlite.Driver(), Path: "/dev/zero"}},
		{"secret that fails", "connection db cannot be reached", database.Connection{Driver: mysql.Driver(), URL: func(context.Context) (sallyport.Secret, error) {
			return sallyport.Secret{}, errors.New("hidden")
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			b := open(t, c.c, &database.Options{Timeout: time.Second, Logger: logTo(&log)})
			_, err := query(t, b, "", "SELECT 1")
			if err == nil || err.Error() != c.want {
				t.Errorf("Query() = %v, want %q", err, c.want)
			}
			if !strings.Contains(log.String(), "database query failed") || strings.Contains(log.String(), password) {
				t.Errorf("log = %q, want the cause without the password", log.String())
			}
		})
	}
}

func TestCancelAndClose(t *testing.T) {
	p := newPostgres(t)
	m := newMaria(t)
	for name, c := range map[string]struct {
		c       database.Connection
		sleep   string
		running func() bool
		idle    func(*testing.T)
	}{
		"postgres": {
			database.Connection{Driver: postgres.Driver(), URL: fixed(p.readURL)},
			"SELECT pg_sleep(600)",
			func() bool {
				return p.word("SELECT COUNT(*) FROM pg_stat_activity WHERE usename = '"+p.reader+"' AND query LIKE 'FETCH%'") == "1"
			}, p.idle,
		},
		"mariadb": {
			database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))},
			"SELECT SLEEP(600)",
			func() bool {
				return m.word("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '"+m.reader+"' AND info LIKE 'SELECT SLEEP%'") == "1"
			}, m.idle,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, c.c, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for _, stop := range []func(){cancel, func() { _ = b.Close() }} {
				done := make(chan error, 1)
				go func() {
					_, err := b.Query(ctx, "db", "", c.sleep, nil)
					done <- err
				}()
				until(t, "the query", c.running)
				stop()
				if err := <-done; err == nil || !strings.HasSuffix(err.Error(), "the call was cancelled") {
					t.Errorf("Query() = %v, want that it was cancelled", err)
				}
				c.idle(t)
				ctx = t.Context()
			}
			if _, err := query(t, b, "", "SELECT 1"); !errors.Is(err, sallyport.ErrNotAvailable) {
				t.Errorf("Query() after Close() = %v", err)
			}
		})
	}
}

func TestOpenReportsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := database.Open(map[string]database.Connection{
		"a": {},
		"b": {Driver: sqlite.Driver(), Path: "relative.db"},
		"c": {Driver: postgres.Driver()},
		"d": {Driver: mysql.Driver(), SecretRef: "db/d"},
		"e": {Driver: postgres.Driver(), URL: fixed("x"), SecretRef: "db/e"},
		"f": {Driver: sqlite.Driver(), Path: "/x.db", SecretRef: "db/f"},
		"g": {Driver: postgres.Driver(), URL: fixed("x"), Path: "/x"},
	}, &database.Options{MaxRows: -1})
	want := `databases: MaxRows, MaxBytes and Timeout must not be negative
database a: no driver: expected that of package postgres, mysql or sqlite
database b: path "relative.db": expected an absolute path
database c: expected either a url or a reference to a secret
database d: secret db/d: no secrets are configured
database e: expected either a url or a reference to a secret
database f: an sqlite connection has a path and no url
database g: a postgres connection has a url and no path`
	if err == nil {
		t.Fatal("Open() = nil, want faults")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("Open() (-want +got):\n%s", diff)
	}
}

func TestInputIsChecked(t *testing.T) {
	t.Parallel()
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: newSQLite(t)}, nil)
	for _, c := range []struct {
		name, query string
		mode        sallyport.AccessMode
		args        []any
	}{
		{"empty", " \n", "", nil},
		{"NUL", "SELECT 1\x00; DELETE FROM items", "", nil},
		{"no UTF-8", "SELECT '\xff'", "", nil},
		{"long", "SELECT '" + strings.Repeat("x", 1<<20) + "'", "", nil},
		{"list", "SELECT ?", "", []any{[]any{1}}},
		{"object", "SELECT ?", "", []any{map[string]any{}}},
		{"many", "SELECT 1", "", make([]any, 1001)},
		{"mode", "SELECT 1", "admin", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := query(t, b, c.mode, c.query, c.args...); !errors.Is(err, sallyport.ErrInputInvalid) {
				t.Errorf("Query() = %v, want input_invalid", err)
			}
		})
	}
	if _, err := b.Query(t.Context(), "other", "", "SELECT 1", nil); !errors.Is(err, sallyport.ErrNotAvailable) {
		t.Errorf("Query(other) = %v, want not_available", err)
	}
	if _, err := query(t, b, "", "SELECT ?, ?", "x"); err == nil || !strings.Contains(err.Error(), "2 placeholders and params has 1") {
		t.Errorf("too few arguments: %v", err)
	}
}
