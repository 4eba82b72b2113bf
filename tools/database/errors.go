package database

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
)

// maxMessage bounds what is repeated of an engine's message, which may quote
// a whole value.
const maxMessage = 500

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

// toCallerError turns what an engine returned into what a caller may read, and logs
// the cause.
func (b *Backend) toCallerError(ctx context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	f := &sallyport.Error{Code: sallyport.CodeExecutionFailed, Resource: name, Operation: "query", Err: err}
	stopped := ctx.Err()
	sql, isSQL := errors.AsType[*sqlError](err)
	account, isAccount := errors.AsType[*accountError](err)
	_, isConnect := errors.AsType[*connectError](err)
	switch {
	case isAccount:
		f.Code, f.Detail = sallyport.CodeNotAvailable, "connection "+name+" is refused: "+account.text
	case errors.Is(err, errUnknownOutcome):
		f.Detail = "the query on " + name + " failed: " + errUnknownOutcome.Error()
	case errors.Is(err, errRowTooLarge):
		f.Detail = "the query on " + name + " failed: " + errRowTooLarge.Error()
	case errors.Is(stopped, context.DeadlineExceeded):
		f.Detail, f.Err = "the query on "+name+" failed: the time is up", errors.Join(stopped, err)
	case stopped != nil:
		f.Detail, f.Err = "the query on "+name+" failed: the call was cancelled", errors.Join(stopped, err)
	case isSQL:
		f.Detail = "the query on " + name + " failed: " + clipMessage(sql.text)
	case isConnect:
		f.Detail = "connection " + name + " cannot be reached"
	default:
		f.Detail = "the query on " + name + " failed"
	}
	b.o.Logger.WarnContext(ctx, "database query failed", "connection", name, "detail", f.Detail, "cause", causeText(err))
	return f
}

// errUnknownOutcome is a connection that broke while a change was being kept.
var errUnknownOutcome = errors.New("the connection broke off while the change was being kept: look whether it was")

// causeText returns the text for the log.
func causeText(err error) string {
	if e, ok := errors.AsType[*connectError](err); ok {
		return e.cause.Error()
	}
	if e, ok := errors.AsType[*sqlError](err); ok && e.cause != nil {
		return e.cause.Error()
	}
	return err.Error()
}

func newNotAvailable(connection, detail string) error {
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Resource: connection, Detail: detail}
}

// clipMessage bounds a message.
func clipMessage(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + " …"
}

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
