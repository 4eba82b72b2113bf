// Package window is the arithmetic of rate limits: an exact sliding window
// over the last admissions of one key, in constant time per call.
//
// Start with [Line.Step], the pure step that every store shares; [Ring] is the
// form that lives in memory. A call is admitted when the N-th newest admission
// is at least one window old, so that no half-open interval of the length of
// the window ever holds more than N: after an admission at t, the N+1st may
// come at t+window, and not a nanosecond before.
//
// Times are readings of a wall clock, because several processes share them. A
// clock that is set back never admits more: while it is behind the newest
// admission by at most a window, time stands still for the key; when it is
// further behind, time goes on from the newest admission, so that a clock that
// was wrong by a year holds no caller up for one. A clock that is set forward
// ages the admissions, as waiting does.
package window

import (
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
)

// Bounds of a limit. A store keeps a time for each admission that counts.
const (
	// MaxRequests bounds the admissions of one window: 8 MB in memory.
	MaxRequests = 1_000_000
	// MaxLength bounds the window: ten years, as a configuration bounds its
	// durations. It keeps sums of times far from the end of what a time can be.
	MaxLength = 3650 * 24 * time.Hour
	// MaxKeyBytes bounds a key: the name of a principal and of a tool.
	MaxKeyBytes = 2048
	// Keep is how long a key is remembered at least after its newest
	// admission. A limit whose window is made longer, up to this, counts what
	// the shorter window no longer had to.
	Keep = 24 * time.Hour
)

// Check refuses a limit that no store counts.
func Check(l sallyport.RateLimit) error {
	var faults []error
	if l.Requests < 1 || l.Requests > MaxRequests {
		faults = append(faults, fmt.Errorf("requests is %d: expected 1 to %d", l.Requests, MaxRequests))
	}
	if l.Window <= 0 || l.Window > MaxLength {
		faults = append(faults, fmt.Errorf("window is %v: expected more than 0 and at most 3650 days", l.Window))
	}
	return errors.Join(faults...)
}

// CheckCall refuses what a store cannot count: a limit out of range, or a key
// that is empty or too long.
func CheckCall(key string, l sallyport.RateLimit) error {
	if key == "" || len(key) > MaxKeyBytes {
		return fmt.Errorf("rate limit: a key has 1 to %d bytes, this one has %d", MaxKeyBytes, len(key))
	}
	if err := Check(l); err != nil {
		return fmt.Errorf("rate limit: %w", err)
	}
	return nil
}
