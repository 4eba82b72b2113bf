package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/store"
)

// Options is what a test asks of the state that it opens.
type Options struct {
	// Limits bounds what is stored.
	Limits store.Limits
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

type opener = func(t testing.TB, o Options) store.State

type part struct {
	name string
	run  func(t *testing.T, open opener)
}

func runParts(t *testing.T, open opener, parts []part) {
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) { p.run(t, open) })
	}
}

type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func newManualClock() *manualClock {
	return &manualClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
