package approvals

import (
	"context"
	"errors"
	"time"
)

const (
	// watchedUntil is the name of the setting with the time until which a person
	// is known to watch.
	watchedUntil = "approvals.watched_until"
	// Lease is how long an announcement counts. A watcher that was killed keeps
	// calls waiting at most this long.
	Lease = 15 * time.Second
)

// Settings stores named values.
type Settings interface {
	// Get returns a value; ok is false when the name has none.
	Get(ctx context.Context, name string) (value string, ok bool, err error)
	// Put stores or replaces a value.
	Put(ctx context.Context, name, value string) error
}

// Announce says in a state that a person watches its held calls from now on for
// one lease. A watcher calls it again well before that is over.
func Announce(ctx context.Context, s Settings, now time.Time) error {
	return s.Put(ctx, watchedUntil, now.Add(Lease).UTC().Format(time.RFC3339Nano))
}

// Watched reports whether a person watches the held calls of a state.
func Watched(ctx context.Context, s Settings, now time.Time) (bool, error) {
	value, ok, err := s.Get(ctx, watchedUntil)
	if err != nil || !ok {
		return false, err
	}
	until, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return false, errors.New("the state does not say when a person last watched held calls")
	}
	// A time beyond the lease is that of another clock.
	return now.Before(until) && until.Sub(now) <= Lease, nil
}

// Leave says that a watcher is gone. Another one announces itself again within
// its next step.
func Leave(ctx context.Context, s Settings, now time.Time) error {
	return s.Put(ctx, watchedUntil, now.UTC().Format(time.RFC3339Nano))
}
