// Package engine is what the kinds of database have in common: the contract
// between the backend and an engine, the rows that an answer holds, the form of
// their values, and the errors that a caller may read.
//
// Start with [Engine]. Only the packages of this folder use it.
package engine

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
	// MaxQueryBytes bounds the text of a query.
	MaxQueryBytes = 1 << 20
	// MaxArgs bounds the arguments; SQLite and PostgreSQL know 32,766.
	MaxArgs = 1000
)

// Settings is what an engine is made of.
type Settings struct {
	// Address returns the URL of a server, for every query anew; nil for a
	// file.
	Address func(context.Context) (string, error)
	// Path is the absolute, clean path of a file; empty for a server.
	Path string
	// Deny lists files and folders that are never opened as a database.
	Deny []string
	// Dial connects to a server.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// MaxBytes bounds the values of an answer.
	MaxBytes int64
}

// Engine runs queries on one configured connection.
type Engine interface {
	// RunQuery runs one statement and gives rows to c until c has enough.
	RunQuery(ctx context.Context, mode sallyport.AccessMode, sql string, args []any, c *Collector) (affected int64, err error)
	// CheckAccount connects and judges the account.
	CheckAccount(ctx context.Context, mode sallyport.AccessMode) error
	// DescribeTarget names server, database and account, without the password.
	DescribeTarget(ctx context.Context) (string, error)
}

// ErrUnknownOutcome is a connection that broke while a change was being kept.
var ErrUnknownOutcome = errors.New("the connection broke off while the change was being kept: look whether it was")

// ErrRowTooLarge says that not even one row fits into an answer.
var ErrRowTooLarge = errors.New("one row is larger than a result may be: select fewer columns or a part of the value")

// SQLError is what the engine says about the statement. Its text may be read
// by the caller.
type SQLError struct {
	// Text is what the engine says, without credentials.
	Text string
	// Cause goes to the log; nil when there is none.
	Cause error
}

// Error returns the text.
func (e *SQLError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *SQLError) Unwrap() error { return e.Cause }

// ConnectError is a connection that could not be made or broke off. Its cause
// may name hosts and users and goes to the log only.
type ConnectError struct {
	// Cause is never nil.
	Cause error
}

// Error says nothing of the cause.
func (e *ConnectError) Error() string { return "cannot be reached" }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Cause }

// AccountError refuses the account of a connection. Its text names rights and
// no account.
type AccountError struct {
	// Text says what the account has too much of.
	Text string
}

// Error returns the text.
func (e *AccountError) Error() string { return e.Text }

// RedactPassword removes a password from a message: an engine should never
// repeat one, and this holds even if it does.
func RedactPassword(text, password string) string {
	if password == "" {
		return text
	}
	return strings.ReplaceAll(text, password, "[redacted]")
}

// NewWrongCount says how many arguments a statement wants.
func NewWrongCount(want, got int) error {
	return &SQLError{Text: fmt.Sprintf("the query has %d placeholders and params has %d values", want, got)}
}

// IsLocalHost reports whether a host is this machine: a loopback address or a
// socket.
func IsLocalHost(host string) bool {
	if host == "localhost" || filepath.IsAbs(host) {
		return true
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
