package sallyport

import (
	"context"
	"time"
)

// Limiter counts the admissions of rate limits. It must be safe for concurrent
// use.
type Limiter interface {
	// Admit admits one call under a key, or says how long it takes until one
	// would be admitted: a wait of 0 is an admission. It never admits more
	// than limit.Requests calls of one key in any window of limit.Window; the
	// window is half open, so that a call may come exactly limit.Window after
	// the one that it waits for. A refused call counts for nothing. An error
	// admits nothing.
	Admit(ctx context.Context, key string, limit RateLimit) (wait time.Duration, err error)
}
