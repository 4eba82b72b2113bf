package audit_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
)

// TestAChangeIsPartOfTheChain records one between calls, and reads it back from
// the store and from an export.
func TestAChangeIsPartOfTheChain(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	want := audit.Change{Action: audit.ActionRevoke, Target: "agent", Detail: "leaked", User: "root"}
	for _, e := range []*audit.Event{
		intent("c"),
		{Kind: audit.KindChange, CallID: "change-1", Principal: "local", Change: &want},
		{Kind: audit.KindChange, CallID: "change-2", Principal: "local", Change: &audit.Change{Action: audit.ActionStop, Target: output.Clean(strings.Repeat("x", 2*audit.MaxName))}},
	} {
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, s, nil); !r.OK() || r.Records != 3 || r.UnknownCount != 1 {
		t.Errorf("Verify: %s, want 3 records, the call among them unfinished", r.String())
	}
	var export bytes.Buffer
	if err := audit.Export(t.Context(), s, &export, audit.Query{}); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, audit.ReadExport(bytes.NewReader(export.Bytes())), nil); !r.OK() {
		t.Errorf("Verify of the export: %s", r.String())
	}
	for e, err := range audit.Events(t.Context(), s, audit.Query{Call: "change-1"}) {
		if diff := cmp.Diff(&want, e.Change); diff != "" || err != nil || e.Denied() || e.Level != "" {
			t.Errorf("event = %+v, %v (-want +got):\n%s", e, err, diff)
		}
	}
	for e, err := range audit.Events(t.Context(), s, audit.Query{Call: "change-2"}) {
		if err != nil || len(e.Change.Target) > audit.MaxName {
			t.Errorf("target has %d bytes, %v, want at most %d", len(e.Change.Target), err, audit.MaxName)
		}
	}
}

// TestWhatIsNoChangeIsNotOne refuses a record that does not say what changed,
// and a call that does.
func TestWhatIsNoChangeIsNotOne(t *testing.T) {
	l := newLog(t, &slice{}, nil)
	defer l.Close()
	call := intent("c")
	call.Change = &audit.Change{Action: audit.ActionAdd, Target: "agent"}
	for _, e := range []*audit.Event{{Kind: audit.KindChange, Principal: "local"}, call} {
		if err := l.Record(t.Context(), e); err == nil {
			t.Errorf("Record(%+v) = nil, want an error", e)
		}
	}
}
