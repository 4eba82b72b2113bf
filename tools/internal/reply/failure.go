package reply

import (
	"context"
	"errors"
	"io"
	"net/url"

	"github.com/sallyport/sallyport"
)

// UserAgent says who is asking, honestly: some servers refuse what looks like
// a browser and is none.
const UserAgent = "sallyport/1.0 (+https://github.com/sallyport/sallyport)"

// MaxURLBytes bounds an address; servers refuse longer ones (RFC 9110, section
// 4.1, asks them to take 8000).
const MaxURLBytes = 8000

// Failure returns the refusal or the coded failure inside an error. Any
// other text may name addresses of this network, so it only says what kind of
// failure it was.
func Failure(ctx context.Context, u *url.URL, err error) error {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	what := "the connection failed"
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	switch {
	case ok && timeout.Timeout():
		what = "no answer in time"
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = "the answer ended early"
	}
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: u.Host, Operation: "get",
		Detail: "cannot fetch " + u.Redacted() + ": " + what, Err: err,
	}
}
