package audit_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
)

func TestRecordedEvent(t *testing.T) {
	s := &slice{}
	now := time.Date(2026, 3, 1, 12, 0, 0, 5, time.FixedZone("", 7200))
	l := newLog(t, s, &audit.Options{Now: func() time.Time { return now }})
	defer l.Close()
	given := audit.Event{
		Kind: audit.KindOutcome, CallID: "id", ToolCallID: "toolu_1", Tool: "read_file", Principal: "ci", Session: "s",
		Personality: "researcher", Platform: sallyport.PlatformMCP, Agent: "a", Team: "b", DelegatedBy: "c/d", Args: `{"path":"<x>"}`,
		ArgsDigest: "00", Definition: "11", Grant: &sallyport.Grant{Secrets: []string{"providers/*"}},
		Code: sallyport.CodeNotAvailable, Stage: sallyport.StepVisible, Error: "no",
		Decisions: []sallyport.Decision{{Step: sallyport.StepFind, Allowed: true}, {Step: sallyport.StepVisible, Why: "w", Source: "f:1:2", Fix: "x"}},
		DryRun:    true, Cached: true, Duration: 1500 * time.Microsecond, ValueChars: 7, Parts: 2, PartBytes: 9, CostUSD: 0.002, Level: "landlock", Full: "all",
	}
	before := given
	if err := l.Record(t.Context(), &given); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, given); diff != "" {
		t.Errorf("Record changed its argument (-want +got):\n%s", diff)
	}
	want := given
	want.Version, want.Seq, want.Time, want.KeyID = 1, 1, now.UTC(), key(t, "key").ID()
	for e, err := range audit.Events(t.Context(), s, audit.Query{}) {
		if diff := cmp.Diff(want, e); diff != "" || err != nil {
			t.Errorf("Events: %v, difference (-want +got):\n%s", err, diff)
		}
		if !e.Denied() {
			t.Error("Denied = false for a refused call")
		}
	}
	if body := string(s.records[0].Body); strings.Contains(body, "\n") || !strings.Contains(body, `"ok":false`) ||
		!strings.Contains(body, `"duration_ms":1.5`) || strings.Contains(body, `"seq"`) {
		t.Errorf("body = %s, want one line with ok and duration_ms and without seq", body)
	}
}

