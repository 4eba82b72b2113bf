package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

func TestAWaitingCallHearsTheDecision(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, asking(func(p *sallyport.Personality) { p.Approvals.Wait = 30 * time.Second }))
			// The wait does not count against the tool's own time.
			d.hold(func(tool *sallyport.Tool) { tool.Timeout = time.Second })
			caller := d.caller()
			told := make(chan sallyport.Progress, 10)
			caller.Progress = func(p sallyport.Progress) { told <- p }
			result := make(chan sallyport.Result)
			go func() { result <- d.Call(t.Context(), caller, sallyport.Request{Tool: "held"}) }()
			synctest.Wait()
			time.Sleep(20 * time.Second)
			a := d.one()
			if p := <-told; p.Message != "waits for approval "+a.ID || p.VisibleTo() != sallyport.AudienceUser || p.Tool != "held" {
				t.Errorf("the user was told %+v, want the id of the approval", p)
			}
			d.decide(a.ID, approve, "because")
			res := <-result
			if approve && (!res.OK || d.ran.Load() != 1) {
				t.Errorf("Call() = %+v, want it to run", res)
			}
			if !approve && (res.Code != sallyport.CodeApprovalDenied || d.ran.Load() != 0 || !strings.HasSuffix(res.Error, ": because")) {
				t.Errorf("Call() = %+v, ran = %d, want approval_denied with the reason", res, d.ran.Load())
			}
			if took := d.recorder.last().Duration; took < 20*time.Second || took > 21*time.Second {
				t.Errorf("the call took %s, want the 20 s until the decision", took)
			}
		})
	}
}

func TestAWaitEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		edit    func(*sallyport.Approvals)
		cancel  time.Duration
		asks    bool
		code    sallyport.Code
		took    time.Duration
		pending int
	}{
		{name: "at its bound", code: sallyport.CodeApprovalRequired, took: 30 * time.Second, pending: 1},
		{name: "at the expiry", edit: func(a *sallyport.Approvals) { a.Expires = 10 * time.Second }, code: sallyport.CodeApprovalDenied, took: 10 * time.Second},
		{name: "where the edge asks itself", asks: true, code: sallyport.CodeApprovalRequired, pending: 1},
		{name: "with the caller", cancel: 5 * time.Second, code: sallyport.CodeApprovalRequired, took: 5 * time.Second, pending: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, asking(func(p *sallyport.Personality) {
					p.Approvals.Wait = 30 * time.Second
					if tt.edit != nil {
						tt.edit(p.Approvals)
					}
				}))
				d.hold(nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				start, caller := time.Now(), d.caller()
				caller.Asks = tt.asks
				res := d.Call(ctx, caller, sallyport.Request{Tool: "held"})
				if res.Code != tt.code || time.Since(start) != tt.took || d.ran.Load() != 0 {
					t.Errorf("Call() = %s %q after %s, want %s after %s", res.Code, res.Error, time.Since(start), tt.code, tt.took)
				}
				if all, err := d.store.List(context.Background(), false); err != nil || len(all) != tt.pending {
					t.Errorf("%d requests stay, %v, want %d", len(all), err, tt.pending)
				}
				if e := d.recorder.last(); e.Code != tt.code || e.Stage != sallyport.StepApprove {
					t.Errorf("recorded %s at %s, want %s at approve", e.Code, e.Stage, tt.code)
				}
			})
		})
	}
}

func TestADenialAndAnExpiryAreToldAndThenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, asking(nil))
		d.hold(nil)
		d.want("", sallyport.CodeApprovalRequired, 0)
		d.decide(d.one().ID, false, "")
		// A denial stands until the request would have expired.
		d.want("", sallyport.CodeApprovalDenied, 0)
		time.Sleep(registry.DefaultApprovalExpiry - time.Second)
		d.want("", sallyport.CodeApprovalDenied, 0)
		time.Sleep(time.Second)
		d.want("", sallyport.CodeApprovalRequired, 0)
		// What was not decided is told once, and so is what was not used.
		for _, approve := range []bool{false, true} {
			if approve {
				d.decide(d.one().ID, true, "")
			}
			time.Sleep(registry.DefaultApprovalExpiry)
			d.want("", sallyport.CodeApprovalDenied, 0)
			d.want("", sallyport.CodeApprovalRequired, 0)
		}
	})
}

func TestAReloadDuringTheWaitStopsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(p *sallyport.Personality) { p.Approvals.Wait = 30 * time.Second }
		d := newDesk(t, asking(slow))
		d.hold(nil)
		result := make(chan sallyport.Result)
		go func() { result <- call(d.gate, "held", "") }()
		synctest.Wait()
		d.roles.p.Store(asking(slow))
		d.decide(d.one().ID, true, "")
		if res := <-result; res.Code != sallyport.CodeApprovalRequired || d.ran.Load() != 0 {
			t.Fatalf("Call() = %+v, want it not to run under the old personality", res)
		}
		// The approval is not spent: nothing that it is bound to changed.
		d.want("", "", 1)
	})
}

func TestClosingOrReplacingTheGateEndsTheWait(t *testing.T) {
	t.Parallel()
	for _, replace := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, asking(func(p *sallyport.Personality) { p.Approvals.Wait = 30 * time.Second }))
			d.hold(nil)
			start, result := time.Now(), make(chan sallyport.Result)
			go func() { result <- call(d.gate, "held", "") }()
			synctest.Wait()
			if replace {
				d.StopWaiting()
				d.StopWaiting()
			} else if err := d.Close(t.Context()); err != nil {
				t.Errorf("Close() = %v, want none", err)
			}
			if res := <-result; res.Code != sallyport.CodeApprovalRequired || time.Since(start) != 0 {
				t.Errorf("Call() = %+v after %s, want approval_required at once", res, time.Since(start))
			}
		})
	}
}

func TestHeldCallsOfABatchWaitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, asking(func(p *sallyport.Personality) { p.Approvals.Wait = 30 * time.Second }))
		d.hold(nil)
		requests := []sallyport.Request{
			{Tool: "held", Args: json.RawMessage(`{"n":1}`)},
			{Tool: "held", Args: json.RawMessage(`{"n":2}`)},
			{Tool: "held", Args: json.RawMessage(`{"n":3}`)},
		}
		start := time.Now()
		go func() {
			synctest.Wait()
			all, _ := d.store.List(context.Background(), false)
			for _, a := range all {
				if a.Args == `{"n":2}` {
					d.decide(a.ID, true, "")
				}
			}
		}()
		got := d.Batch(t.Context(), d.caller(), requests)
		if got[0].OK || !got[1].OK || got[2].OK || time.Since(start) != 30*time.Second {
			t.Errorf("Batch() = %v %v %v after %s, want the second alone, after 30 s", got[0].OK, got[1].OK, got[2].OK, time.Since(start))
		}
	})
}

func TestACallWaitsOnlyWhileAPersonIsConnected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		wait, person bool
		immediately  bool
	}{
		{"a written wait is kept", false, false, false},
		{"no wait is written and a person is connected", true, true, false},
		{"no wait is written and no person can decide", true, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDeskOf(t, asking(func(p *sallyport.Personality) {
					p.Approvals.Wait, p.Approvals.WaitForPerson = 30*time.Second, tt.wait
				}), memory.NewApprovals(nil), &sallyport.Backends{}, func(o *registry.Options) { o.PersonConnected = func(context.Context) bool { return tt.person } })
				d.hold(nil)
				began := time.Now()
				d.want(`{}`, sallyport.CodeApprovalRequired, 0)
				if waited := time.Since(began); (waited == 0) != tt.immediately {
					t.Errorf("the call waited %s, want immediately = %t", waited, tt.immediately)
				}
			})
		})
	}
}
