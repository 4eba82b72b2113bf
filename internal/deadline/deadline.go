// Package deadline has a context with a deadline that is part of what it is for,
// and costs no timer and no memory until something waits for its end.
package deadline

import (
	"context"
	"sync"
	"time"
)

// Context ends at its deadline, with its parent, or when it is cancelled, like
// one of [context.WithDeadline], which it becomes when something waits for its end.
// Call [Context.Start] before anything else. It is safe for concurrent use.
type Context struct {
	parent context.Context
	at     time.Time // zero: no deadline of its own

	mu     sync.Mutex
	ended  error           // why it ended; nil while it did not, or armed knows
	armed  context.Context // nil until something waits for the end
	cancel context.CancelFunc
}

// Start sets what the context follows, and when it ends at the latest; the zero
// time sets no deadline. Call [Context.Cancel] when it is not needed any more.
func (c *Context) Start(parent context.Context, at time.Time) { c.parent, c.at = parent, at }

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	if c.at.IsZero() || ok && at.Before(c.at) {
		return at, ok
	}
	return c.at, true
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed == nil {
		c.arm()
	}
	return c.armed.Done()
}

// arm makes the context that others can wait for. The caller holds the lock.
func (c *Context) arm() {
	if c.at.IsZero() || c.ended == context.Canceled {
		c.armed, c.cancel = context.WithCancel(c.parent)
	} else {
		c.armed, c.cancel = context.WithDeadline(c.parent, c.at)
	}
	if c.ended != nil {
		c.cancel()
	}
}

// Err implements context.Context.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endReason()
}

// endReason returns why the context ended, nil while it did not. It does not
// change afterwards. The caller holds the lock.
func (c *Context) endReason() error {
	switch {
	case c.armed != nil:
		return c.armed.Err()
	case c.ended != nil:
	case c.parent.Err() != nil:
		c.ended = c.parent.Err()
	case !c.at.IsZero() && time.Until(c.at) <= 0:
		c.ended = context.DeadlineExceeded
	}
	return c.ended
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	from := c.armed
	c.mu.Unlock()
	if from == nil {
		from = c.parent
	}
	return from.Value(key)
}

// Cancel ends the context.
func (c *Context) Cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.armed != nil:
		c.cancel()
	case c.endReason() == nil:
		c.ended = context.Canceled
	}
}