func TestRecordIsBounded(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	long := strings.Repeat("ü", 1<<20)
	hosts := make([]string, 10_000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host%d.example.com", i)
	}
	clean := output.Clean(long)
	e := audit.Event{
		Kind: audit.KindOutcome, CallID: long, ToolCallID: clean, Tool: clean, Principal: long, Session: clean, Personality: clean,
		Platform: sallyport.Platform(long), Agent: clean, Team: clean, DelegatedBy: long, Args: clean, ArgsDigest: long, Definition: long,
		Code: sallyport.Code(long), Stage: sallyport.Step(long), Error: clean, Level: sallyport.Level(long), Full: clean,
		Grant: &sallyport.Grant{Network: sallyport.NetworkGrant{Allow: hosts}},
	}
	for range 1000 {
		e.Decisions = append(e.Decisions, sallyport.Decision{Step: sallyport.Step(long), Capability: long, Resource: long, Why: long, Source: long, Fix: long})
	}
	if err := l.Record(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	const most = audit.MaxFull + audit.MaxArgs + audit.MaxError + 16*audit.MaxName + audit.MaxDecisions*(5*audit.MaxReason+audit.MaxName+64) + 4096
	if got := len(s.records[0].Body); got > most {
		t.Errorf("the body has %d bytes, want at most %d", got, most)
	}
	for got, err := range audit.Events(t.Context(), s, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got.Grant != nil || len(got.GrantDigest) != 64 {
			t.Errorf("grant %v, digest %q, want the digest alone", got.Grant != nil, got.GrantDigest)
		}
		if len(got.Args) > audit.MaxArgs || !strings.HasSuffix(string(got.Args), "ü [cut -- 2097152 bytes total]") {
			t.Errorf("Args = …%q, want it cut between code points and marked", got.Args[len(got.Args)-40:])
		}
		if len(got.Decisions) != audit.MaxDecisions || len(got.Decisions[0].Why) > audit.MaxReason {
			t.Errorf("%d decisions, the first with %d bytes", len(got.Decisions), len(got.Decisions[0].Why))
		}
		if d := got.Decisions[0]; len(d.Resource) > audit.MaxReason || !strings.HasSuffix(d.Resource, "ü [cut -- 2097152 bytes total]") {
			t.Errorf("Resource = …%q, want it cut and marked", d.Resource[len(d.Resource)-40:])
		}
	}
	if len(e.Decisions) != 1000 || e.Decisions[0].Why != long {
		t.Error("Record changed the decisions of its argument")
	}
}

// TestALongTrailKeepsItsEnds: what ended the call stands at the end, and the record says
// how many decisions there were.
func TestALongTrailKeepsItsEnds(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	e := outcome("c")
	for i := range 1000 {
		e.Decisions = append(e.Decisions, sallyport.Decision{Step: sallyport.StepAccess, Allowed: true, Resource: fmt.Sprint("/", i)})
	}
	if err := l.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	got, err := s.records[0].Event()
	if err != nil || len(got.Decisions) != audit.MaxDecisions {
		t.Fatalf("%d decisions, %v, want %d", len(got.Decisions), err, audit.MaxDecisions)
	}
	want := sallyport.Decision{Step: sallyport.StepAccess, Allowed: true, Why: "[cut -- 1000 decisions total]"}
	if d := got.Decisions; d[0].Resource != "/0" || d[len(d)-1].Resource != "/999" || !slices.Contains(d, want) {
		t.Errorf("Decisions = %v, want the first, the last and %v between them", d, want)
	}
}

func TestEventJSON(t *testing.T) {
	for _, e := range []*audit.Event{intent("a"), outcome("b"), {Kind: audit.KindOutcome, Duration: 3 * time.Second}} {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if hasOK := strings.Contains(string(text), `"ok":`); hasOK != (e.Kind == audit.KindOutcome) {
			t.Errorf("Marshal = %s, want ok on an outcome alone", text)
		}
		var again audit.Event
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*e, again); diff != "" {
			t.Errorf("Unmarshal(%s), difference (-want +got):\n%s", text, diff)
		}
	}
	var e audit.Event
	if err := json.Unmarshal([]byte(`{"kind":7}`), &e); err == nil {
		t.Error("Unmarshal of a wrong type = no error")
	}
}

func TestOddTextIsRecordedAsValid(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	for _, tool := range []string{"a\xff", strings.Repeat("\xff", audit.MaxName), strings.Repeat("\xff", 10*audit.MaxName)} {
		e := intent("c")
		e.Tool = output.Clean(tool)
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range s.records {
		e, err := r.Event()
		if err != nil || string(e.Tool) != r.Tool || !utf8.ValidString(r.Tool) || len(r.Tool) > audit.MaxName {
			t.Errorf("tool %q in the record, %q in its body, %v, want the same valid text", r.Tool, e.Tool, err)
		}
	}
}

func TestSmallGrantIsKept(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	hosts := make([]string, 900) // above the estimate's half, below the bound
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host%d.example.com", i)
	}
	e := intent("c")
	e.Grant = &sallyport.Grant{
		Network: sallyport.NetworkGrant{Allow: hosts}, Dropped: []sallyport.Dropped{{Item: "x"}},
		Database: &sallyport.DatabaseCapability{Connections: []string{"a"}}, Mail: &sallyport.MailCapability{To: []string{"b"}},
	}
	if err := l.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for got, err := range audit.Events(t.Context(), s, audit.Query{}) {
		if diff := cmp.Diff(e.Grant, got.Grant); diff != "" || err != nil {
			t.Errorf("Grant: %v, difference (-want +got):\n%s", err, diff)
		}
	}
}
