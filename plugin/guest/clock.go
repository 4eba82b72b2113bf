package guest

import (
	"context"
	"sync"
	"time"
)

// callContext ends with the time of a call, and with the call. Most tools never wait, so
// that it has no timer before something asks for its end.
type callContext struct {
	deadline time.Time

	mu    sync.Mutex
	inner context.Context // nil until something waits
	end   context.CancelFunc
	ended bool
}

func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value has nothing of its own. Contexts that are made of this one find the one inside.
func (c *callContext) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		return nil
	}
	return c.inner.Value(key)
}

// Done returns a channel that is closed at the end.
func (c *callContext) Done() <-chan struct{} { return c.startTimer().Done() }

// Err says whether it has ended, and why.
func (c *callContext) Err() error {
	c.mu.Lock()
	waits := c.inner != nil || c.ended
	c.mu.Unlock()
	if waits || !time.Now().Before(c.deadline) {
		return c.startTimer().Err()
	}
	return nil
}

func (c *callContext) startTimer() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.end = context.WithDeadline(context.Background(), c.deadline)
	}
	if c.ended {
		c.end()
	}
	return c.inner
}

// endCall ends it with the call.
func (c *callContext) endCall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.inner != nil {
		c.end()
	}
}
