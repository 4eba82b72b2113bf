package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/store/sqlite"
)

func TestARuleCoversItsShapeOnly(t *testing.T) {
	t.Parallel()
	type call struct {
		args  map[string]string
		edit  func(s *sallyport.ApprovalShape)
		whole bool // covered by the rule for the same arguments
		some  bool // covered by the rule for the same "to"
	}
	for name, tt := range map[string]call{
		"the held call":             {whole: true, some: true},
		"another free argument":     {args: map[string]string{"subject": "c"}, some: true},
		"another bound argument":    {args: map[string]string{"to": "c"}},
		"a further argument":        {args: map[string]string{"bcc": "c"}},
		"without a free argument":   {args: map[string]string{"subject": "-"}},
		"without a bound argument":  {args: map[string]string{"to": "-"}},
		"one argument for another":  {args: map[string]string{"subject": "-", "bcc": "b"}},
		"a name that looks alike":   {args: map[string]string{"to": "-", "t\u043e": "a"}},
		"asked by another":          {edit: func(s *sallyport.ApprovalShape) { s.Asked = "other" }},
		"touches other things":      {edit: func(s *sallyport.ApprovalShape) { s.Touches = "other" }},
		"held by what was read":     {edit: func(s *sallyport.ApprovalShape) { s.Exact = true }, whole: true},
		"a bound argument unknown":  {edit: func(s *sallyport.ApprovalShape) { s.Args["to"] = "" }},
		"without anything to match": {edit: func(s *sallyport.ApprovalShape) { *s = sallyport.ApprovalShape{} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, equal := range [][]string{nil, {"to"}} {
				d := newDesk(t, nil)
				d.give(d.newCall("held", nil), equal...)
				a := d.newCall("later", tt.args)
				if tt.edit != nil {
					tt.edit(a.Shape)
				}
				want := tt.whole
				if equal != nil {
					want = tt.some
				}
				d.wantUse(fmt.Sprintf("equal %v", equal), a, want)
			}
		})
	}
}

