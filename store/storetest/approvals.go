package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func testApprovals(t *testing.T, open opener) {
	runParts(t, open, []part{
		{"Ask", testApprovalAsk},
		{"Decide", testApprovalDecide},
		{"Expiry", testApprovalExpiry},
		{"Bounds", testApprovalBounds},
		{"Once", testApprovalOnce},
		{"Claim", testApprovalClaim},
		{"ClaimRun", testRunClaim},
		{"Wait", testApprovalWait},
		{"List", testApprovalList},
		{"Cancelled", testApprovalCancelled},
		{"YieldToRule", testApprovalYields},
	})
}

// newHeldCall is a request that lives for an hour.
func newHeldCall(id, digest string, now time.Time) sallyport.Approval {
	return sallyport.Approval{
		ID: id, Digest: digest, Tool: "send", Args: `{"to":"a@example.com"}`, Hidden: 1,
		Principal: "agent\xff'1", Personality: "role", Session: "s", CallID: "c",
		Created: now, Expires: now.Add(time.Hour),
	}
}

func askApproval(t testing.TB, s sallyport.ApprovalStore, a sallyport.Approval) sallyport.Approval {
	t.Helper()
	got, err := s.Ask(t.Context(), a)
	if err != nil {
		t.Fatalf("Ask(%s) = %v", a.ID, err)
	}
	return got
}

// wantHeld asks for a call and checks which request holds it, and in what state.
func wantHeld(t testing.TB, s sallyport.ApprovalStore, a sallyport.Approval, id string, state sallyport.ApprovalState) {
	t.Helper()
	if got := askApproval(t, s, a); got.ID != id || got.State != state {
		t.Errorf("the call %s is held as %s %s, want %s %s", a.ID, got.ID, got.State, id, state)
	}
}

func decideApproval(t testing.TB, s sallyport.ApprovalStore, id string, approve bool) {
	t.Helper()
	if err := s.Decide(t.Context(), id, "boss", approve, "because"); err != nil {
		t.Fatalf("Decide(%s, %v) = %v", id, approve, err)
	}
}

func useApproval(t testing.TB, s sallyport.ApprovalStore, id string, want bool) {
	t.Helper()
	if ok, err := s.Use(t.Context(), id); ok != want || err != nil {
		t.Errorf("Use(%s) = %v, %v, want %v", id, ok, err, want)
	}
}

func testApprovalAsk(t *testing.T, open opener) {
	c := newManualClock()
	s := open(t, Options{Now: c.Now}).Approvals()
	want := newHeldCall("a1", "d1", c.Now())
	want.State = sallyport.ApprovalPending
	if diff := cmp.Diff(want, askApproval(t, s, newHeldCall("a1", "d1", c.Now()))); diff != "" {
		t.Errorf("Ask, difference (-want +got):\n%s", diff)
	}
	wantHeld(t, s, newHeldCall("a2", "d1", c.Now()), "a1", sallyport.ApprovalPending)
	wantHeld(t, s, newHeldCall("a3", "d2", c.Now()), "a3", sallyport.ApprovalPending)
	got, err := s.Get(t.Context(), "a1")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Get = %v, difference (-want +got):\n%s", err, diff)
	}
	if _, err := s.Get(t.Context(), "a2"); !errors.Is(err, sallyport.ErrApprovalUnknown) {
		t.Errorf("Get(a2) = %v, want unknown", err)
	}
	for _, broken := range []sallyport.Approval{
		{},
		{ID: "x", Digest: "d", Tool: "t", Principal: "p", Created: c.Now(), Expires: c.Now()},
		{ID: "x", Tool: "t", Principal: "p", Expires: c.Now()},
	} {
		if _, err := s.Ask(t.Context(), broken); err == nil {
			t.Errorf("Ask(%+v) = no error, want one", broken)
		}
	}
}

