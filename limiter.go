package sallyport

import (
	"context"
	"time"
)

// Limiter counts the calls that rate limits admit. It must be safe for
// concurrent use.
type Limiter interface {
	// Admit admits one call under a key, or returns the time until it would
	// admit one: a wait of 0 is an admission. It never admits more than
	// limit.Requests calls of one key in any window of limit.Window. The window
	// is half open: a call may come exactly limit.Window after the call that
	// used up its place. A refused call does not count. On an error no call is
	// admitted.
	Admit(ctx context.Context, key string, limit RateLimit) (wait time.Duration, err error)
}
