package database_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
	"github.com/sallyport/sallyport/tools/database/postgres"
	"github.com/sallyport/sallyport/tools/database/sqlite"
)

// base64 is bytes that are no text.
func base64(s string) any { return map[string]any{"base64": s} }

// cell is an expression and what a caller gets for it.
type cell struct {
	expression string
	want       any
}

func checkCells(t *testing.T, b *database.Backend, cells []cell) {
	t.Helper()
	for _, c := range cells {
		got, err := query(t, b, "", "SELECT "+c.expression)
		if err != nil {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		if diff := cmp.Diff([][]any{{c.want}}, got.Rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.expression, diff)
		}
		if _, err := json.Marshal(got.Rows); err != nil {
			t.Errorf("%s: %v", c.expression, err)
		}
	}
}

func TestPostgresValues(t *testing.T) {
	p := newPostgres(t)
	b := open(t, database.Connection{Driver: postgres.Driver(), URL: fixed(p.readURL)}, nil)
	checkCells(t, b, []cell{
		{"NULL", nil},
		{"true", true},
		{"1::smallint", int64(1)},
		{"9007199254740991::bigint", int64(9007199254740991)},
		{"9007199254740992::bigint", "9007199254740992"},
		{"'-9223372036854775808'::bigint", "-9223372036854775808"},
		{"1.10::numeric", "1.10"},
		{"'NaN'::numeric", "NaN"},
		{"12345678901234567890.123456789::numeric", "12345678901234567890.123456789"},
		{"1.1::real", 1.1},
		{"0.1::float8 + 0.2::float8", 0.30000000000000004},
		{"'NaN'::float8", "NaN"},
		{"'-Infinity'::float8", "-Infinity"},
		{"'apple'::text", "apple"},
		{"'apple'::bytea", "apple"},
		{`'\x00ff'::bytea`, base64("AP8=")},
		{`'\x1b5b'::bytea`, base64("G1s=")},
		{"'2026-01-02 03:04:05.678+02'::timestamptz", "2026-01-02T01:04:05.678Z"},
		{"'2026-01-02 03:04:05'::timestamp", "2026-01-02T03:04:05"},
		{"'infinity'::timestamptz", "infinity"},
		{"'0044-03-15 00:00:00 BC'::timestamp", "0044-03-15 00:00:00 BC"},
		{"'2026-01-02'::date", "2026-01-02"},
		{"'1 day 2 hours'::interval", "1 day 02:00:00"},
		{`'{"a": 1}'::jsonb`, `{"a": 1}`},
		{"ARRAY[1, 2]", "{1,2}"},
		{"'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
	})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	got, err := query(t, b, "", "SELECT $1::int8, $2::numeric, $3::text, $4::bool, $5::bytea, $6::timestamptz, $7::text, $8::float8",
		json.Number("9007199254740993"), json.Number("1.50"), "a\u2028b", true, []byte{0, 255}, at, nil, 1e300)
	want := [][]any{{"9007199254740993", "1.50", "a\u2028b", true, base64("AP8="), "2026-01-02T02:04:05Z", nil, 1e300}}
	if diff := cmp.Diff(want, got.Rows); err != nil || diff != "" {
		t.Errorf("arguments: %v (-want +got):\n%s", err, diff)
	}
}

func TestMySQLValues(t *testing.T) {
	m := newMaria(t)
	m.exec("CREATE TABLE " + m.name + ".v (i BIGINT, u BIGINT UNSIGNED, f FLOAT, d DATETIME(3), ts TIMESTAMP, n DECIMAL(30,9), y YEAR, bits BIT(9), b BLOB, j JSON, t TIME, day DATE)")
	m.exec("SET time_zone = '+02:00'")
	m.exec("INSERT INTO " + m.name + ".v VALUES (-9223372036854775808, 18446744073709551615, 1.1, '2026-01-02 03:04:05.678', '2026-01-02 03:04:05', 12345678901234567890.123456789, 2026, b'101010101', X'00FF', '{\"a\": 1}', '03:04:05', '2026-01-02')")
	b := open(t, database.Connection{Driver: mysql.Driver(), URL: fixed(m.url(m.reader))}, nil)
	checkCells(t, b, []cell{
		{"NULL", nil},
		{"1 = 1", int64(1)},
		{"9007199254740991", int64(9007199254740991)},
		{"9007199254740992", "9007199254740992"},
		{"1.10", "1.10"},
		{"1e0 / 3", 1.0 / 3},
		{"'apple'", "apple"},
		{"_latin1 X'E9'", "é"},
		{"X'00FF'", base64("AP8=")},
		{"CAST('apple' AS BINARY)", "apple"},
		{"i FROM v", "-9223372036854775808"},
		{"u FROM v", "18446744073709551615"},
		{"f FROM v", 1.1},
		{"d FROM v", "2026-01-02T03:04:05.678"},
		{"n FROM v", "12345678901234567890.123456789"},
		{"y FROM v", int64(2026)},
		{"bits FROM v", int64(341)},
		{"b FROM v", base64("AP8=")},
		{"j FROM v", `{"a": 1}`},
		{"t FROM v", "03:04:05"},
		{"day FROM v", "2026-01-02"},
	})
	got, err := query(t, b, "", "SELECT ts FROM v")
	if err != nil || len(got.Rows) != 1 {
		t.Fatal(err)
	}
	s, _ := got.Rows[0][0].(string)
	if at, err := time.Parse(time.RFC3339, s); err != nil || s[len(s)-1] != 'Z' || at.Unix() != stamp(t, m) {
		t.Errorf("timestamp %q is not that of the server: %v", s, err)
	}
	got, err = query(t, b, "", "SELECT ?, ?, ?, ?, ?", json.Number("18446744073709551615"), "a\u2028b", true, nil, json.Number("0.1"))
	want := [][]any{{"18446744073709551615", "a\u2028b", int64(1), nil, "0.1"}}
	if diff := cmp.Diff(want, got.Rows); err != nil || diff != "" {
		t.Errorf("arguments: %v (-want +got):\n%s", err, diff)
	}
}

// stamp is the moment as the server counts it.
func stamp(t *testing.T, m *maria) (seconds int64) {
	t.Helper()
	if err := json.Unmarshal([]byte(m.word("SELECT UNIX_TIMESTAMP(ts) FROM "+m.name+".v")), &seconds); err != nil {
		t.Fatal(err)
	}
	return seconds
}

func TestSQLiteValues(t *testing.T) {
	t.Parallel()
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: newSQLite(t)}, nil)
	checkCells(t, b, []cell{
		{"NULL", nil},
		{"9007199254740991", int64(9007199254740991)},
		{"9007199254740992", "9007199254740992"},
		{"1.5", 1.5},
		{"9e999", "Infinity"},
		{"'apple'", "apple"},
		{"x'00FF'", base64("AP8=")},
		{"x'6170706C65'", "apple"},
		{"CAST(x'61FF' AS TEXT)", base64("Yf8=")},
	})
	got, err := query(t, b, "", "SELECT ?, ?, ?, ?, ?, ?", json.Number("1.5"), int64(7), true, nil, "é", []byte("\x00"))
	want := [][]any{{1.5, int64(7), int64(1), nil, "é", base64("AA==")}}
	if diff := cmp.Diff(want, got.Rows); err != nil || diff != "" {
		t.Errorf("arguments: %v (-want +got):\n%s", err, diff)
	}
}

