// Package database runs queries of agents on databases that the operator
// named: PostgreSQL, MySQL and MariaDB, and SQLite files. [Open] makes the
// backend behind the database accessor, [Tool] the tool db-query. The folder has
// a package with a [Driver] for each kind of database.
//
// That a connection only reads is enforced by the engine and never by a look
// at the SQL, because no parser of ours would equal the engine's: a read-only
// transaction rolled back at the end and a cursor that admits nothing but
// queries (PostgreSQL), a user without any right to write, a read-only session
// and a grammar that admits nothing but what EXPLAIN takes (MySQL), a file
// opened for reading and an authorizer (SQLite). An account that could step
// around this, a superuser for example, is refused when a connection is made,
// for writing as well.
//
// Each query runs on a connection of its own, which is closed afterwards:
// variables, temporary tables, locks and prepared statements of one call are
// never seen by another. One statement is one transaction. Arguments are
// bound, never put into the text. Rows, bytes and time are bounded, and at the
// deadline the server is told to stop, not only left.
//
// Not covered: what the engine lets such an account do besides writing, such
// as ending other sessions of the same account (pg_terminate_backend, KILL),
// or calling a function that an extension brings and that acts elsewhere.
// Revoke EXECUTE from the account where that matters. In mode write an account
// may also change its own password, which the engines let everybody do, and see
// its hash on MariaDB.
package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

const (
	// defaultMaxRows is the number of rows of an answer: more than anybody
	// reads, and a hint to aggregate in the query.
	defaultMaxRows = 1000
	// defaultMaxBytes bounds the values of an answer: what a result may hold
	// is less, and one value may need most of it.
	defaultMaxBytes = 1 << 20
	// DefaultTimeout bounds a query, connecting included.
	DefaultTimeout = 30 * time.Second

	// maxConcurrent is how many queries run on one connection at once; more
	// wait. Servers often admit a hundred sessions for everybody.
	maxConcurrent = 8
)

// Driver is one kind of database: what a function Driver of package postgres,
// mysql or sqlite below returns. A program depends on the modules of those
// packages only that it imports.
type Driver interface {
	// Name is the word for the kind of database in messages.
	Name() string
	// OnFile reports whether a connection has a path and no address.
	OnFile() bool
	// Open makes the engine of one connection. It reaches nothing.
	Open(s engine.Settings) engine.Engine
}

// Connection says how one named database is reached.
type Connection struct {
	// Driver is the kind of database.
	Driver Driver
	// URL returns the address with user and password; it is asked for every
	// query, so that a rotated password is used at once. For PostgreSQL and
	// MySQL either URL or SecretRef is given; see [Open] for the forms.
	URL func(ctx context.Context) (sallyport.Secret, error)
	// SecretRef names the address in [Options.Secrets].
	SecretRef string
	// Path is the absolute path of an SQLite file. The file exists; it is
	// never created.
	Path string
}

// Options are the settings of [Open]. Nil means all defaults.
type Options struct {
	// Secrets finds the addresses that connections name by reference.
	Secrets sallyport.SecretSource
	// Dial connects to a server; nil means the system's dialer. The address
	// is the host and port of the URL, not yet resolved; to stop a query on
	// PostgreSQL it is the address that was connected to. The network is tcp,
	// or unix for a socket.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Deny lists absolute paths of files and folders that are never opened as
	// an SQLite file, under whatever name: the runtime's own state.
	Deny []string
	// MaxRows bounds the rows of an answer; 0 means 1000.
	MaxRows int
	// MaxBytes bounds the values of an answer together; 0 means
	// 1 MiB.
	MaxBytes int64
	// Timeout bounds a query, connecting included; 0 means DefaultTimeout.
	Timeout time.Duration
	// Logger gets the causes of failures, without credentials; nil drops
	// them.
	Logger *slog.Logger
}