func TestARuleIsProposedForWhatTheCallHas(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	a := d.newCall("held", map[string]string{"t\u043e": "x"})
	r, err := approvals.ProposeRule(a, []string{"to"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Describe(), `equal: "to"; any value: "subject", "t\u043e"`; got != want {
		t.Errorf("Describe() = %s, want %s", got, want)
	}
	if _, err := approvals.ProposeRule(a, []string{"bcc"}); err == nil || !strings.Contains(err.Error(), `no argument "bcc"`) {
		t.Errorf("ProposeRule() of an unknown argument = %v", err)
	}
	tainted := *a
	tainted.Shape = &sallyport.ApprovalShape{Asked: "asked", Args: a.Shape.Args, Exact: true}
	if _, err := approvals.ProposeRule(&tainted, []string{"to"}); err == nil || !strings.Contains(err.Error(), "exactly these arguments only") {
		t.Errorf("ProposeRule() of free arguments after taint = %v", err)
	}
	if _, err := approvals.ProposeRule(&tainted, nil); err != nil {
		t.Errorf("ProposeRule() of the same arguments after taint = %v", err)
	}
	if _, err := approvals.ProposeRule(&sallyport.Approval{ID: "held"}, nil); err == nil {
		t.Error("ProposeRule() of a call without a session = no error")
	}
	other, err := approvals.ProposeRule(a, []string{"subject"})
	if err != nil || other.Digest() == r.Digest() {
		t.Errorf("rules about other arguments have one digest, %v", err)
	}
	for expect, ok := range map[string]bool{
		r.Digest(): true, r.Digest()[:32]: true, strings.ToUpper(r.Digest()): true, r.Digest()[:31]: false, r.Digest()[:16]: false, "": false, other.Digest(): false,
	} {
		if err := r.CheckExpected(expect); (err == nil) != ok {
			t.Errorf("CheckExpected(%q) = %v, want %t", expect, err, ok)
		}
	}
}

func TestARuleCountsForEightHours(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.give(d.newCall("held", nil))
	d.wantUse("at once", d.newCall("c", nil), true)
	d.wait(8*time.Hour - 1)
	d.wantUse("just before the end", d.newCall("c", nil), true)
	d.wait(-9 * time.Hour)
	d.wantUse("by a clock that is behind", d.newCall("c", nil), false)
	d.wait(9*time.Hour + 1)
	d.wantUse("at the end", d.newCall("c", nil), false)
	d.wait(-1)
	d.wantUse("by a clock that is set back after the end", d.newCall("c", nil), false)
	d.give(d.newCall("listed", nil))
	d.wait(8 * time.Hour)
	if list, err := d.List(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("List() = %v, %v, want none", list, err)
	}
	d.wait(-1)
	d.wantUse("by a clock that is set back after the list", d.newCall("c", nil), false)
	d.give(d.newCall("next", nil))
	if text, _, _ := d.settings.Get(t.Context(), "approvals.rules"); strings.Contains(text, `"held"`) {
		t.Error("a rule that is over is still stored")
	}
}

func TestANoCountsMoreThanARule(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	refused := d.hold(d.newCall("refused", map[string]string{"subject": "c"}))
	if err := d.held.Decide(t.Context(), refused.ID, "boss", false, ""); err != nil {
		t.Fatal(err)
	}
	d.give(d.newCall("held", nil), "to")
	d.wantUse("another call", d.newCall("free", map[string]string{"subject": "d"}), true)
	d.wantUse("the refused call", refused, false)
	for n := range 3 {
		d.wait(2 * time.Hour)
		again := *refused
		again.ID, again.Created, again.Expires = fmt.Sprint("again", n), d.clock(), d.clock().Add(time.Hour)
		held, err := d.held.Ask(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		d.wantUse("the refused call after its expiry, "+string(held.State), refused, false)
	}
}

// TestARuleForAnotherCallLeavesADeniedOneOpen gives a rule that covers a call
// which was denied and is held again.
func TestARuleForAnotherCallLeavesADeniedOneOpen(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	refused := d.hold(d.newCall("refused", map[string]string{"subject": "c"}))
	if err := d.held.Decide(t.Context(), refused.ID, "boss", false, ""); err != nil {
		t.Fatal(err)
	}
	d.wait(time.Hour)
	again := d.newCall("again", map[string]string{"subject": "c"})
	again.Digest = refused.Digest
	d.hold(again)
	d.give(d.newCall("held", nil), "to")
	d.wantState("again", sallyport.ApprovalPending)
	d.wantUse("the call that was denied", again, false)
	r, err := approvals.ProposeRule(again, nil)
	if err == nil {
		err = d.Give(t.Context(), *r, approvals.DeciderNamed("boss"), "")
	}
	if err != nil {
		t.Fatal(err)
	}
	d.wantUse("under a rule for exactly this call", again, true)
}

func TestARuleThatIsRevokedEndsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := d.give(d.newCall("held", nil))
	d.wantUse("before", d.newCall("c", nil), true)
	if gone, err := d.Revoke(t.Context(), r.ID); gone.ID != r.ID || err != nil {
		t.Fatalf("Revoke() = %s, %v", gone.ID, err)
	}
	d.wantUse("after", d.newCall("c", nil), false)
	if _, err := d.Revoke(t.Context(), r.ID); !errors.Is(err, approvals.ErrRuleUnknown) {
		t.Errorf("Revoke() again = %v", err)
	}
	if err := d.Give(t.Context(), *r, approvals.DeciderNamed("boss"), ""); !errors.Is(err, sallyport.ErrApprovalClosed) {
		t.Errorf("Give() of a rule that was revoked = %v, want the held call closed", err)
	}
}

// TestAChangeEndsARule changes what a call may touch, or the token of its
// principal, and changes it back.
func TestAChangeEndsARule(t *testing.T) {
	t.Parallel()
	stands := true
	d := newDesk(t, func(_ *desk, o *approvals.RulesOptions) {
		o.Stands = func(context.Context, string, time.Time) (bool, error) { return stands, nil }
	})
	d.give(d.newCall("one", nil))
	other := d.newCall("c", nil)
	other.Shape.Touches = "less"
	d.wantUse("with another grant", other, false)
	d.wantUse("with the grant of before", d.newCall("c", nil), false)

	d.give(d.newCall("two", nil))
	stands = false
	d.wantUse("with another token", d.newCall("c", nil), false)
	stands = true
	d.wantUse("with the token of before", d.newCall("c", nil), false)
}

func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	give := func(id, principal string) error {
		a := d.newCall(id, nil)
		a.Principal, a.Shape.Asked = principal, id
		r, err := approvals.ProposeRule(d.hold(a), nil)
		if err != nil {
			t.Fatal(err)
		}
		return d.Give(t.Context(), *r, approvals.DeciderNamed("boss"), "")
	}
	for n := range 50 {
		if err := give(fmt.Sprint(n), "agent"); err != nil {
			t.Fatal(err)
		}
	}
	if err := give("own", "agent"); err == nil || !strings.Contains(err.Error(), "agent has 50 rules") {
		t.Errorf("the 51st rule of a principal = %v", err)
	}
	fifty, _, _ := d.settings.Get(t.Context(), "approvals.rules")
	list := strings.Trim(fifty, "[]")
	if swapped, err := d.settings.Swap(t.Context(), "approvals.rules", fifty, "["+strings.Repeat(list+",", 9)+list+"]"); !swapped || err != nil {
		t.Fatal(err)
	}
	if err := give("one more", "other"); err == nil || !strings.Contains(err.Error(), "there are 500 rules") {
		t.Errorf("the 501st rule = %v", err)
	}
	d.wantState("own", sallyport.ApprovalPending)
}

// TestAGiftThatFailsGivesNothing lets each write fail: no failure leaves an
// approval for one run behind.
func TestAGiftThatFailsGivesNothing(t *testing.T) {
	t.Parallel()
	var broken *failing
	d := newDesk(t, func(d *desk, _ *approvals.RulesOptions) {
		broken = &failing{RuleSettings: d.settings}
		d.settings = broken
	})
	d.give(d.newCall("first", map[string]string{"to": "z"}))
	r, err := approvals.ProposeRule(d.hold(d.newCall("held", nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"get", "swap"} {
		broken.broken = how
		if err := d.Give(t.Context(), *r, approvals.DeciderNamed("boss"), ""); !errors.Is(err, errBroken) {
			t.Errorf("Give() when %s fails = %v", how, err)
		}
		broken.broken = ""
		d.wantState("held", sallyport.ApprovalPending)
		d.wantUse("after "+how+" failed", d.newCall("c", nil), false)
	}
	for by, want := range map[string]error{"agent": sallyport.ErrApprovalOwn, "": nil} {
		if err := d.Give(t.Context(), *r, approvals.DeciderNamed(by), ""); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("Give() by %q = %v", by, err)
		}
	}
	wider := *r
	wider.Equal, wider.Free = []string{"to"}, []string{"subject", "bcc"}
	if err := d.Give(t.Context(), wider, approvals.DeciderNamed("boss"), ""); err == nil {
		t.Error("Give() of a rule about other arguments than the call's = no error")
	}
	d.wantState("held", sallyport.ApprovalPending)
	// A run that cannot be counted is none.
	if err := d.Give(t.Context(), *r, approvals.DeciderNamed("boss"), ""); err != nil {
		t.Fatal(err)
	}
	broken.broken = "put"
	if _, ok, err := d.Use(t.Context(), d.newCall("c", nil)); ok || !errors.Is(err, errBroken) {
		t.Errorf("Use() without a count = %t, %v", ok, err)
	}
}

// stuck are held calls that a process does not close, because it died.
type stuck struct{ sallyport.ApprovalStore }

func (stuck) YieldToRule(context.Context, string, string, string, string) error { return nil }

func TestADeathAfterTheGiftLeavesTheRuleAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r, err := approvals.ProposeRule(d.hold(d.newCall("held", nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	dying := approvals.NewRules(d.settings, stuck{d.held}, &approvals.RulesOptions{Now: d.clock})
	if err := dying.Give(t.Context(), *r, approvals.DeciderNamed("boss"), ""); err != nil {
		t.Fatal(err)
	}
	d.wantState("held", sallyport.ApprovalPending)
	d.wantUse("the call", d.newCall("c", nil), true)
	if _, err := d.Revoke(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	d.wantUse("the call once the rule is revoked", d.newCall("c", nil), false)
	d.wantState("held", sallyport.ApprovalPending)
}

func TestARuleAnswersEveryCallThatWaitsForIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.hold(d.newCall("covered", map[string]string{"subject": "c"}))
	d.hold(d.newCall("other", map[string]string{"to": "c"}))
	d.give(d.newCall("held", nil), "to")
	d.wantState("held", sallyport.ApprovalUsed)
	d.wantState("covered", sallyport.ApprovalUsed)
	d.wantState("other", sallyport.ApprovalPending)
}

func TestRulesThatCannotBeReadAllowNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.give(d.newCall("held", nil))
	good, _, _ := d.settings.Get(t.Context(), "approvals.rules")
	last := good
	for name, text := range map[string]string{
		"no JSON": "x", "a field of a later version": strings.Replace(good, `"tool"`, `"only_mondays":true,"tool"`, 1),
		"without a shape": strings.Replace(good, `"shape"`, `"tool"`, 1), "more runs": strings.Replace(good, `"runs":100`, `"runs":1000`, 1),
		"longer": strings.Replace(good, `"expires_at":"2026`, `"expires_at":"2027`, 1),
	} {
		if swapped, err := d.settings.Swap(t.Context(), "approvals.rules", last, text); !swapped || err != nil || text == good {
			t.Fatalf("%s: Swap() = %t, %v", name, swapped, err)
		}
		last = text
		if _, ok, err := d.Use(t.Context(), d.newCall("c", nil)); ok || err == nil {
			t.Errorf("%s: Use() = %t, %v, want an error", name, ok, err)
		}
		if _, err := d.Revoke(t.Context(), "held"); !errors.Is(err, approvals.ErrRulesUnreadable) {
			t.Errorf("%s: Revoke() = %v", name, err)
		}
	}
	if _, err := d.EndAll(t.Context(), func(*approvals.Rule) bool { return true }); err != nil {
		t.Fatal(err)
	}
	d.wantUse("once all are removed", d.newCall("c", nil), false)
	d.give(d.newCall("next", nil))
	d.wantUse("under a new rule", d.newCall("c", nil), true)
}

// TestRunsAreCountedExactly uses a rule from two states on one file at once, as
// two processes do.
func TestRunsAreCountedExactly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	var desks []*desk
	for range 2 {
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		d := newDesk(t, func(d *desk, _ *approvals.RulesOptions) { d.held, d.settings = db.Approvals(), db.Settings() })
		d.now = time.Now()
		desks = append(desks, d)
	}
	r := desks[0].give(desks[0].newCall("held", nil))
	var ran atomic.Int32
	var all sync.WaitGroup
	for n := range 120 {
		d := desks[n%2]
		all.Go(func() {
			_, ok, err := d.Use(context.WithoutCancel(t.Context()), d.newCall(fmt.Sprint(n), nil))
			if ok {
				ran.Add(1)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ran.Load() != int32(r.Runs) {
		t.Errorf("%d of 120 calls ran, want %d", ran.Load(), r.Runs)
	}
	if list, err := desks[1].List(t.Context()); len(list) != 1 || list[0].Used != r.Runs || err != nil {
		t.Errorf("List() = %+v, %v, want %d runs used", list, err, r.Runs)
	}
}
