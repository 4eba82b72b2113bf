package page

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
)

const (
	// ledRead and maxLed bound the records that are read to say what led to a held call,
	// and the calls that are named.
	ledRead, maxLed = 300, 12
	// ledKept bounds the held calls of which it is kept what led to them.
	ledKept = 4 * maxShown
	// ledSettled is how long after a call was held other processes may still record what
	// was before it.
	ledSettled = 5 * time.Second
)

// earlierCall is an earlier call of the session of a held call.
type earlierCall struct {
	ID, Tool, Outcome  string
	At                 time.Time
	Untrusted, Private bool
}

// ledBook keeps what led to held calls, which does not change while they are held. The zero
// value is empty.
type ledBook struct {
	mu  sync.Mutex
	all map[string]ledCall // by the id of the held call
}

// ledCall is what led to a held call, and when that was read.
type ledCall struct {
	led  []earlierCall
	read time.Time
}

// getLed returns what is kept of a held call. What was read before everything can have been
// recorded is read again after a time.
func (b *ledBook) getLed(a *sallyport.Approval, now time.Time) (led []earlierCall, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, ok := b.all[a.ID]
	return one.led, ok && (one.read.Sub(a.Created) > ledSettled || now.Sub(one.read) < ledSettled)
}

// keepLed keeps what led to a held call. When there are too many, another one goes.
func (b *ledBook) keepLed(id string, one ledCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string]ledCall{}
	}
	for other := range b.all {
		if len(b.all) < ledKept {
			break
		}
		delete(b.all, other)
	}
	b.all[id] = one
}

// forgetEnded forgets all but the calls that are held.
func (b *ledBook) forgetEnded(held []sallyport.Approval) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.all, func(id string, _ ledCall) bool {
		return !slices.ContainsFunc(held, func(a sallyport.Approval) bool { return a.ID == id })
	})
}

// findLed returns the calls of the sessions before held ones, the newest first, by the ids of
// the held calls. The record is read once for each principal; what cannot be read is left out.
func (s *Site) findLed(ctx context.Context, held []sallyport.Approval) map[string][]earlierCall {
	all, now := map[string][]earlierCall{}, time.Now()
	events := map[string][]audit.Event{}
	for i := range held {
		a := &held[i]
		led, ok := s.led.getLed(a, now)
		if !ok {
			of, read := events[a.Principal]
			if !read {
				of = s.readEvents(ctx, a.Principal)
				events[a.Principal] = of
			}
			led = selectLed(of, a)
			if of != nil {
				s.led.keepLed(a.ID, ledCall{led, now})
			}
		}
		all[a.ID] = led
	}
	return all
}

// readEvents returns the newest records of a principal without their arguments; nil when they
// cannot be read.
func (s *Site) readEvents(ctx context.Context, principal string) []audit.Event {
	events := []audit.Event{}
	for e, err := range audit.Events(ctx, s.rt.State, audit.Query{Principal: principal, Last: ledRead}) {
		if err != nil {
			return nil
		}
		e.Args, e.Decisions = "", nil
		events = append(events, e)
	}
	return events
}

// selectLed returns the calls of the session of a held call that were before it.
func selectLed(events []audit.Event, a *sallyport.Approval) (led []earlierCall) {
	brought := map[string]earlierCall{}
	for i := range events {
		e := &events[i]
		if string(e.Session) != a.Session || e.CallID == a.CallID || e.Kind == audit.KindChange || e.Time.After(a.Created) {
			continue
		}
		one := brought[e.CallID]
		if e.Brought != nil {
			one.Untrusted, one.Private = one.Untrusted || e.Brought.Untrusted, one.Private || e.Brought.Private
		}
		brought[e.CallID] = one
		if e.Kind == audit.KindOutcome {
			one.ID, one.Tool, one.Outcome, one.At = e.CallID, cleanText(e.Tool), outcomeOf(e), e.Time
			led = append(led, one)
		}
	}
	slices.Reverse(led)
	return slices.Clone(led[:min(len(led), maxLed)])
}