func TestSQLiteOpensOneRegularFile(t *testing.T) {
	t.Parallel()
	path := newSQLite(t)
	dir := filepath.Dir(path)
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err) // Some systems do not let everybody make links.
	}
	for _, p := range []string{link, filepath.Join(dir, "file:items.db"), path + "?mode=rw"} {
		b := open(t, database.Connection{Driver: sqlite.Driver(), Path: p}, nil)
		if _, err := query(t, b, "", "SELECT 1"); err == nil || err.Error() != "connection db cannot be reached" {
			t.Errorf("%s: Query() = %v, want a refusal", p, err)
		}
	}
}

// TestSQLiteClosesItsFiles counts what is open after queries that the package
// gives up on.
func TestSQLiteClosesItsFiles(t *testing.T) {
	count := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(open)
	}
	// It is memory that runs out here, on a busy machine too.
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: newSQLite(t)}, &database.Options{Timeout: 5 * time.Minute})
	before := count()
	for range 3 {
		_, err := query(t, b, "", "WITH RECURSIVE n (i, b) AS (SELECT 1, randomblob(1000000) UNION SELECT i+1, randomblob(1000000) FROM n LIMIT 100) SELECT count(*) FROM n")
		if err == nil || !strings.Contains(err.Error(), "out of memory") {
			t.Fatalf("Query() = %v, want that memory ran out", err)
		}
		if _, err := query(t, b, "", "SELECT no_such_function()"); err == nil {
			t.Fatal("Query() = nil")
		}
	}
	if now := count(); now > before {
		t.Errorf("%d files are open, want %d", now, before)
	}
}

// TestSQLiteReadsBesideAWriter reads a file in the mode that others write in.
func TestSQLiteReadsBesideAWriter(t *testing.T) {
	t.Parallel()
	path := newSQLite(t)
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	b := open(t, database.Connection{Driver: sqlite.Driver(), Path: path}, nil)
	if err := c.Exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; DELETE FROM items"); err != nil {
		t.Fatal(err)
	}
	got, err := query(t, b, sallyport.ModeRead, "SELECT count(*) FROM items")
	if err != nil || got.Rows[0][0] != int64(3) {
		t.Errorf("Query() = %v, %v, want what was committed", got, err)
	}
	if err := c.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if got, err = query(t, b, sallyport.ModeRead, "SELECT count(*) FROM items"); err != nil || got.Rows[0][0] != int64(0) {
		t.Errorf("Query() = %v, %v, want what was committed", got, err)
	}
}
