package reply

import (
	"context"
	"net/url"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/transport"
)

// MaxURLBytes bounds an address; servers refuse longer ones (RFC 9110, section
// 4.1, asks them to take 8000).
const MaxURLBytes = 8000

// Failure returns what may be told of a failed fetch; see [transport.Failure].
func Failure(ctx context.Context, u *url.URL, err error) error {
	return transport.Failure(ctx, err, func(what string, cause error) error {
		return &sallyport.Error{
			Code: sallyport.CodeExecutionFailed, Resource: u.Host, Operation: "get",
			Detail: "cannot fetch " + u.Redacted() + ": " + what, Err: cause,
		}
	})
}
