package storetest

import (
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/store"
)

// RunDurable runs the suite of a state that outlives its process. Open opens
// the state of a folder, which is empty at first and may be open already.
func RunDurable(t *testing.T, open func(t testing.TB, dir string) store.State) {
	t.Run("Reopened", func(t *testing.T) {
		dir := t.TempDir()
		first := open(t, dir)
		fillState(t, first)
		if err := first.Close(); err != nil {
			t.Fatalf("Close = %v", err)
		}
		wantFilled(t, open(t, dir))
	})
	t.Run("Shared", func(t *testing.T) {
		dir := t.TempDir()
		first, second := open(t, dir), open(t, dir)
		fillState(t, first)
		wantFilled(t, second)
		testSharedChanges(t, first, second)
	})
}

// filledTime is when a filled state was filled. It is not over yet for anything
// that expires.
func filledTime() time.Time { return time.Now().Truncate(time.Second) }

// usedUpLimit is used up in a filled state.
func usedUpLimit() sallyport.RateLimit {
	return sallyport.RateLimit{Requests: 1, Window: 24 * time.Hour}
}

// fillState stores something in every part of a state.
func fillState(t testing.TB, s store.State) {
	t.Helper()
	ctx := t.Context()
	l := audittest.NewLog(t, s)
	audittest.RecordCalls(t, l, s, "call", 2)
	if err := l.Close(); err != nil {
		t.Fatalf("Close of the log = %v", err)
	}
	setValue(t, openKV(t, s, "tool:t"), "key\xff", "value", time.Hour)
	recordPlaces(t, s, sallyport.WritePlace{Path: "/w", By: "personality a", First: timeAfterDays(0).UTC(), Last: timeAfterDays(1).UTC()})
	noteFacts(t, s.Facts(), "p", "s", sallyport.FactMark{Fact: sallyport.FactPrivate, Time: filledTime()})
	askApproval(t, s.Approvals(), newHeldCall("a", "d", filledTime()))
	decideApproval(t, s.Approvals(), "a", true)
	wantWait(t, s, "key", usedUpLimit(), 0)
	r := newRecord("ci", "token")
	for what, err := range map[string]error{
		"Remember":       s.Remember(ctx, "p/s", sallyport.ReadRecord{Path: "/w/a", Digest: [32]byte{1}, Time: filledTime()}),
		"Settings.Put":   s.Settings().Put(ctx, "name", "value"),
		"Principals.Add": s.Principals().Add(ctx, &r),
		"Switches.Stop":  s.Switches().Stop(ctx, &auth.Switch{Kind: auth.SwitchTool, Name: "t", Since: filledTime()}),
		"Sync":           s.Sync(ctx),
	} {
		if err != nil {
			t.Fatalf("%s = %v", what, err)
		}
	}
}

// wantFilled checks that a state has what fillState stored.
func wantFilled(t testing.TB, s store.State) {
	t.Helper()
	ctx := t.Context()
	wantGood(t, audittest.VerifyRecords(t, s, nil), 4)
	wantGet(t, openKV(t, s, "tool:t"), "key\xff", "value", true)
	wantPlaces(t, s, sallyport.WritePlace{Path: "/w", By: "personality a", First: timeAfterDays(0).UTC(), Last: timeAfterDays(1).UTC()})
	if marks, err := s.Facts().Facts(ctx, "p", "s"); len(marks) != 2 || err != nil {
		t.Errorf("Facts = %v, %v, want the mark of the session and the principal", marks, err)
	}
	if a, err := s.Approvals().Get(ctx, "a"); a.State != sallyport.ApprovalApproved || a.DecidedBy != "boss" || err != nil {
		t.Errorf("Approvals.Get = %+v, %v, want the approval", a, err)
	}
	if wait, err := s.Admit(ctx, "key", usedUpLimit()); wait <= 0 || err != nil {
		t.Errorf("Admit = %v, %v, want a wait: the limit is used up", wait, err)
	}
	if r, ok, err := s.Recall(ctx, "p/s", "/w/a", ""); !ok || r.Digest[0] != 1 || err != nil {
		t.Errorf("Recall = %+v, %v, %v, want the record", r, ok, err)
	}
	if value, ok, err := s.Settings().Get(ctx, "name"); value != "value" || !ok || err != nil {
		t.Errorf("Settings.Get = %q, %v, %v, want the value", value, ok, err)
	}
	if r, ok, err := s.Principals().ByToken(ctx, auth.HashToken("token")); r.Name != "ci" || !ok || err != nil {
		t.Errorf("Principals.ByToken = %+v, %v, %v, want the principal", r, ok, err)
	}
	if sw, ok, err := s.Switches().Stopped(ctx, "p", "p/s", "t"); sw.Name != "t" || !ok || err != nil {
		t.Errorf("Switches.Stopped = %+v, %v, %v, want the switch", sw, ok, err)
	}
}

// testSharedChanges makes changes through one of two open states. The other has
// them as soon as the first returns.
func testSharedChanges(t *testing.T, first, second store.State) {
	ctx := t.Context()
	if ok, err := first.Approvals().Use(ctx, "a"); !ok || err != nil {
		t.Fatalf("Use = %v, %v, want true", ok, err)
	}
	useApproval(t, second.Approvals(), "a", false)
	if swapped, err := first.Settings().Swap(ctx, "name", "value", "other"); !swapped || err != nil {
		t.Fatalf("Swap = %v, %v, want true", swapped, err)
	}
	if value, _, err := second.Settings().Get(ctx, "name"); value != "other" || err != nil {
		t.Errorf("Settings.Get = %q, %v, want the value of the other state", value, err)
	}
	if was, err := first.Switches().Start(ctx, auth.SwitchTool, "t"); !was || err != nil {
		t.Fatalf("Start = %v, %v, want true", was, err)
	}
	if _, stopped, err := second.Switches().Stopped(ctx, "p", "p/s", "t"); stopped || err != nil {
		t.Errorf("Stopped = %v, %v, want the switch released", stopped, err)
	}
	askApproval(t, first.Approvals(), newHeldCall("b", "e", filledTime()))
	decided := make(chan error, 1)
	go func() { decided <- second.Approvals().Decide(ctx, "b", "boss", false, "no") }()
	if a, err := first.Approvals().Wait(ctx, "b"); a.State != sallyport.ApprovalDenied || err != nil {
		t.Errorf("Wait = %s, %v, want the decision of the other state", a.State, err)
	}
	if err := <-decided; err != nil {
		t.Errorf("Decide = %v", err)
	}
	log1, log2 := audittest.NewLog(t, first), audittest.NewLog(t, second)
	audittest.RecordCalls(t, log1, first, "one", 1)
	audittest.RecordCalls(t, log2, second, "two", 1)
	wantGood(t, audittest.VerifyRecords(t, first, nil), 8)
}
