package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/audittest"
)

// testApprovalClaim is about the stores that read in the records what was used.
func testApprovalClaim(t *testing.T, open opener) {
	c := newManualClock()
	state := open(t, Options{Now: c.Now})
	s := state.Approvals()
	claimer, ok := s.(approvals.Claimer)
	if !ok {
		return // who uses an approval of such a store waits for Use
	}
	l := audittest.NewLog(t, state)
	claim := func(id string, want bool) (settle func(bool) error) {
		t.Helper()
		settle, ok, err := claimer.Claim(t.Context(), id)
		if ok != want || err != nil || ok != (settle != nil) {
			t.Errorf("Claim(%s) = %v, %v, want %v", id, ok, err, want)
		}
		return settle
	}
	hold := func(id string) {
		t.Helper()
		askApproval(t, s, newHeldCall(id, "d-"+id, c.Now()))
		claim(id, false)
		decideApproval(t, s, id, true)
	}
	for i, recorded := range []bool{true, false} {
		id := fmt.Sprint("a", i)
		hold(id)
		settle := claim(id, true)
		claim(id, false)
		useApproval(t, s, id, false)
		if err := s.Decide(t.Context(), id, "boss", false, ""); !errors.Is(err, sallyport.ErrApprovalClosed) {
			t.Errorf("a no to what was claimed = %v, want closed", err)
		}
		if recorded {
			e := audittest.NewEvent(audit.KindIntent, id)
			e.Durable, e.Used = true, &approvals.Used{Approvals: []string{"another", id}}
			if err := l.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if err := settle(recorded); err != nil {
			t.Errorf("settle(%v) = %v", recorded, err)
		}
		if a, err := s.Get(t.Context(), id); a.State != sallyport.ApprovalUsed || err != nil {
			t.Errorf("%s is %s, %v, want it used", id, a.State, err)
		}
	}
	hold("late")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok, err := claimer.Claim(gone, "late"); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("Claim after the cancellation = %v, %v, want it", ok, err)
	}
	c.advance(newHeldCall("", "", c.Now()).Expires.Sub(c.Now()))
	claim("late", false)
	testClaimsAtOnce(t, c, s, claimer)
}

// testClaimsAtOnce: of many who claim or use an approval, one gets it.
func testClaimsAtOnce(t *testing.T, c *manualClock, s sallyport.ApprovalStore, claimer approvals.Claimer) {
	askApproval(t, s, newHeldCall("once", "d-once", c.Now()))
	decideApproval(t, s, "once", true)
	var wg sync.WaitGroup
	got := make([]bool, 16)
	for i := range got {
		wg.Go(func() {
			if i%2 == 0 {
				got[i], _ = s.Use(t.Context(), "once")
			} else if settle, ok, _ := claimer.Claim(t.Context(), "once"); ok {
				got[i] = settle(false) == nil
			}
		})
	}
	wg.Wait()
	n := 0
	for _, ok := range got {
		if ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of %d at once got one approval", n, len(got))
	}
}

// testRunClaim is about the stores that read in the records which runs were used.
func testRunClaim(t *testing.T, open opener) {
	settings := open(t, Options{}).Settings()
	claimer, ok := settings.(approvals.RunClaimer)
	if !ok {
		return // the runs are counted by Swap
	}
	const most, callers = 20, 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for range callers {
		wg.Go(func() {
			for {
				run, settle, err := claimer.ClaimRun(t.Context(), "rule.1", most)
				if err != nil || (run > 0) != (settle != nil) {
					t.Errorf("ClaimRun = %d, %v", run, err)
				}
				if run == 0 {
					return
				}
				if err := settle(false); err != nil {
					t.Errorf("settle = %v", err)
				}
				mu.Lock()
				got[run]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for run := 1; run <= most; run++ {
		if got[run] != 1 {
			t.Errorf("run %d was taken %d times", run, got[run])
		}
	}
	if value, _, err := settings.Get(t.Context(), approvals.RunsSetting("rule.1")); len(got) != most || value != "20" || err != nil {
		t.Errorf("%d runs, and the setting is %q, %v, want %d", len(got), value, err, most)
	}
	if err := settings.Put(t.Context(), approvals.RunsSetting("rule.2"), "many"); err != nil {
		t.Fatal(err)
	}
	if run, _, err := claimer.ClaimRun(t.Context(), "rule.2", most); run != 0 || err == nil {
		t.Errorf("ClaimRun of what cannot be read = %d, %v, want an error", run, err)
	}
}
