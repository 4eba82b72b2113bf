package command

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport/auth"
)

// orderDesk creates a folder with an action that a human has to approve. The
// counter orders holds the number of effects.
func orderDesk(t *testing.T) (dir string, orders *atomic.Int64) {
	t.Helper()
	orders = new(atomic.Int64)
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"order":` + string('0'+rune(orders.Add(1))) + `}`))
	}))
	t.Cleanup(shop.Close)
	host := strings.TrimPrefix(shop.URL, "http://")
	return configured(t, `version: 1
state: sqlite:.sallyport/state.db
personalities:
  buyer:
    toolset: [order]
    safety: {network: {allow: ["`+host+`"], allow_private_urls: true}}
    approvals: {require: [order], wait: 0s}
principals:
  buyer: {token_sha256: "`+auth.HashToken(tokenOf("buyer"))+`"}
  rival: {token_sha256: "`+auth.HashToken(tokenOf("rival"))+`"}
actions:
  - id: order
    parameters: {item: {type: string, required: true}}
    handler: {http: {method: POST, url: "http://`+host+`/orders", body: {item: "{item}"}}}
`), orders
}

func TestActionApprovalCountsOnceOverHTTP(t *testing.T) {
	t.Parallel()
	dir, orders := orderDesk(t)
	s := serveHTTP(t, dir)
	const tea = `{"item":"tea"}`
	held := s.action(t, "buyer", "order", tea)
	if held.Status != 409 || held.Code != "approval_required" || held.ApprovalID == "" {
		t.Fatalf("the first call = %+v, want 409 with an approval id", held)
	}
	if again := s.action(t, "buyer", "order", tea); again.Status != 409 || again.ApprovalID != held.ApprovalID {
		t.Errorf("its repeat = %+v, want 409 with the same approval id", again)
	}
	if out := runSallyport(t, dir, "approvals", "ls"); !strings.Contains(out, `{"item":"tea"}`) || !strings.Contains(out, "buyer/buyer") {
		t.Errorf("approvals ls = %s, want the held call", out)
	}
	if n := orders.Load(); n != 0 {
		t.Fatalf("%d orders before the approval, want 0", n)
	}
	runSallyport(t, dir, "approvals", "approve", held.ApprovalID)

	// The decision applies to these arguments and this principal only.
	if a := s.action(t, "buyer", "order", `{"item":"gold"}`); a.Status != 409 || a.ApprovalID == held.ApprovalID {
		t.Errorf("other arguments = %+v, want 409 with an approval of its own", a)
	}
	if a := s.action(t, "rival", "order", tea); a.Status != 409 || a.ApprovalID == held.ApprovalID {
		t.Errorf("another principal = %+v, want 409 with an approval of its own", a)
	}
	// Of several clients that repeat the call at once, one runs it.
	var ran atomic.Int64
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			switch a := s.action(t, "buyer", "order", tea); {
			case a.Status == 200 && strings.Contains(string(a.Data), `"order":1`):
				ran.Add(1)
			case a.Status != 409:
				t.Errorf("a repeat = %d %s, want 200 or 409", a.Status, a.Error)
			}
		})
	}
	running.Wait()
	if ran.Load() != 1 || orders.Load() != 1 {
		t.Errorf("%d repeats ran with %d orders, want 1", ran.Load(), orders.Load())
	}
	used := s.action(t, "buyer", "order", tea)
	if used.Status != 409 || used.Code != "approval_required" || used.ApprovalID == held.ApprovalID {
		t.Errorf("the call after its run = %+v, want 409 with another approval id", used)
	}
	runSallyport(t, dir, "approvals", "deny", used.ApprovalID, "--reason", "enough tea")
	if a := s.action(t, "buyer", "order", tea); a.Status != 403 || a.Code != "approval_denied" || !strings.Contains(a.Error, "enough tea") {
		t.Errorf("the call after a denial = %d %s %s, want 403 with the reason", a.Status, a.Code, a.Error)
	}
	s.stop(t)
}

// TestActionApprovalSurvivesTheServer kills the server between the decision and
// the call.
func TestActionApprovalSurvivesTheServer(t *testing.T) {
	t.Parallel()
	dir, orders := orderDesk(t)
	s := serveHTTP(t, dir)
	const tea = `{"item":"tea"}`
	held := s.action(t, "buyer", "order", tea)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	runSallyport(t, dir, "approvals", "approve", held.ApprovalID)
	s = serveHTTP(t, dir)
	if a := s.action(t, "buyer", "order", tea); a.Status != 200 {
		t.Errorf("the approved call = %d %s, want 200", a.Status, a.Error)
	}
	if a := s.action(t, "buyer", "order", tea); a.Status != 409 {
		t.Errorf("its repeat = %d %s, want 409", a.Status, a.Error)
	}
	if n := orders.Load(); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	s.stop(t)
}
