package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/window"
	"github.com/sallyport/sallyport/store"
)

// Bounds of what is counted. A key that still counts is never forgotten for
// another one: when there is no room, nothing more is admitted.
const (
	// maxLimitSlots bounds the times that all of them keep, 32 MB.
	maxLimitSlots = 4 << 20
	// sweepLimits is how many keys are looked at when one is added.
	sweepLimits = 4
)

type limitTable struct {
	keys  map[string]*limitCounter
	slots int
	// full is when a look at all keys may find room again.
	full int64
}

// limitCounter is one key. idle is when nothing of it counts any more, expires when
// it may be forgotten without need.
type limitCounter struct {
	ring          window.Ring
	idle, expires int64
}

// Admit implements sallyport.Limiter. The error matches store.ErrFull when
// more keys are in use than the store counts.
func (s *Store) Admit(ctx context.Context, key string, limit sallyport.RateLimit) (wait time.Duration, err error) {
	if err := window.CheckCall(key, limit); err != nil {
		return 0, err
	}
	if err := s.lockOpen(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.counters.stepLimit(key, limit, s.limits.LimitKeys, s.now().UnixNano())
}

// stepLimit takes the step of a limit for a key, of which there may be most.
func (l *limitTable) stepLimit(key string, limit sallyport.RateLimit, most int, now int64) (time.Duration, error) {
	if !l.hasRoom(key, most, now) {
		return 0, fmt.Errorf("memory: %d keys of rate limits are in use: %w", len(l.keys), &store.Error{Reason: store.ErrFull})
	}
	c := l.keys[key]
	if c == nil {
		c = l.addCounter(key, now)
	}
	slots := c.ring.Slots()
	wait := c.ring.Admit(limit, now)
	l.slots += c.ring.Slots() - slots
	c.idle = max(c.idle, c.ring.Last+int64(limit.Window))
	c.expires = max(c.expires, c.ring.Expires(limit.Window))
	return wait, nil
}

// addCounter adds a key and forgets some that expired, so that there are never many
// more than are in use.
func (l *limitTable) addCounter(key string, now int64) *limitCounter {
	left := sweepLimits
	for k, c := range l.keys {
		if left--; left < 0 {
			break
		}
		if c.expires <= now {
			l.forgetKey(k, c)
		}
	}
	c := &limitCounter{}
	l.keys[strings.Clone(key)] = c
	return c
}

func (l *limitTable) forgetKey(key string, c *limitCounter) {
	l.slots -= c.ring.Slots()
	delete(l.keys, key)
}

// hasRoom reports whether a call may be counted. It looks at all keys when there
// is none, and not again before that could help.
func (l *limitTable) hasRoom(key string, most int, now int64) bool {
	there := func() bool {
		return l.slots < maxLimitSlots && (len(l.keys) < most || l.keys[key] != nil)
	}
	if there() {
		return true
	}
	if now < l.full {
		return false
	}
	l.full = 0
	for k, c := range l.keys {
		if c.idle <= now {
			l.forgetKey(k, c)
		} else if l.full == 0 || c.idle < l.full {
			l.full = c.idle
		}
	}
	return there()
}
