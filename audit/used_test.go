package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/store/memory"
)

// TestARecordSaysWhatItsCallUses reads it back from the body alone, and takes nothing
// else for it.
func TestARecordSaysWhatItsCallUses(t *testing.T) {
	t.Parallel()
	m, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := audittest.NewLog(t, m)
	const fake = `x","used":{"approvals":["stolen"]}}`
	many := make([]string, approvals.MaxUsed)
	for i := range many {
		many[i] = fmt.Sprintf("%0*d", approvals.MaxUsedID, i)
	}
	rule := strings.Repeat("r", approvals.MaxUsedID)
	runs := slices.Repeat([]approvals.RuleRun{{Rule: rule, Run: approvals.RuleRuns}}, approvals.MaxUsed)
	brings := &facts.Brought{Session: facts.Digest("s"), Private: true, Untrusted: true}
	for _, c := range []struct {
		kind   audit.Kind
		used   []string
		runs   []approvals.RuleRun
		brings *facts.Brought
	}{
		{audit.KindIntent, []string{"a"}, nil, nil},
		{audit.KindIntent, []string{"a", "b"}, nil, brings},
		{audit.KindOutcome, many, nil, brings},
		{audit.KindOutcome, many, nil, nil},
		{audit.KindIntent, nil, runs, brings},
		{audit.KindIntent, nil, runs[:1], nil},
		{audit.KindOutcome, many[:2], runs[:2], brings},
		{audit.KindIntent, nil, nil, brings},
		{audit.KindIntent, nil, nil, nil},
		{audit.KindOutcome, nil, nil, nil},
	} {
		e := audit.Event{
			Kind: c.kind, CallID: "c", Tool: fake, Principal: "p", Session: fake, Args: fake, Full: fake, OK: true, Duration: time.Second,
			Grant: &sallyport.Grant{Secrets: []string{fake}}, Brought: c.brings,
		}
		if c.used != nil || c.runs != nil {
			e.Used = &approvals.Used{Approvals: c.used, Runs: c.runs}
		}
		if err := l.Record(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
		for r, err := range m.Read(t.Context(), audit.Query{Last: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			r.Used, r.Brought = nil, nil // as a file has it
			read, err := r.Event()
			if err != nil {
				t.Fatal(err)
			}
			diff := cmp.Diff(e.Used, r.FindUsed()) + cmp.Diff(e.Used, read.Used) + cmp.Diff(e.Brought, r.FindBrought())
			if diff != "" {
				t.Errorf("%+v (-want +got):\n%s", c, diff)
			}
		}
	}
	for _, u := range []approvals.Used{{}, {Approvals: []string{`a"`}}, {Approvals: []string{strings.Repeat("a", 65)}}} {
		if err := l.Record(t.Context(), &audit.Event{Kind: audit.KindIntent, Used: &u}); err == nil {
			t.Errorf("%+v was recorded with an id that nothing finds again", u)
		}
	}
}

// TestOnlyTheLastMemberSaysWhatIsUsed: bodies that no gate writes.
func TestOnlyTheLastMemberSaysWhatIsUsed(t *testing.T) {
	t.Parallel()
	const used = `,"used":{"approvals":["a"]}`
	for body, want := range map[string]bool{
		`{"kind":"intent"` + used + `}`:                                true,
		`{"kind":"intent"` + used + `,"brought":{"private":true}}`:     true,
		`{"kind":"intent"` + used + `,"carried":{}}`:                   false,
		`{"carried":{"x":1` + used + `}` + used + `}`:                  true,
		`{"kind":"intent","carried":{"more":true` + used + `}}`:        false,
		`{"carried":{"more":true` + used + `},"brought":{}}`:           false,
		`{"carried":{"x":1` + used + `,"brought":{}}}`:                 false,
		`{"kind":"intent","used":{"approvals":["a b"]}}`:               false,
		`{"kind":"intent","used":{"approvals":[]}}`:                    false,
		`{"kind":"intent","used":{"approvals":["a","a","a","a","a"]}}`: false,
		`{"kind":"intent","used":{"approvals":["a"]`:                   false,
		`{"kind":"intent","used":`:                                     false,
		`,"used":}}`:                                                   false,
		"":                                                             false,
	} {
		r := audit.Record{Body: []byte(body)}
		if got := r.FindUsed(); (got != nil) != want {
			t.Errorf("%s uses %+v", body, got)
		}
	}
}
