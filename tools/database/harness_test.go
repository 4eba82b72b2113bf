package database_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database"
)

// password is that of the accounts of the tests.
const password = "correct-horse-battery"

// seed makes the same table everywhere.
const seed = `INSERT INTO items (id, name, price) VALUES (1, 'apple', 1.10), (2, 'pear', 2.20), (3, 'plum', 3.30)`

// missing skips a test, which in a continuous build is a failure: there the
// servers must be.
func missing(t testing.TB, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s: %v", what, err)
	}
	t.Skipf("%s: %v", what, err)
}

func env(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}

// unique is a name for accounts and schemas of one test.
func unique() string { return "sp_" + strings.ToLower(rand.Text()[:10]) }

// fixed gives a connection its address.
func fixed(address string) func(context.Context) (sallyport.Secret, error) {
	return func(context.Context) (sallyport.Secret, error) { return sallyport.NewSecret(address), nil }
}

func open(t testing.TB, c database.Connection, o *database.Options) *database.Backend {
	t.Helper()
	b, err := database.Open(map[string]database.Connection{"db": c}, o)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func query(t testing.TB, b *database.Backend, mode sallyport.AccessMode, q string, args ...any) (sallyport.Table, error) {
	t.Helper()
	return b.Query(t.Context(), "db", mode, q, args)
}

// postgresServer is a schema with a table and accounts of its own.
type postgresServer struct {
	t               testing.TB
	admin           *pgconn.PgConn
	name, host      string
	reader, writer  string
	readURL, wrtURL string
}

func newPostgres(t testing.TB) *postgresServer {
	t.Helper()
	host := env("SALLYPORT_TEST_POSTGRES", "127.0.0.1:5432")
	admin, err := pgconn.Connect(t.Context(), "postgres://postgres@"+host+"/postgres?sslmode=disable")
	if err != nil {
		missing(t, "PostgreSQL at "+host, err)
	}
	p := &postgresServer{t: t, admin: admin, name: unique(), host: host}
	p.reader, p.writer = p.name+"_ro", p.name+"_rw"
	t.Cleanup(p.drop)
	p.exec(`CREATE ROLE ` + p.reader + ` LOGIN PASSWORD '` + password + `';
		CREATE ROLE ` + p.writer + ` LOGIN PASSWORD '` + password + `';
		CREATE SCHEMA ` + p.name + `; SET search_path = ` + p.name + `;
		CREATE TABLE items (id int PRIMARY KEY, name text, price numeric(10,2)); CREATE SEQUENCE numbers;` + seed + `;
		GRANT USAGE ON SCHEMA ` + p.name + ` TO ` + p.reader + `; GRANT USAGE, CREATE ON SCHEMA ` + p.name + ` TO ` + p.writer + `;
		GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON items TO ` + p.reader + `, ` + p.writer + `;
		GRANT ALL ON SEQUENCE numbers TO ` + p.reader + `, ` + p.writer)
	p.readURL, p.wrtURL = p.url(p.reader), p.url(p.writer)
	return p
}

func (p *postgresServer) url(user string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password), Host: p.host, Path: "/postgres",
		RawQuery: "sslmode=disable&search_path=" + p.name,
	}
	return u.String()
}

func (p *postgresServer) exec(q string) {
	p.t.Helper()
	if _, err := p.admin.Exec(context.Background(), q).ReadAll(); err != nil {
		p.t.Fatalf("%s: %v", q, err)
	}
}

// word gives one value of one row.
func (p *postgresServer) word(q string) string {
	p.t.Helper()
	r := p.admin.ExecParams(context.Background(), q, nil, nil, nil, nil).Read()
	if r.Err != nil || len(r.Rows) != 1 {
		p.t.Fatalf("%s: %v, %d rows", q, r.Err, len(r.Rows))
	}
	return string(r.Rows[0][0])
}

func (p *postgresServer) drop() {
	ctx := context.Background()
	for _, q := range []string{
		"DROP SCHEMA IF EXISTS " + p.name + " CASCADE", "DROP OWNED BY " + p.reader + ", " + p.writer,
		"DROP ROLE IF EXISTS " + p.reader, "DROP ROLE IF EXISTS " + p.writer,
	} {
		if _, err := p.admin.Exec(ctx, q).ReadAll(); err != nil {
			p.t.Errorf("%s: %v", q, err)
		}
	}
	_ = p.admin.Close(ctx)
}

// maria is a database with a table and accounts of its own.
type maria struct {
	t              testing.TB
	admin          *sql.DB
	name, host     string
	reader, writer string
}

func newMaria(t testing.TB) *maria {
	t.Helper()
	host := env("SALLYPORT_TEST_MARIADB", "127.0.0.1:3306")
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.MultiStatements = "root", "tcp", host, true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	m := &maria{t: t, admin: sql.OpenDB(connector), name: unique(), host: host}
	if err := m.admin.PingContext(t.Context()); err != nil {
		_ = m.admin.Close()
		missing(t, "MariaDB at "+host, err)
	}
	m.reader, m.writer = m.name+"_ro", m.name+"_rw"
	t.Cleanup(m.drop)
	m.exec("CREATE DATABASE " + m.name)
	m.exec("CREATE TABLE " + m.name + ".items (id INT PRIMARY KEY, name VARCHAR(100), price DECIMAL(10,2)) ENGINE=InnoDB")
	m.exec("USE " + m.name + "; " + seed)
	m.user(m.reader, "SELECT ON "+m.name+".*")
	m.user(m.writer, "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON "+m.name+".*")
	return m
}

// user makes an account with rights.
func (m *maria) user(name, rights string) {
	m.t.Helper()
	m.exec("CREATE USER '" + name + "'@'%' IDENTIFIED BY '" + password + "'")
	m.t.Cleanup(func() { m.exec("DROP USER '" + name + "'@'%'") })
	m.exec("GRANT " + rights + " TO '" + name + "'@'%'")
}

func (m *maria) url(user string) string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(user, password), Host: m.host, Path: "/" + m.name}
	return u.String()
}

func (m *maria) exec(q string) {
	m.t.Helper()
	if _, err := m.admin.ExecContext(context.Background(), q); err != nil {
		m.t.Fatalf("%s: %v", q, err)
	}
}

func (m *maria) word(q string) (s string) {
	m.t.Helper()
	if err := m.admin.QueryRowContext(context.Background(), q).Scan(&s); err != nil {
		m.t.Fatalf("%s: %v", q, err)
	}
	return s
}

func (m *maria) drop() {
	m.exec("DROP DATABASE IF EXISTS " + m.name)
	_ = m.admin.Close()
}

// newSQLite makes a file and returns its path and its content.
func newSQLite(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "items.db")
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(c.Exec("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL); CREATE INDEX names ON items (name);"+seed), c.Close())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// dialled counts connections by address.
type dialled struct {
	mu    sync.Mutex
	addrs []string
}

func (d *dialled) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	d.addrs = append(d.addrs, addr)
	d.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// until waits for something that happens on a server.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s did not happen", what)
		}
	}
}

// logTo writes a log into a builder that one goroutine uses.
func logTo(b *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