func testApprovalDecide(t *testing.T, open opener) {
	c := newManualClock()
	s := open(t, Options{Now: c.Now}).Approvals()
	states := func(id string, want sallyport.ApprovalState) {
		t.Helper()
		if got, err := s.Get(t.Context(), id); got.State != want || err != nil {
			t.Errorf("%s is %s, %v, want %s", id, got.State, err, want)
		}
	}
	refuses := func(id, by string, approve bool, reason string, want error) {
		t.Helper()
		if err := s.Decide(t.Context(), id, by, approve, reason); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("Decide(%s, %s, %v) = %v, want %v", id, by, approve, err, want)
		}
	}
	a := askApproval(t, s, newHeldCall("a", "da", c.Now()))
	useApproval(t, s, "a", false)
	refuses("a", a.Principal, true, "", sallyport.ErrApprovalOwn)
	refuses("a", "", true, "", nil)
	refuses("a", "boss", true, strings.Repeat("x", 1001), nil)
	refuses("nobody", "boss", true, "", sallyport.ErrApprovalUnknown)
	states("a", sallyport.ApprovalPending)

	c.advance(time.Minute)
	decideApproval(t, s, "a", true)
	got, err := s.Get(t.Context(), "a")
	if err != nil || got.State != sallyport.ApprovalApproved || got.DecidedBy != "boss" || got.Reason != "because" || !got.Decided.Equal(c.Now()) {
		t.Errorf("after the decision Get = %+v, %v, want it with name, time and reason", got, err)
	}
	wantHeld(t, s, newHeldCall("a2", "da", c.Now()), "a", sallyport.ApprovalApproved)
	refuses("a", "boss", true, "", sallyport.ErrApprovalClosed)
	useApproval(t, s, "a", true)
	useApproval(t, s, "a", false)
	states("a", sallyport.ApprovalUsed)
	refuses("a", "boss", false, "", sallyport.ErrApprovalClosed)
	wantHeld(t, s, newHeldCall("a3", "da", c.Now()), "a3", sallyport.ApprovalPending)

	// An approval that was not used can be taken back; a denial stands.
	askApproval(t, s, newHeldCall("b", "db", c.Now()))
	decideApproval(t, s, "b", true)
	decideApproval(t, s, "b", false)
	useApproval(t, s, "b", false)
	refuses("b", "boss", true, "", sallyport.ErrApprovalClosed)
	wantHeld(t, s, newHeldCall("b2", "db", c.Now()), "b", sallyport.ApprovalDenied)

	// Who asked may take it back; the local user may approve too.
	askApproval(t, s, newHeldCall("c", "dc", c.Now()))
	if err := s.Decide(t.Context(), "c", a.Principal, false, ""); err != nil {
		t.Errorf("the denial of an own call = %v, want none", err)
	}
	own := newHeldCall("d", "dd", c.Now())
	own.Principal = sallyport.LocalPrincipal
	askApproval(t, s, own)
	if err := s.Decide(t.Context(), "d", sallyport.LocalPrincipal, true, ""); err != nil {
		t.Errorf("the local user's decision = %v, want none", err)
	}
}

func testApprovalExpiry(t *testing.T, open opener) {
	for _, decision := range []string{"none", "approved", "denied"} {
		c := newManualClock()
		s := open(t, Options{Now: c.Now}).Approvals()
		askApproval(t, s, newHeldCall("a", "d", c.Now()))
		if decision != "none" {
			decideApproval(t, s, "a", decision == "approved")
		}
		c.advance(time.Hour - time.Nanosecond)
		before := askApproval(t, s, newHeldCall("b", "d", c.Now()))
		if before.ID != "a" || before.State == sallyport.ApprovalExpired {
			t.Errorf("%s: before the expiry a repeat finds %s %s, want a", decision, before.ID, before.State)
		}
		c.advance(time.Nanosecond)
		useApproval(t, s, "a", false)
		if err := s.Decide(t.Context(), "a", "boss", true, ""); !errors.Is(err, sallyport.ErrApprovalClosed) {
			t.Errorf("%s: Decide after the expiry = %v, want closed", decision, err)
		}
		if decision != "denied" {
			if got, err := s.Get(t.Context(), "a"); got.State != sallyport.ApprovalExpired || err != nil {
				t.Errorf("%s: Get = %s, %v, want expired", decision, got.State, err)
			}
			wantHeld(t, s, newHeldCall("c", "d", c.Now()), "a", sallyport.ApprovalExpired)
		}
		wantHeld(t, s, newHeldCall("e", "d", c.Now()), "e", sallyport.ApprovalPending)
	}
}

func testApprovalBounds(t *testing.T, open opener) {
	c := newManualClock()
	s := open(t, Options{Now: c.Now}).Approvals()
	n := 0
	add := func(principal string) error {
		n++
		a := newHeldCall(fmt.Sprint("a", n), fmt.Sprint("d", n), c.Now())
		a.Principal = principal
		_, err := s.Ask(t.Context(), a)
		return err
	}
	most := sallyport.MaxPendingApprovals
	for i := range sallyport.MaxPendingApprovalsTotal {
		if err := add(fmt.Sprint("p", i/most)); err != nil {
			t.Fatalf("request %d = %v", i, err)
		}
		if i == most-1 {
			if err := add("p0"); !errors.Is(err, sallyport.ErrApprovalsFull) {
				t.Errorf("one more than %d of a principal = %v, want full", most, err)
			}
		}
	}
	if err := add("another"); !errors.Is(err, sallyport.ErrApprovalsFull) {
		t.Errorf("one more than %d = %v, want full", sallyport.MaxPendingApprovalsTotal, err)
	}
	// A repeat of what is held is no further request.
	again := newHeldCall("x", "d1", c.Now())
	again.Principal = "p0"
	wantHeld(t, s, again, "a1", sallyport.ApprovalPending)
	// What is decided or over makes room.
	decideApproval(t, s, "a1", false)
	if err := add("p0"); err != nil {
		t.Errorf("after a decision = %v, want room", err)
	}
	c.advance(time.Hour)
	if err := add("p0"); err != nil {
		t.Errorf("after the expiry = %v, want room", err)
	}
}

