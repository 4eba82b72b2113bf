package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/registry"
)

// changingSets has one set, payees, whose members a test changes.
type changingSets struct {
	mu      sync.Mutex
	members []string
	err     error
}

func (s *changingSets) set(err error, members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members, s.err = members, err
}

func (s *changingSets) Kind(set string) (sallyport.ValueKind, bool) {
	return "account", set == "payees"
}

func (s *changingSets) Has(_ context.Context, _, value string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m == value {
			return true, nil
		}
	}
	return false, s.err
}

func (s *changingSets) Holds(context.Context, sallyport.ValueKind, string) (bool, error) {
	return false, nil
}

// unread is what sets say whose query cannot be read.
func unread() error {
	return fmt.Errorf("known.payees: %w: connection bank cannot be reached", known.ErrUnread)
}

func newPayeeDesk(t *testing.T, b *ruleBook, sets *changingSets, ceiling string, edit func(*sallyport.Personality)) *desk {
	t.Helper()
	d := newDeskOf(t, asking(func(p *sallyport.Personality) {
		p.Approvals.Require = nil
		p.Arguments = map[string]json.RawMessage{"held": json.RawMessage(ceiling)}
		if edit != nil {
			edit(p)
		}
	}), b.store, &sallyport.Backends{}, b.wire, func(o *registry.Options) { o.Known = sets })
	d.hold(declareArguments)
	return d
}

// TestOfASetThatCannotBeReadNoValueIsAMember: the call is refused or held, as the ceiling
// says of other values, and the operator reads why.
func TestOfASetThatCannotBeReadNoValueIsAMember(t *testing.T) {
	t.Parallel()
	sets := &changingSets{}
	sets.set(unread())
	d := newPayeeDesk(t, newRuleBook(t), sets, `{"to":{"known":"payees"}}`, nil)
	res := d.want(`{"to":"a"}`, sallyport.CodePermissionDenied, 0)
	if strings.Contains(res.Error, "connection") || strings.Contains(res.Error, "payees") {
		t.Errorf("the caller reads %q, want nothing of the set", res.Error)
	}
	said := d.recorder.last().Decisions
	if last := said[len(said)-1]; !strings.Contains(last.Why, "connection bank cannot be reached") || last.Fix != "sallyport known ls payees" {
		t.Errorf("the record says %+v, want why the set is empty and what tries it", last)
	}

	b := newRuleBook(t)
	d = newPayeeDesk(t, b, sets, `{"to":{"known":"payees","else":"hold"}}`, nil)
	d.want(`{"to":"a"}`, sallyport.CodeApprovalRequired, 0)
	a := d.one()
	if !strings.Contains(a.Why, "connection bank cannot be reached") || a.Unknown != nil {
		t.Errorf("the held call says %q and unknown %v, want the reason, and no set to grow", a.Why, a.Unknown)
	}
	d.decide(a.ID, true, "")
	d.want(`{"to":"a"}`, "", 1)
	d.want(`{"to":"a"}`, sallyport.CodeApprovalRequired, 1)
}

// TestAnyOtherFaultOfASetEndsTheCall, whatever the ceiling says of other values.
func TestAnyOtherFaultOfASetEndsTheCall(t *testing.T) {
	t.Parallel()
	sets := &changingSets{}
	sets.set(errors.New("broken"))
	d := newPayeeDesk(t, newRuleBook(t), sets, `{"to":{"known":"payees","else":"hold"}}`, nil)
	d.want(`{"to":"a"}`, sallyport.CodeNotAvailable, 0)
}

// TestASetIsLookedAtAgainWhenAnApprovalIsUsed: a value that is no member any more, or
// whose set cannot be read any more, is another reason to hold the call.
func TestASetIsLookedAtAgainWhenAnApprovalIsUsed(t *testing.T) {
	t.Parallel()
	for name, now := range map[string]error{"the member is gone": nil, "the set cannot be read": unread()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sets := &changingSets{}
			sets.set(nil, "a")
			d := newPayeeDesk(t, newRuleBook(t), sets, `{"to":{"known":"payees","else":"hold"}}`, func(p *sallyport.Personality) { p.Approvals.Require = []string{"held"} })
			d.want(`{"to":"a"}`, sallyport.CodeApprovalRequired, 0)
			d.decide(d.one().ID, true, "")
			sets.set(now)
			d.want(`{"to":"a"}`, sallyport.CodeApprovalRequired, 0)
		})
	}
}
