package app

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
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
