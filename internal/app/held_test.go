package app

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/store/sqlite"
)

func TestAHeldCallIsAnnouncedOnceByEachProcess(t *testing.T) {
	t.Parallel()
	shared := approvals.New(time.Now)
	var first, second bytes.Buffer
	announce := func(out *bytes.Buffer) *announcingQueue {
		return &announcingQueue{ApprovalQueue: shared, g: &Runtime{Env: &Environment{Stderr: out}}}
	}
	now := time.Now()
	ask := func(q *announcingQueue, id string) {
		t.Helper()
		a := sallyport.Approval{ID: id, Digest: "d", Tool: "write", Principal: "ann", Created: now, Expires: now.Add(time.Hour)}
		if _, err := q.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	serve, command := announce(&first), announce(&second)
	ask(serve, "one")
	ask(serve, "two")
	ask(command, "three")
	for who, out := range map[string]string{"the process that held it": first.String(), "another one": second.String()} {
		if strings.Count(out, "\n") != 1 || !strings.Contains(out, "write by ann; sallyport approvals approve one") {
			t.Errorf("%s said %q, want the command once", who, out)
		}
	}
	if err := shared.Decide(t.Context(), "one", "boss", true, ""); err != nil {
		t.Fatal(err)
	}
	second.Reset()
	ask(announce(&second), "four")
	if second.Len() != 0 {
		t.Errorf("of a call that was approved: %q, want nothing", second.String())
	}
}

// TestAnAnnouncedQueueClaims: a call waits for its use where the queue makes it, and for
// its record where the state can.
func TestAnAnnouncedQueueClaims(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), t.TempDir()+"/state.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for name, store := range map[string]sallyport.ApprovalStore{"memory": approvals.New(time.Now), "file": db.Approvals()} {
		var q approvals.Claimer = &announcingQueue{ApprovalQueue: store}
		now := time.Now()
		a := sallyport.Approval{ID: "one", Digest: "d", Tool: "write", Principal: "ann", Created: now, Expires: now.Add(time.Hour)}
		if _, err := store.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := q.Claim(t.Context(), "one"); ok || err != nil {
			t.Errorf("%s: Claim before the decision = %v, %v", name, ok, err)
		}
		if err := store.Decide(t.Context(), "one", "boss", true, ""); err != nil {
			t.Fatal(err)
		}
		settle, ok, err := q.Claim(t.Context(), "one")
		if !ok || err != nil || settle(false) != nil {
			t.Errorf("%s: Claim = %v, %v, want it settled", name, ok, err)
		}
		if _, ok, err := q.Claim(t.Context(), "one"); ok || err != nil {
			t.Errorf("%s: a second Claim = %v, %v", name, ok, err)
		}
	}
}
