package registry_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/registry"
)

// movingSet is a set of addresses whose members change.
type movingSet struct {
	mu      sync.Mutex
	members map[string]bool
	err     error
}

func (s *movingSet) Kind(set string) (sallyport.ValueKind, bool) {
	return effect.Mail, set == "contacts"
}

func (s *movingSet) Has(_ context.Context, _, value string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[value], s.err
}

func (s *movingSet) Holds(ctx context.Context, _ sallyport.ValueKind, exact string) (bool, error) {
	return s.Has(ctx, "", exact)
}

func (s *movingSet) put(value string, member bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[value] = member
}

// TestMembershipIsLookedAtAgain when a call that waited uses its approval: it runs only
// for the reasons about which a person has decided.
func TestMembershipIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	const both = `{"to":"ann@example.com","cc":["bob@example.com"]}`
	for _, c := range []struct {
		name, ceiling string
		change        func(*movingSet)
		code          sallyport.Code
	}{
		{"nothing changed", `{"to":{"known":"contacts","else":"hold"}}`, func(*movingSet) {}, within},
		{"the value became a member", `{"to":{"known":"contacts","else":"hold"}}`, func(s *movingSet) { s.put("ann@example.com", true) }, within},
		{"another value is refused now", `{"to":{"known":"contacts","else":"hold"},"cc":{"known":"contacts"}}`, func(s *movingSet) { s.put("bob@example.com", false) }, outside},
		{"another value is held now", `{"to":{"known":"contacts","else":"hold"},"cc":{"known":"contacts","else":"hold"}}`, func(s *movingSet) { s.put("bob@example.com", false) }, held},
		{"the set cannot be read", `{"to":{"known":"contacts","else":"hold"}}`, func(s *movingSet) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.err = errors.New("gone")
		}, sallyport.CodeNotAvailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := &movingSet{members: map[string]bool{"bob@example.com": true}}
			l := newCapped(t, mails, c.ceiling, func(p *sallyport.Personality, _ *sallyport.Tool, o *registry.Options) {
				p.Approvals, o.Known = &sallyport.Approvals{Wait: time.Minute}, set
				o.Approvals = &decidingQueue{decide: func() { c.change(set) }}
			})
			l.want(both, c.code)
		})
	}
}

// decidingQueue approves each call while it waits, after something else has happened.
type decidingQueue struct {
	sallyport.ApprovalQueue
	decide func()
	asked  sallyport.Approval
}

func (q *decidingQueue) Ask(_ context.Context, a sallyport.Approval) (sallyport.Approval, error) {
	a.State = sallyport.ApprovalPending
	q.asked = a
	return a, nil
}

func (q *decidingQueue) Wait(context.Context, string) (sallyport.Approval, error) {
	q.decide()
	q.asked.State, q.asked.DecidedBy = sallyport.ApprovalApproved, "boss"
	return q.asked, nil
}

func (q *decidingQueue) Use(context.Context, string) (bool, error) { return true, nil }

// TestAPersonIsAskedAboutWhatACeilingHolds, by their own client, and not about what one
// only refuses.
func TestAPersonIsAskedAboutWhatACeilingHolds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"to":{"known":"contacts"}}`: false, `{"to":{"known":"contacts","else":"hold"}}`: true, `{"cc":{"items":{"from_untrusted":"hold"}}}`: true,
		`{"to":{"from_untrusted":"refuse"}}`: false, `{}`: false, `false`: false,
	} {
		readOnly := func(_ *sallyport.Personality, tool *sallyport.Tool, _ *registry.Options) {
			tool.ReadOnly, tool.Destinations = true, nil
		}
		l := newCapped(t, mails, text, readOnly)
		if got := l.Asks(l.caller(), "send"); got != want {
			t.Errorf("with %s: Asks() = %v, want %v", text, got, want)
		}
	}
}
