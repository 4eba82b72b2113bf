package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/memory"
)

// TestWhatAReplayReadsIsWhatTheRecordSays, in its order.
func TestWhatAReplayReadsIsWhatTheRecordSays(t *testing.T) {
	t.Parallel()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	log := audittest.NewLog(t, state)
	clean, at := output.Plain(), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for n := range 3 * readBatch {
		e := &audit.Event{
			Kind: audit.KindIntent, CallID: fmt.Sprint(n), Tool: clean.Text("tool"), Principal: "agent", Session: clean.Text("s"), Time: at.Add(time.Duration(n) * time.Second),
			Personality: clean.Text("role"), Platform: sallyport.PlatformMCP, Args: clean.Text(`{"a":1}`), ArgsDigest: "digest",
		}
		switch n % 3 {
		case 1:
			e.Kind, e.Code, e.Stage, e.Error = audit.KindOutcome, sallyport.CodePermissionDenied, sallyport.StepPermit, clean.Text("no")
			e.Decisions = []sallyport.Decision{{Step: sallyport.StepPermit, Why: "not held", Source: "sallyport.yaml:1:1"}}
		case 2:
			e.Brought = &facts.Brought{Session: facts.Digest("s"), Untrusted: true}
		}
		if err := log.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	var want, got []string
	describe := func(kind audit.Kind, e *audit.Event) string {
		if e.Brought != nil {
			return fmt.Sprint(kind, e.Time, e.CallID, e.Principal, *e.Brought)
		}
		return fmt.Sprint(kind, e.Time, e.CallID, e.Principal, e.Tool, e.Session, e.Personality, e.Platform, e.Args, e.ArgsDigest, e.Code, e.Stage, e.Error, e.Decisions)
	}
	for e, err := range audit.Events(t.Context(), state, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, describe(e.Kind, &e))
	}
	for r, err := range readPast(t.Context(), state, true) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, describe(r.Kind, &r.event))
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 3*readBatch {
		t.Errorf("%d records, difference (-want +got):\n%s", len(got), diff)
	}
	for r, err := range readPast(t.Context(), state, true) { // one who stops early
		if err != nil || r.Seq != 1 {
			t.Errorf("the first record = %d, %v", r.Seq, err)
		}
		break
	}
}

// TestACallWithoutAnOutcomeIsNotReplayable: what it did is unknown.
func TestACallWithoutAnOutcomeIsNotReplayable(t *testing.T) {
	t.Parallel()
	body := []byte(`{"time":"2026-03-01T09:00:00Z","kind":"intent","call_id":"c","tool":"tool","principal":"agent","personality":"role","args":"{}"}`)
	var (
		seen []ReplayedCall
		sum  ReplaySummary
	)
	show := func(c *ReplayedCall) error { seen = append(seen, *c); return nil }
	p := replayer{
		pass: func(j *judgedCall) error { return sum.countCall(j, show) },
		open: map[string]*pastIntent{"c": {record: audit.Record{Kind: audit.KindIntent, Call: "c", Principal: "agent", Time: 1, Body: body}}},
	}
	if err := p.passUnfinished(); err != nil {
		t.Fatal(err)
	}
	if sum != (ReplaySummary{Calls: 1, Unknown: 1}) || len(seen) != 1 || seen[0].Unknown != "its outcome is not recorded" || seen[0].Tool != "tool" {
		t.Errorf("it found %+v, and showed %+v", sum, seen)
	}
}
