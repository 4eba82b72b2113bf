package mysql

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"

	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

func (e *mysqlEngine) openSession(ctx context.Context) (*mysqlSession, error) {
	address, err := e.Address(ctx)
	if err != nil {
		return nil, err
	}
	config, err := mysqlConfig(address)
	if err != nil {
		return nil, &engine.ConnectError{Cause: err}
	}
	// Another connection, that which stops this one, is dialled without it.
	config.DialFunc = e.Dial
	s := &mysqlSession{config: config.Clone(), meter: &readMeter{max: 2*e.MaxBytes + 64<<10}}
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := e.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return s.meter.wrapConn(c), nil
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, &engine.ConnectError{Cause: errors.New("the address is not understood")}
	}
	s.db = sql.OpenDB(connector)
	s.db.SetMaxOpenConns(1)
	if err := s.acquireConn(ctx); err != nil {
		_ = s.db.Close()
		return nil, &engine.ConnectError{Cause: err}
	}
	return s, nil
}

// acquireConn acquires the one connection and asks for its number.
func (s *mysqlSession) acquireConn(ctx context.Context) (err error) {
	if s.Conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	var version string
	if err := s.QueryRowContext(ctx, "SELECT CONNECTION_ID(), VERSION()").Scan(&s.id, &version); err != nil {
		_ = s.Conn.Close()
		return err
	}
	s.maria = strings.Contains(version, "MariaDB")
	return nil
}

func (e *mysqlEngine) DescribeTarget(ctx context.Context) (string, error) {
	address, err := e.Address(ctx)
	if err != nil {
		return "", err
	}
	config, err := mysqlConfig(address)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("mysql %s/%s as %s", config.Addr, config.DBName, config.User), nil
}

// mysqlConfig reads an address, a URL or what the driver calls a DSN, and
// switches off what a server or a query could misuse. No error quotes it.
func mysqlConfig(address string) (*mysql.Config, error) {
	config, err := parseMySQL(address)
	if err != nil {
		return nil, err
	}
	if config.User == "" {
		return nil, errors.New("the address lacks a user")
	}
	if config.TLSConfig == "" && config.Net == "tcp" && !engine.IsLocalHost(config.Addr) {
		config.TLSConfig = "true"
	}
	encrypted := config.TLSConfig != "" && config.TLSConfig != "false" && config.TLSConfig != "preferred"
	config.MultiStatements, config.AllowAllFiles, config.AllowOldPasswords = false, false, false
	config.AllowFallbackToPlaintext = config.AllowFallbackToPlaintext && !encrypted
	config.AllowCleartextPasswords = config.AllowCleartextPasswords && encrypted
	config.InterpolateParams, config.ParseTime, config.ColumnsWithAlias = false, false, false
	config.Params = nil // Settings of the session are ours.
	config.Logger = &mysql.NopLogger{}
	return config, nil
}

func parseMySQL(address string) (*mysql.Config, error) {
	rest, isURL := strings.CutPrefix(address, "mysql://")
	if !isURL {
		rest, isURL = strings.CutPrefix(address, "mariadb://")
	}
	if !isURL {
		config, err := mysql.ParseDSN(address)
		if err != nil {
			return nil, errors.New("the address is neither a mysql:// URL nor a DSN of the driver")
		}
		return config, nil
	}
	u, err := url.Parse("mysql://" + rest)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("the address is not a mysql:// URL with a host")
	}
	config := mysql.NewConfig()
	config.Net, config.User, config.DBName = "tcp", u.User.Username(), strings.TrimPrefix(u.Path, "/")
	config.Passwd, _ = u.User.Password()
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	config.Addr = net.JoinHostPort(u.Hostname(), port)
	for key, values := range u.Query() {
		switch value := values[len(values)-1]; {
		case key != "tls":
			return nil, errors.New("the address holds a parameter other than tls")
		case value == "true" || value == "false" || value == "skip-verify":
			config.TLSConfig = value
		default:
			return nil, errors.New("tls in the address: expected true, false or skip-verify")
		}
	}
	if config.TLSConfig == "true" {
		config.TLS = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	}
	return config, nil
}

// errMeter ends a connection on which more came than a row may be long.
var errMeter = errors.New("more was sent than a row may be long")

// readMeter bounds what a connection may read between two resets, since the
// driver takes a row of any length into memory.
type readMeter struct {
	max int64

	mu   sync.Mutex
	read int64
	far  bool
	conn net.Conn
}

// meteredConn is a connection that counts.
type meteredConn struct {
	net.Conn
	m *readMeter
}

func (m *readMeter) wrapConn(c net.Conn) net.Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conn = c
	return &meteredConn{c, m}
}

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.m.read += int64(n); c.m.read > c.m.max {
		c.m.far = true
		return 0, errMeter
	}
	return n, err
}

// reset begins to count anew.
func (m *readMeter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = 0
}

// isExceeded reports whether too much came.
func (m *readMeter) isExceeded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.far
}

func (m *readMeter) closeConn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn != nil {
		_ = m.conn.Close() // Whatever is on its way is not wanted.
	}
}
