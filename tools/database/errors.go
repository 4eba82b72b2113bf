package database

import (
	"context"
	"errors"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
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
	sql, isSQL := errors.AsType[*engine.SQLError](err)
	account, isAccount := errors.AsType[*engine.AccountError](err)
	_, isConnect := errors.AsType[*engine.ConnectError](err)
	switch {
	case isAccount:
		f.Code, f.Detail = sallyport.CodeNotAvailable, "connection "+name+" is refused: "+account.Text
	case errors.Is(err, engine.ErrUnknownOutcome):
		f.Detail = "the query on " + name + " failed: " + engine.ErrUnknownOutcome.Error()
	case errors.Is(err, engine.ErrRowTooLarge):
		f.Detail = "the query on " + name + " failed: " + engine.ErrRowTooLarge.Error()
	case errors.Is(stopped, context.DeadlineExceeded):
		f.Detail, f.Err = "the query on "+name+" failed: the time is up", errors.Join(stopped, err)
	case stopped != nil:
		f.Detail, f.Err = "the query on "+name+" failed: the call was cancelled", errors.Join(stopped, err)
	case isSQL:
		f.Detail = "the query on " + name + " failed: " + clipMessage(sql.Text)
	case isConnect:
		f.Detail = "connection " + name + " cannot be reached"
	default:
		f.Detail = "the query on " + name + " failed"
	}
	b.o.Logger.WarnContext(ctx, "database query failed", "connection", name, "detail", f.Detail, "cause", causeText(err))
	return f
}

func causeText(err error) string {
	if e, ok := errors.AsType[*engine.ConnectError](err); ok {
		return e.Cause.Error()
	}
	if e, ok := errors.AsType[*engine.SQLError](err); ok && e.Cause != nil {
		return e.Cause.Error()
	}
	return err.Error()
}

func newNotAvailable(connection, detail string) error {
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Resource: connection, Detail: detail}
}

func clipMessage(s string) string {
	return text.ClipBytes(strings.ToValidUTF8(s, "\ufffd"), maxMessage)
}
