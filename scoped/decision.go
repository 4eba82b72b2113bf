package scoped

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxNoted bounds the decisions of either kind that one call reports.
	// Allowed and refused ones count apart, so that a tool cannot bury a
	// refusal under a hundred harmless reads.
	maxNoted = 42
	// maxConnections is for how many connections, allowed or refused, their first use is
	// reported apart from those.
	maxConnections = 8
	// maxItemBytes bounds a name that a tool brought along in an error.
	maxItemBytes = 256
	// maxNotedBytes bounds each text of a decision. It is four times what a record keeps of
	// it: the gate removes secrets before the record is cut, and half of one that is cut
	// here has no place there.
	maxNotedBytes = 4 << 10
)

// decisionCounts counts the decisions of a call.
type decisionCounts struct{ allowed, refused atomic.Int32 }

// connectionNames is the connections whose first use was reported.
type connectionNames struct {
	mu    sync.Mutex
	names []string
}

// addName returns how many names were there before one; fresh is false for one of them.
func (c *connectionNames) addName(name string) (before int, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.names, name) {
		return 0, false
	}
	if before = len(c.names); before < maxConnections+maxNoted {
		c.names = append(c.names, name)
	}
	return before, true
}

// recordConnection reports the first decision of its kind about a connection: a tool cannot
// bury the use of one under questions to another.
func (b *Binding) recordConnection(d sallyport.Decision) {
	noted := &b.connections.refused
	if d.Allowed {
		noted = &b.connections.allowed
	}
	switch before, fresh := noted.addName(d.Resource); {
	case !fresh:
	case before < maxConnections:
		sendDecision(b.out, d)
	default:
		b.recordDecision(d)
	}
}

// recordDecision reports a decision of an accessor, up to the bound.
func (b *Binding) recordDecision(d sallyport.Decision) {
	count := &b.noted.refused
	if d.Allowed {
		count = &b.noted.allowed
	}
	switch n := count.Add(1); {
	case n < maxNoted:
		sendDecision(b.out, d)
	case n == maxNoted:
		d.Why += "; further decisions of this kind are not listed"
		sendDecision(b.out, d)
	default:
		// Staying at the bound keeps the counter from ever wrapping around.
		count.Store(maxNoted)
	}
}

func (b *Binding) recordAllowed(capability, resource, why string) {
	b.recordDecision(newAllowed(capability, resource, why))
}

func newAllowed(capability, resource, why string) sallyport.Decision {
	return sallyport.Decision{
		Step: sallyport.StepAccess, Allowed: true, Capability: capability, Resource: clipNoted(resource), Why: clipNoted(why),
	}
}

// recordRefusal reports a refusal with the reason for which a matching declared
// item was dropped.
func (b *Binding) recordRefusal(capability, resource string, matches func(entry string) bool) {
	b.recordDecision(b.scope.explainDropped(newRefusal(capability, resource), matches))
}

// explainDropped adds to a refusal why the declared entry that would have allowed it
// is not in the grant.
func (s *Scope) explainDropped(d sallyport.Decision, matches func(entry string) bool) sallyport.Decision {
	for _, lost := range s.grant.Dropped {
		if group.Within(lost.Capability, d.Capability) && matches(lost.Item) {
			d.Why += ": " + lost.Why
			d.Source, d.Fix = lost.Source, lost.Fix
			return d
		}
	}
	return d
}

// newRefusal returns the decision about a thing that neither the grant nor, as
// far as is known here, the declaration holds.
func newRefusal(capability, resource string) sallyport.Decision {
	resource = clipNoted(resource)
	return sallyport.Decision{
		Step: sallyport.StepAccess, Capability: capability, Resource: resource,
		Why: cmp.Or(resource, capability) + " is outside the grant",
		Fix: "declare it in the tool's capabilities." + capability,
	}
}

// sendDecision passes a decision on; a nil note drops it.
func sendDecision(note func(sallyport.Decision), d sallyport.Decision) {
	if note != nil {
		note(d)
	}
}

func clipItem(s string) string { return text.ClipBytes(s, maxItemBytes) }

// clipNoted cuts a text of a decision.
func clipNoted(s string) string { return text.ClipBytes(s, maxNotedBytes) }

// hideBackendError turns a failure of a backend into one that the caller may see. A coded
// error was written for the caller and stays; of anything else the caller sees
// the detail only, because drivers put addresses and credentials into their
// texts. The cause stays in the chain for the log and for errors.Is.
func hideBackendError(err error, detail string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		detail += ": the time is up"
	case errors.Is(err, context.Canceled):
		detail += ": the call was cancelled"
	}
	return &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: detail, Err: err}
}

// notAvailable refuses a group that has no scoped code of its own.
func notAvailable(resource, detail string) error {
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Resource: resource, Detail: detail}
}