// Backend implements [sallyport.DatabaseBackend]. It is safe for concurrent
// use.
type Backend struct {
	o       Options
	conns   map[string]*engineConnection
	closing context.Context
	close   context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// engineConnection is an engine with a slot for each query that may run.
type engineConnection struct {
	engine engine.Engine
	slots  chan struct{}
}

var (
	_ sallyport.DatabaseBackend = (*Backend)(nil)
	_ sallyport.TargetNamer     = (*Backend)(nil)
)

// Open makes a backend for named connections. Nothing is reached before the
// first query or [Backend.Check]. The error lists every fault at once.
//
// A PostgreSQL address is "postgres://user:password@host:5432/name", a MySQL
// address "mysql://user:password@host:3306/name". A server that is not on
// this machine must show a certificate that the system trusts for its name,
// unless the address says otherwise: sslmode and sslrootcert for PostgreSQL
// as in libpq, "tls=skip-verify" or "tls=false" for MySQL.
func Open(conns map[string]Connection, o *Options) (*Backend, error) {
	b := &Backend{conns: make(map[string]*engineConnection, len(conns))}
	if o != nil {
		b.o = *o
		b.o.Deny = slices.Clone(o.Deny)
	}
	faults := []error{b.o.applyDefaults()}
	for _, name := range slices.Sorted(maps.Keys(conns)) {
		e, err := b.newEngine(name, conns[name])
		if err != nil {
			faults = append(faults, fmt.Errorf("database %s: %w", name, err))
			continue
		}
		b.conns[name] = &engineConnection{engine: e, slots: make(chan struct{}, maxConcurrent)}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	b.closing, b.close = context.WithCancel(context.Background())
	return b, nil
}

// applyDefaults fills in defaults and refuses what makes no sense.
func (o *Options) applyDefaults() error {
	if o.MaxRows < 0 || o.MaxBytes < 0 || o.Timeout < 0 {
		return errors.New("databases: MaxRows, MaxBytes and Timeout must not be negative")
	}
	o.MaxRows = cmp.Or(o.MaxRows, defaultMaxRows)
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	return nil
}

// newEngine checks a connection's settings and makes its engine.
func (b *Backend) newEngine(name string, c Connection) (_ engine.Engine, err error) {
	settings := engine.Settings{Deny: b.o.Deny, Dial: b.o.Dial, MaxBytes: b.o.MaxBytes}
	switch {
	case c.Driver == nil:
		return nil, errors.New("no driver: expected that of package postgres, mysql or sqlite")
	case !c.Driver.OnFile():
		if settings.Address, err = b.newAddressSource(name, c); err != nil {
			return nil, err
		}
	case c.URL != nil || c.SecretRef != "":
		return nil, fmt.Errorf("an %s connection has a path and no url", c.Driver.Name())
	case !filepath.IsAbs(c.Path):
		return nil, fmt.Errorf("path %q: expected an absolute path", c.Path)
	default:
		settings.Path = filepath.Clean(c.Path)
	}
	return c.Driver.Open(settings), nil
}

// newAddressSource returns the function that finds a connection's URL.
func (b *Backend) newAddressSource(name string, c Connection) (func(context.Context) (string, error), error) {
	ask := c.URL
	switch {
	case c.Path != "":
		return nil, fmt.Errorf("a %s connection has a url and no path", c.Driver.Name())
	case (c.URL == nil) == (c.SecretRef == ""):
		return nil, errors.New("expected either a url or a reference to a secret")
	case c.SecretRef != "" && b.o.Secrets == nil:
		return nil, fmt.Errorf("secret %s: no secrets are configured", c.SecretRef)
	case c.SecretRef != "":
		ask = func(ctx context.Context) (sallyport.Secret, error) {
			s, ok, err := b.o.Secrets.Secret(ctx, c.SecretRef)
			if err == nil && !ok {
				err = fmt.Errorf("secret %s is not known", c.SecretRef)
			}
			return s, err
		}
	}
	return func(ctx context.Context) (string, error) {
		s, err := ask(ctx)
		if err != nil {
			return "", &engine.ConnectError{Cause: fmt.Errorf("address of database %s: %w", name, err)}
		}
		return s.Reveal(), nil
	}, nil
}

// Query runs one statement with bound arguments: nil, bool, integers,
// floats, string, []byte, [time.Time] and [encoding/json.Number]. The empty
// mode means read. The rows hold nil, bool, int64, float64, string and, for
// bytes that are no text, map[string]any{"base64": …}; see the package's
// documentation of values in docs/guides/built-in-tools.md. Errors are [*sallyport.Error]s
// whose text holds what the engine says about the SQL and nothing about the
// connection.
func (b *Backend) Query(ctx context.Context, connection string, mode sallyport.AccessMode, query string, args []any) (sallyport.Table, error) {
	args, err := validateQuery(query, args)
	if err != nil {
		return sallyport.Table{}, err
	}
	rows := &engine.Collector{MaxRows: b.o.MaxRows, MaxBytes: b.o.MaxBytes}
	err = b.withEngine(ctx, connection, func(ctx context.Context, e engine.Engine) error {
		mode, err := modeOrRead(mode)
		if err != nil {
			return err
		}
		rows.Table.Affected, err = e.RunQuery(ctx, mode, query, args, rows)
		return err
	})
	if err != nil {
		return sallyport.Table{}, err
	}
	return rows.Table, nil
}

// Check connects and judges the account of a connection without running
// anything of a caller's, for a check at the start. The error is for the
// operator and holds no credentials.
func (b *Backend) Check(ctx context.Context, connection string, mode sallyport.AccessMode) error {
	return b.withEngine(ctx, connection, func(ctx context.Context, e engine.Engine) error {
		mode, err := modeOrRead(mode)
		if err != nil {
			return err
		}
		return e.CheckAccount(ctx, mode)
	})
}

// Connections returns the sorted names of the connections.
func (b *Backend) Connections() []string { return slices.Sorted(maps.Keys(b.conns)) }

// Target implements [sallyport.TargetNamer]. It reads the address, as a query
// does, and connects to nothing.
func (b *Backend) Target(ctx context.Context, connection string) (string, error) {
	c := b.conns[connection]
	if c == nil {
		return "", newNotAvailable(connection, "connection "+clipMessage(connection)+" is not configured")
	}
	return c.engine.DescribeTarget(ctx)
}

// Close stops what runs, waits for it and refuses further queries. It may be
// called more than once.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.close()
	b.running.Wait()
	return nil
}

// withEngine calls f with the engine of a connection, within the time limit.
func (b *Backend) withEngine(ctx context.Context, name string, f func(context.Context, engine.Engine) error) error {
	c, ok := b.conns[name]
	if !ok {
		return newNotAvailable(name, "there is no connection "+name)
	}
	if !b.beginQuery() {
		return newNotAvailable(name, "connection "+name+" is closed")
	}
	defer b.running.Done()
	ctx, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	defer context.AfterFunc(b.closing, cancel)()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return b.toCallerError(ctx, name, ctx.Err())
	}
	return b.toCallerError(ctx, name, f(ctx, c.engine))
}

