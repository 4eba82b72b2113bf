package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// newShapedCall is a request that a rule may take the place of.
func newShapedCall(id, digest string, now time.Time) sallyport.Approval {
	a := newHeldCall(id, digest, now)
	a.Shape = &sallyport.ApprovalShape{Asked: "a", Touches: "t", Session: "s", Args: map[string]string{"to": "1", "\u200bto'": "2"}}
	return a
}

// testApprovalYields closes requests in favour of a rule: nothing runs on them.
func testApprovalYields(t *testing.T, open opener) {
	c := newManualClock()
	s := open(t, Options{Now: c.Now}).Approvals()
	yield := func(id, by, rule string) error { return s.YieldToRule(t.Context(), id, by, rule, " as agreed ") }
	if _, ok, err := s.LatestDecided(t.Context(), "d1"); ok || err != nil {
		t.Errorf("LatestDecided of a digest that nothing asked about = %v, %v", ok, err)
	}
	want := askApproval(t, s, newShapedCall("a1", "d1", c.Now()))
	askApproval(t, s, newHeldCall("plain", "d2", c.Now()))
	for what, err := range map[string]error{
		"by the principal that asked": yield("a1", want.Principal, "r"), "by an approver without a name": yield("a1", "", "r"),
		"without a rule": yield("a1", "boss", ""), "of an unknown id": yield("none", "boss", "r"),
	} {
		if err == nil {
			t.Errorf("YieldToRule %s = no error, want one", what)
		}
	}
	if err := yield("plain", "boss", "exception"); err != nil {
		t.Errorf("YieldToRule without a shape = %v", err)
	}
	wantHeld(t, s, newShapedCall("a2", "d1", c.Now()), "a1", sallyport.ApprovalPending)
	if err := yield("a1", "boss", "rule"); err != nil {
		t.Fatal(err)
	}
	want.State, want.Rule, want.DecidedBy, want.Decided, want.Reason = sallyport.ApprovalUsed, "rule", "boss", c.Now(), "as agreed"
	got, ok, err := s.LatestDecided(t.Context(), "d1")
	if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
		t.Errorf("LatestDecided = %v, %v, difference (-want +got):\n%s", ok, err, diff)
	}
	useApproval(t, s, "a1", false)
	if err := yield("a1", "boss", "again"); !errors.Is(err, sallyport.ErrApprovalClosed) {
		t.Errorf("YieldToRule again = %v, want it closed", err)
	}
	wantHeld(t, s, newShapedCall("a3", "d1", c.Now()), "a3", sallyport.ApprovalPending)
	decideApproval(t, s, "a3", true)
	if err := yield("a3", "boss", "rule"); err != nil {
		t.Errorf("YieldToRule of an approval that was not used = %v", err)
	}
	useApproval(t, s, "a3", false)
	askApproval(t, s, newShapedCall("a4", "d1", c.Now()))
	decideApproval(t, s, "a4", false)
	if err := yield("a4", "boss", "rule"); !errors.Is(err, sallyport.ErrApprovalClosed) {
		t.Errorf("YieldToRule of a denied call = %v, want it closed", err)
	}
	if got, ok, err := s.LatestDecided(t.Context(), "d1"); got.ID != "a4" || got.State != sallyport.ApprovalDenied || !ok || err != nil {
		t.Errorf("LatestDecided = %s %s, %v, %v, want the denied call", got.ID, got.State, ok, err)
	}
	c.advance(2 * time.Hour)
	askApproval(t, s, newShapedCall("a5", "d1", c.Now()))
	if got, ok, err := s.LatestDecided(t.Context(), "d1"); got.ID != "a4" || !ok || err != nil {
		t.Errorf("LatestDecided once the call is held again = %s, %v, %v, want the denied call", got.ID, ok, err)
	}
}