func testApprovalOnce(t *testing.T, open opener) {
	s := open(t, Options{}).Approvals()
	const callers = 16
	var wg sync.WaitGroup
	ids, used := make([]string, callers), make([]bool, callers)
	for i := range callers {
		wg.Go(func() {
			a, err := s.Ask(t.Context(), newHeldCall(fmt.Sprint("a", i), "d", time.Now()))
			if err != nil {
				t.Errorf("Ask = %v", err)
			}
			ids[i] = a.ID
		})
	}
	wg.Wait()
	decideApproval(t, s, ids[0], true)
	for i := range callers {
		wg.Go(func() {
			var err error
			if used[i], err = s.Use(t.Context(), ids[i]); err != nil {
				t.Errorf("Use = %v", err)
			}
		})
	}
	wg.Wait()
	n := 0
	for i := range callers {
		if ids[i] != ids[0] {
			t.Errorf("caller %d is held as %s, caller 0 as %s", i, ids[i], ids[0])
		}
		if used[i] {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d callers used the approval, want 1", n)
	}
}

func testApprovalWait(t *testing.T, open opener) {
	s := open(t, Options{}).Approvals()
	askApproval(t, s, newHeldCall("a", "d", time.Now()))
	const waiters = 4
	states := make(chan sallyport.ApprovalState, waiters)
	for range waiters {
		go func() {
			a, err := s.Wait(context.WithoutCancel(t.Context()), "a")
			if err != nil {
				t.Errorf("Wait = %v", err)
			}
			states <- a.State
		}()
	}
	decideApproval(t, s, "a", true)
	for range waiters {
		if got := <-states; got != sallyport.ApprovalApproved {
			t.Errorf("Wait = %s, want approved", got)
		}
	}
	short := newHeldCall("b", "e", time.Now())
	short.Expires = short.Created.Add(20 * time.Millisecond)
	askApproval(t, s, short)
	if a, err := s.Wait(t.Context(), "b"); a.State != sallyport.ApprovalExpired || err != nil {
		t.Errorf("Wait = %s, %v, want expired", a.State, err)
	}
	askApproval(t, s, newHeldCall("c", "f", time.Now()))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if a, err := s.Wait(ctx, "c"); a.State != sallyport.ApprovalPending && a.ID != "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait = %s, %v, want the end of the context", a.State, err)
	}
	if _, err := s.Wait(t.Context(), "nobody"); !errors.Is(err, sallyport.ErrApprovalUnknown) {
		t.Errorf("Wait(nobody) = %v, want unknown", err)
	}
}

func testApprovalList(t *testing.T, open opener) {
	c := newManualClock()
	s := open(t, Options{Now: c.Now}).Approvals()
	for _, id := range []string{"late", "used", "denied", "approved"} {
		askApproval(t, s, newHeldCall(id, id, c.Now()))
	}
	for _, id := range []string{"used", "approved", "denied"} {
		decideApproval(t, s, id, id != "denied")
	}
	useApproval(t, s, "used", true)
	long := newHeldCall("pending", "pending", c.Now())
	long.Expires = long.Expires.Add(time.Hour)
	askApproval(t, s, long)
	list := func(all bool) (out []string) {
		t.Helper()
		found, err := s.List(t.Context(), all)
		if err != nil {
			t.Fatalf("List = %v", err)
		}
		for _, a := range found {
			out = append(out, a.ID+" "+string(a.State))
		}
		return out
	}
	if diff := cmp.Diff([]string{"late pending", "approved approved", "pending pending"}, list(false)); diff != "" {
		t.Errorf("List(false), difference (-want +got):\n%s", diff)
	}
	c.advance(time.Hour)
	if diff := cmp.Diff([]string{"pending pending"}, list(false)); diff != "" {
		t.Errorf("List(false) an hour later, difference (-want +got):\n%s", diff)
	}
	all := []string{"late expired", "used used", "denied denied", "approved expired", "pending pending"}
	if diff := cmp.Diff(all, list(true)); diff != "" {
		t.Errorf("List(true), difference (-want +got):\n%s", diff)
	}
}

func testApprovalCancelled(t *testing.T, open opener) {
	s := open(t, Options{}).Approvals()
	askApproval(t, s, newHeldCall("a", "d", time.Now()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, asked := s.Ask(ctx, newHeldCall("b", "e", time.Now()))
	_, used := s.Use(ctx, "a")
	_, listed := s.List(ctx, true)
	_, waited := s.Wait(ctx, "a")
	for what, err := range map[string]error{
		"Ask": asked, "Use": used, "List": listed, "Wait": waited, "Decide": s.Decide(ctx, "a", "boss", true, ""),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the cancellation = %v, want it", what, err)
		}
	}
	if a, err := s.Get(t.Context(), "a"); a.State != sallyport.ApprovalPending || err != nil {
		t.Errorf("a is %s, %v, want it pending", a.State, err)
	}
}
