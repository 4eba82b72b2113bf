package registry_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestC25_WithoutAQueueHeldCallsCanBeDecided builds a registry as a program does
// that gives it personalities and nothing else: a tool that reaches files and
// hosts makes the default rule hold what follows, and the program can decide.
func TestC25_WithoutAQueueHeldCallsCanBeDecided(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	role := &sallyport.Personality{
		Name: "role", FSReach: &sallyport.Reach{Read: []string{ws}}, Network: &sallyport.NetworkPolicy{Allow: []string{"*"}},
	}
	r, err := registry.New(&sallyport.Backends{
		Personalities: one{role}, Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: ws},
	}, &registry.Options{Workspace: ws})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	both := sallyport.Capabilities{
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}, FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()},
	}
	ran := 0
	count := func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		ran++
		return sallyport.OK("ran as it was told"), nil
	}
	if err := r.Register(
		sallyport.Tool{Name: "both", Capabilities: both, OutputIsUntrusted: true, Run: count},
		sallyport.Tool{Name: "send", Capabilities: sallyport.Capabilities{Network: both.Network}, Schema: open, Run: count},
	); err != nil {
		t.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}, Personality: "role", Session: "s"}
	if res := r.Call(t.Context(), caller, sallyport.Request{Tool: "both"}); !res.OK {
		t.Fatalf("the first call = %+v, want a success", res)
	}
	res := r.Call(t.Context(), caller, sallyport.Request{Tool: "send", Args: json.RawMessage(`{"text":"ran as it was told"}`)})
	if res.Code != sallyport.CodeApprovalRequired || res.ApprovalID == "" || ran != 1 {
		t.Fatalf("the call that sends = %+v, want it held", res)
	}
	if err := r.Approvals().Decide(t.Context(), res.ApprovalID, "owner", true, ""); err != nil {
		t.Fatal(err)
	}
	if res := r.Call(t.Context(), caller, sallyport.Request{Tool: "send", Args: json.RawMessage(`{"text":"ran as it was told"}`)}); !res.OK || ran != 2 {
		t.Errorf("the approved call = %+v after %d runs, want it done", res, ran)
	}
}