// beginQuery counts a query in unless the backend is closed.
func (b *Backend) beginQuery() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.running.Add(1)
	return true
}

// modeOrRead returns the mode, read for the empty one.
func modeOrRead(mode sallyport.AccessMode) (sallyport.AccessMode, error) {
	switch mode {
	case "", sallyport.ModeRead:
		return sallyport.ModeRead, nil
	case sallyport.ModeWrite:
		return mode, nil
	default:
		return "", sallyport.InputInvalid(fmt.Sprintf("mode %q: expected read or write", mode))
	}
}

// validateQuery refuses a text that the drivers would cut or misread and makes the
// arguments plain.
func validateQuery(query string, args []any) ([]any, error) {
	switch {
	case strings.TrimSpace(query) == "":
		return nil, sallyport.InputInvalid("query: expected a statement")
	case len(query) > engine.MaxQueryBytes:
		return nil, sallyport.InputInvalid(fmt.Sprintf("query: longer than %d bytes", engine.MaxQueryBytes))
	case !utf8.ValidString(query) || strings.ContainsRune(query, 0):
		// Two of the protocols end a text at a NUL byte: what follows would
		// be read as something else.
		return nil, sallyport.InputInvalid("query: not UTF-8 text, or holds a NUL character")
	case len(args) > engine.MaxArgs:
		return nil, sallyport.InputInvalid(fmt.Sprintf("params: more than %d", engine.MaxArgs))
	}
	return plainArgs(args)
}
