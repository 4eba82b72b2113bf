package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport"
)

const (
	// maxQueryBytes bounds the text of a query.
	maxQueryBytes = 1 << 20
	// maxArgs bounds the arguments; SQLite and PostgreSQL know 32,766.
	maxArgs = 1000
)

// engineSettings is what an engine is made of.
type engineSettings struct {
	// address returns the URL of a server, for every query anew; nil for a
	// file.
	address func(context.Context) (string, error)
	// path is the absolute, clean path of a file; empty for a server.
	path string
	// deny lists files and folders that are never opened as a database.
	deny []string
	// dial connects to a server.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// maxBytes bounds the values of an answer.
	maxBytes int64
}

// engine runs queries on one configured connection.
type engine interface {
	// runQuery runs one statement and gives rows to c until c has enough.
	runQuery(ctx context.Context, mode sallyport.AccessMode, sql string, args []any, c *rowCollector) (affected int64, err error)
	// checkAccount connects and judges the account.
	checkAccount(ctx context.Context, mode sallyport.AccessMode) error
	// describeTarget names server, database and account, without the password.
	describeTarget(ctx context.Context) (string, error)
}

// errUnknownOutcome is a connection that broke while a change was being kept.
var errUnknownOutcome = errors.New("the connection broke off while the change was being kept: look whether it was")

// errRowTooLarge says that not even one row fits into an answer.
var errRowTooLarge = errors.New("one row is larger than a result may be: select fewer columns or a part of the value")

// sqlError is what the engine says about the statement. Its text may be read
// by the caller.
type sqlError struct {
	text  string
	cause error
}

func (e *sqlError) Error() string { return e.text }
func (e *sqlError) Unwrap() error { return e.cause }

// connectError is a connection that could not be made or broke off. Its cause
// may name hosts and users and goes to the log only.
type connectError struct{ cause error }

func (e *connectError) Error() string { return "cannot be reached" }
func (e *connectError) Unwrap() error { return e.cause }

// accountError refuses the account of a connection. Its text names rights and
// no account.
type accountError struct{ text string }

func (e *accountError) Error() string { return e.text }

// redactPassword removes a password from a message: an engine should never
// repeat one, and this holds even if it does.
func redactPassword(text, password string) string {
	if password == "" {
		return text
	}
	return strings.ReplaceAll(text, password, "[redacted]")
}

// newWrongCount says how many arguments a statement wants.
func newWrongCount(want, got int) error {
	return &sqlError{text: fmt.Sprintf("the query has %d placeholders and params has %d values", want, got)}
}

// isLocalHost reports whether a host is this machine: a loopback address or a
// socket.
func isLocalHost(host string) bool {
	if host == "localhost" || filepath.IsAbs(host) {
		return true
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
