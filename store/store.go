// Package store holds what the state backends have in common: the errors
// that they return and the bounds that they enforce.
//
// The backends are in the packages below it: sqlite is the default, memory
// serves tests and runs without persistent state. Package storetest is the
// suite that all of them pass. No text of a database driver leaves a backend.
package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sallyport/sallyport"
)

// The reasons for which a backend fails. They are matched with errors.Is;
// the text is safe to show to the caller of a tool.
var (
	// ErrLocked: another process holds the state and did not release it
	// within the bound.
	ErrLocked = errors.New("state file is locked")
	// ErrFull: there is no room for the write.
	ErrFull = errors.New("disk is full")
	// ErrDamaged: the state is not what was written.
	ErrDamaged = errors.New("state file is damaged")
	// ErrForeign: the file belongs to another program.
	ErrForeign = errors.New("file is not a Sallyport state file")
	// ErrNewer: a newer version of the program wrote the state.
	ErrNewer = errors.New("state file was written by a newer version of Sallyport")
	// ErrUnwritable: the state may not be written, or writing fails for
	// another reason than a lack of room.
	ErrUnwritable = errors.New("state file cannot be written")
	// ErrClosed: the backend was closed.
	ErrClosed = errors.New("state is closed")
	// ErrFailed: the backend failed for another reason, which the wrapped
	// cause names for the log.
	ErrFailed = errors.New("state file cannot be used")
)

// Error is a failure of a backend. Its text is the reason alone; the cause
// may quote the driver and belongs in the operator's log.
type Error struct {
	// Reason is one of the errors of this package.
	Reason error
	// Err is the cause; it may be nil.
	Err error
}

// Error returns the text of the reason.
func (e *Error) Error() string { return e.Reason.Error() }

// Unwrap returns reason and cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}

// Limits bounds what a backend keeps. The zero value means the defaults.
type Limits struct {
	// KeyBytes bounds a key; 0 means 512.
	KeyBytes int
	// ValueBytes bounds a value; 0 means 1 MiB.
	ValueBytes int
	// Reads bounds the remembered reads of one session; 0 means 10,000. A
	// backend may keep a sixteenth more for a while.
	Reads int
	// ReadAge is how long a read is remembered; 0 means 30 days.
	ReadAge time.Duration
	// LimitKeys bounds the pairs of principal and tool whose calls are
	// counted for rate limits; 0 means 100,000.
	LimitKeys int
}

const (
	maxScopeBytes     = 2048 // a session key is an escaped name and an id
	defaultKeyBytes   = 512
	defaultValueBytes = 1 << 20
	defaultReads      = 10_000
	defaultReadAge    = 30 * 24 * time.Hour
	defaultLimitKeys  = 100_000
	// hardValueBytes keeps a value well below what an engine can hold in one
	// row and what the 256 MiB of an embedded engine can work with.
	hardValueBytes = 32 << 20
)

// WithDefaults returns the limits with zeros replaced, or an error that
// names what is out of range.
func (l Limits) WithDefaults() (Limits, error) {
	if l.KeyBytes < 0 || l.ValueBytes < 0 || l.Reads < 0 || l.ReadAge < 0 || l.LimitKeys < 0 {
		return l, errors.New("store: limits must not be negative")
	}
	if l.ValueBytes > hardValueBytes {
		return l, fmt.Errorf("store: a value may have at most %d bytes", hardValueBytes)
	}
	return Limits{
		KeyBytes:   cmp.Or(l.KeyBytes, defaultKeyBytes),
		ValueBytes: cmp.Or(l.ValueBytes, defaultValueBytes),
		Reads:      cmp.Or(l.Reads, defaultReads),
		ReadAge:    cmp.Or(l.ReadAge, defaultReadAge),
		LimitKeys:  cmp.Or(l.LimitKeys, defaultLimitKeys),
	}, nil
}

// CheckScope refuses a scope id that the gate cannot have made.
func (l *Limits) CheckScope(scope string) error {
	if scope == "" || len(scope) > maxScopeBytes {
		return fmt.Errorf("store: a scope id has 1 to %d bytes, this one has %d", maxScopeBytes, len(scope))
	}
	return nil
}

// CheckKey refuses a key that is too long, as the fault of the tool.
func (l *Limits) CheckKey(key string) error {
	if len(key) > l.KeyBytes {
		return sallyport.InputInvalid(fmt.Sprintf("the storage key has %d bytes, the limit is %d", len(key), l.KeyBytes))
	}
	return nil
}

// CheckSet refuses a key, value or lifetime, as the fault of the tool.
func (l *Limits) CheckSet(key, value string, ttl time.Duration) error {
	if err := l.CheckKey(key); err != nil {
		return err
	}
	if len(value) > l.ValueBytes {
		return sallyport.InputInvalid(fmt.Sprintf("the value has %d bytes, the limit is %d", len(value), l.ValueBytes))
	}
	if ttl < 0 {
		return sallyport.InputInvalid("the lifetime must not be negative")
	}
	return nil
}

// Expiry returns when a value that is stored now expires, in Unix
// nanoseconds; ok is false when it never does. A value is absent from its
// expiry on.
func Expiry(now time.Time, ttl time.Duration) (ns int64, ok bool) {
	if ttl <= 0 || int64(ttl) > math.MaxInt64-now.UnixNano() {
		return 0, false
	}
	return now.UnixNano() + int64(ttl), true
}
