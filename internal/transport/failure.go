// Package transport says in words that may be shown why an exchange over the
// network failed.
package transport

import (
	"context"
	"errors"
	"io"
	"net/url"

	"github.com/sallyport/sallyport"
)

// Failure returns what a caller may be told of an error of net/http: the refusal
// or the coded failure inside it, the end of ctx, or what newError makes of a
// few words about what kind of failure it was. The text of the error itself may
// hold addresses of this network, the URL, and a secret in it.
func Failure(ctx context.Context, err error, newError func(what string, cause error) error) error {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	what := "the connection failed"
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	switch {
	case ok && timeout.Timeout():
		what = "no answer in time"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		what = "the answer ended early"
	}
	return newError(what, err)
}
