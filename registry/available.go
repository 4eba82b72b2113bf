package registry

import (
	"fmt"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// availableWait bounds how long a call or listing waits for a tool's own word
// on whether it can work. The word is asked for at each listing, so that it
// has to be quick.
const availableWait = time.Second

// availability asks a tool whether it can work, once at a time: callers that
// come during the check share the answer, and a check that hangs is not asked again.
type availability struct {
	mu      sync.Mutex
	current *availabilityCheck
}

// availabilityCheck is one check under way.
type availabilityCheck struct {
	since time.Time
	done  chan struct{}
	why   string // why not; valid once done is closed
	said  bool   // why is the tool's own reason, for callers too
}

// checkAvailability decides whether the tool says that it can work now. A
// check that panics or hangs hides this tool only. said is true when the
// reason is one for callers.
func (r *Registry) checkAvailability(e *toolEntry) (d sallyport.Decision, said bool) {
	d = sallyport.Decision{Step: sallyport.StepReady, Allowed: true}
	if e.tool.IsAvailable == nil {
		return d, false
	}
	q := e.available.joinCheck(r, &e.tool)
	timer := time.NewTimer(availableWait - time.Since(q.since))
	defer timer.Stop()
	select {
	case <-q.done:
		d.Why, said = q.why, q.said
	case <-timer.C:
		d.Why = "its availability check hangs"
	}
	d.Allowed = d.Why == ""
	return d, said
}

// joinCheck returns the check that is under way, or starts one.
func (a *availability) joinCheck(r *Registry, t *sallyport.Tool) *availabilityCheck {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current != nil {
		return a.current
	}
	q := &availabilityCheck{since: time.Now(), done: make(chan struct{}), why: "its availability check panicked"}
	a.current = q
	go func() {
		defer func() {
			if v := recover(); v != nil {
				r.o.Logger.Error("isAvailable panicked", "tool", t.Name, "panic", r.cleaner.Load().cleaner.Text(fmt.Sprint(v)))
			}
			a.mu.Lock()
			a.current = nil
			a.mu.Unlock()
			close(q.done)
		}()
		switch {
		case t.IsAvailable():
			q.why = ""
			return
		case t.WhyNot != nil:
			q.why = t.WhyNot()
			q.said = q.why != ""
		}
		if !q.said {
			q.why = "the tool says that it cannot work now"
		}
	}()
	return q
}

// checkReady refuses a tool that says that it cannot work now.
func (c *call) checkReady() bool {
	if d, said := c.r.checkAvailability(c.entry); !d.Allowed {
		text := "Tool " + c.q.Tool + " is not currently available"
		if said {
			text += ": " + d.Why
		}
		c.explainMissing(&d, c.q.Tool)
		return c.refuse(d, sallyport.CodeNotAvailable, text)
	}
	return c.allowStep(sallyport.StepReady)
}
