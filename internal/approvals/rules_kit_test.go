package approvals_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/store/memory"
)

// desk is a state with rules and a clock that a test moves.
type desk struct {
	t        *testing.T
	held     sallyport.ApprovalStore
	settings approvals.RuleSettings
	*approvals.Rules

	mu  sync.Mutex
	now time.Time
}

func newDesk(t *testing.T, edit func(d *desk, o *approvals.RulesOptions)) *desk {
	t.Helper()
	d := &desk{t: t, now: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)}
	state, err := memory.New(&memory.Options{Now: d.clock})
	if err != nil {
		t.Fatal(err)
	}
	d.held, d.settings = state.Approvals(), state.Settings()
	o := &approvals.RulesOptions{Now: d.clock}
	if edit != nil {
		edit(d, o)
	}
	d.Rules = approvals.NewRules(d.settings, d.held, o)
	return d
}

func (d *desk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *desk) wait(span time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(span)
}

// newCall returns a call of the tool send, to a and about b unless args say
// otherwise; "-" leaves one out. Each asks for a decision of its own.
func (d *desk) newCall(id string, args map[string]string) *sallyport.Approval {
	all := map[string]string{"to": "a", "subject": "b"}
	maps.Copy(all, args)
	now := d.clock()
	a := &sallyport.Approval{
		ID: id, Digest: id, Tool: "send", Args: "{}", Principal: "agent", Session: "s", Created: now, Expires: now.Add(time.Hour),
		Shape: &sallyport.ApprovalShape{Asked: "asked", Touches: "touches", Session: "s", Args: all},
	}
	for name, value := range all {
		if value == "-" {
			delete(all, name)
		}
	}
	return a
}

// hold holds a call and returns it.
func (d *desk) hold(a *sallyport.Approval) *sallyport.Approval {
	d.t.Helper()
	held, err := d.held.Ask(d.t.Context(), *a)
	if err != nil || held.ID != a.ID {
		d.t.Fatalf("Ask(%s) = %s, %v", a.ID, held.ID, err)
	}
	return a
}

// give holds a call and gives the rule for it.
func (d *desk) give(a *sallyport.Approval, equal ...string) *approvals.Rule {
	d.t.Helper()
	r, err := approvals.ProposeRule(d.hold(a), equal)
	if err == nil {
		err = d.Give(d.t.Context(), *r, approvals.DeciderNamed("boss"), "as agreed")
	}
	if err != nil {
		d.t.Fatalf("the rule for %s: %v", a.ID, err)
	}
	return r
}

// wantUse checks whether a call runs under a rule.
func (d *desk) wantUse(what string, a *sallyport.Approval, want bool) {
	d.t.Helper()
	if said, ok, err := d.Use(d.t.Context(), a); ok != want || err != nil {
		d.t.Errorf("%s: Use() = %q, %t, %v, want %t", what, said, ok, err, want)
	}
}

// wantState checks the state of a held call, and that no run can be had of it.
func (d *desk) wantState(id string, want sallyport.ApprovalState) {
	d.t.Helper()
	if a, err := d.held.Get(d.t.Context(), id); a.State != want || err != nil {
		d.t.Errorf("%s is %s, %v, want %s", id, a.State, err, want)
	}
	if ok, err := d.held.Use(d.t.Context(), id); ok || err != nil {
		d.t.Errorf("%s: a call can run once on it, %v", id, err)
	}
}

// failing are settings of which a test breaks one method after another.
type failing struct {
	approvals.RuleSettings
	broken string
}

var errBroken = errors.New("broken")

func (f *failing) Get(ctx context.Context, name string) (string, bool, error) {
	if f.broken == "get" {
		return "", false, errBroken
	}
	return f.RuleSettings.Get(ctx, name)
}

func (f *failing) PutIfAbsent(ctx context.Context, name, value string) (string, bool, error) {
	if f.broken == "put" {
		return "", false, errBroken
	}
	return f.RuleSettings.PutIfAbsent(ctx, name, value)
}

func (f *failing) Swap(ctx context.Context, name, old, value string) (bool, error) {
	if f.broken == "swap" {
		return false, errBroken
	}
	return f.RuleSettings.Swap(ctx, name, old, value)
}
