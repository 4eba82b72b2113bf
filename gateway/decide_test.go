package gateway

import (
	"context"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store/memory"
)

// TestADecisionIsAboutTheCallersOwnCall tests behind the seal: even with a
// forged state, a caller cannot decide about calls of other principals or of
// other tools.
func TestADecisionIsAboutTheCallersOwnCall(t *testing.T) {
	desk := memory.NewApprovals(nil)
	now := time.Now()
	for _, a := range []sallyport.Approval{
		{ID: "own", Digest: "1", Tool: "held", Principal: "alice"},
		{ID: "of-bob", Digest: "2", Tool: "held", Principal: "bob"},
		{ID: "of-another-tool", Digest: "3", Tool: "other", Principal: "alice"},
	} {
		a.State, a.Created, a.Expires = sallyport.ApprovalPending, now, now.Add(time.Hour)
		if _, err := desk.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	h := &heldCall{askableClient: &askableClient{
		core:   &core{o: Options{Desk: desk}},
		caller: &sallyport.Caller{Principal: sallyport.Principal{Name: "alice"}}, q: sallyport.Request{Tool: "held"},
	}}
	for id, want := range map[string]sallyport.ApprovalState{
		"own": sallyport.ApprovalApproved, "of-bob": sallyport.ApprovalPending, "of-another-tool": sallyport.ApprovalPending,
	} {
		err := h.decideApproval(context.Background(), id, approvalVerdict{approve: true})
		a, failed := desk.Get(t.Context(), id)
		if failed != nil || a.State != want || (err == nil) != (want == sallyport.ApprovalApproved) {
			t.Errorf("decide(%s) = %v and left %s, %v, want %s", id, err, a.State, failed, want)
		}
	}
	if err := h.decideApproval(t.Context(), "nobody's", approvalVerdict{approve: true}); err == nil {
		t.Error("decide() took a call that is not held")
	}
}
