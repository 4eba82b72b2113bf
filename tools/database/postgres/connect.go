package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

// pgKeys is what an address may hold. It names no file besides certificates,
// and nothing that runs at the start of a session.
var pgKeys = []string{
	"host", "port", "user", "password", "database", "sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout",
	"channel_binding", "target_session_attrs", "search_path", "application_name",
}

func (e *postgresEngine) openSession(ctx context.Context) (*pgSession, error) {
	address, err := e.Address(ctx)
	if err != nil {
		return nil, err
	}
	config, err := e.parseConfig(address)
	if err != nil {
		return nil, &engine.ConnectError{Cause: err}
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, &engine.ConnectError{Cause: err}
	}
	return &pgSession{conn: conn, password: config.Password}, nil
}

// parseConfig reads an address. No error quotes it.
func (e *postgresEngine) parseConfig(address string) (*pgconn.Config, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("the address is not a postgres:// URL")
	}
	q := u.Query()
	host := u.Hostname()
	if host != "" && len(q["host"]) > 0 || len(q["host"]) > 1 {
		// The driver takes one of them, the judgement below might another.
		return nil, errors.New("the address names more than one host")
	}
	if host == "" {
		host = q.Get("host")
	}
	if host == "" || u.User.Username() == "" && q.Get("user") == "" || len(u.Path) < 2 && q.Get("dbname") == "" && q.Get("database") == "" {
		return nil, errors.New("the address lacks a host, a user or a database")
	}
	if !q.Has("sslmode") {
		q.Set("sslmode", "verify-full")
		if engine.IsLocalHost(host) {
			q.Set("sslmode", "prefer")
		}
	}
	u.RawQuery = q.Encode()
	config, err := pgconn.ParseConfigWithOptions(u.String(), pgconn.ParseConfigOptions{ConnStringAllowedKeys: pgKeys})
	if err != nil {
		// The driver's error quotes the address.
		return nil, errors.New("the address holds what is not understood or not allowed")
	}
	dropAmbientConfig(config, u)
	config.DialFunc = e.Dial
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	// The text form of bytes is twice as long as they are.
	config.MaxProtocolMessageBodyLen = int(2*e.MaxBytes) + 64<<10
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}
	return config, nil
}

func (e *postgresEngine) DescribeTarget(ctx context.Context) (string, error) {
	address, err := e.Address(ctx)
	if err != nil {
		return "", err
	}
	config, err := e.parseConfig(address)
	if err != nil {
		return "", err
	}
	hosts := []string{fmt.Sprintf("%s:%d", config.Host, config.Port)}
	for _, f := range config.Fallbacks {
		// One host may stand there twice, with TLS and without.
		if host := fmt.Sprintf("%s:%d", f.Host, f.Port); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	text := fmt.Sprintf("postgres %s/%s as %s", strings.Join(hosts, ","), config.Database, config.User)
	if path, ok := config.RuntimeParams["search_path"]; ok {
		text += fmt.Sprintf(" with search_path %q", path)
	}
	return text, nil
}

// dropAmbientConfig removes what this machine's environment and files added.
func dropAmbientConfig(config *pgconn.Config, u *url.URL) {
	q := u.Query()
	if _, has := u.User.Password(); !has && !q.Has("password") {
		config.Password = ""
	}
	config.RuntimeParams = map[string]string{"application_name": "sallyport", "client_encoding": "UTF8"}
	for _, key := range []string{"application_name", "search_path"} {
		if q.Has(key) {
			config.RuntimeParams[key] = q.Get(key)
		}
	}
}
