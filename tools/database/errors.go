package database

import (
	"context"
	"errors"
	"strings"

	"github.com/sallyport/sallyport"
)

// maxMessage bounds what is repeated of an engine's message, which may quote
// a whole value.
const maxMessage = 500

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
