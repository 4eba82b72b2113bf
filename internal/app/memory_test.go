package app

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/memory"
)

// TestCallsOfThePrincipalInItsRoleAreFound holds a search of the record to one principal
// in one role, in the order of its answer.
func TestCallsOfThePrincipalInItsRoleAreFound(t *testing.T) {
	t.Parallel()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	log := audittest.NewLog(t, state)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, c := range []struct{ id, principal, role, session, err string }{
		{"1", "ann", "dev", "s1", ""},
		{"2", "bob", "dev", "s1", ""},
		{"3", "ann", "ops", "s1", ""},
		{"4", "ann", "dev", "s2", "no such host Example"},
		{"5", "ann", "dev", "s1", ""},
	} {
		for _, kind := range []audit.Kind{audit.KindIntent, audit.KindOutcome} {
			e := audittest.NewEvent(kind, c.id)
			e.Principal, e.Time = c.principal, start.AddDate(0, 0, i)
			e.Personality, e.Session = output.Clean(c.role), output.Clean(c.session)
			if kind == audit.KindOutcome && c.err != "" {
				e.OK, e.Error = false, output.Clean(c.err)
			}
			if err := log.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	a := newAgentState(state, "")
	for _, tt := range []struct {
		q    recall.CallQuery
		want string
	}{
		{recall.CallQuery{Most: 9}, "5 4 1"},
		{recall.CallQuery{Most: 2}, "5 4"},
		{recall.CallQuery{Most: 9, Session: "s1"}, "5 1"},
		{recall.CallQuery{Most: 9, Words: "READ_file /w/a"}, "5 4 1"},
		{recall.CallQuery{Most: 9, Words: "host example"}, "4"},
		{recall.CallQuery{Most: 9, Words: "host path nowhere"}, ""},
		{recall.CallQuery{Most: 9, Since: start.AddDate(0, 0, 4)}, "5"},
	} {
		q := tt.q
		q.Principal, q.Role = "ann", "dev"
		calls, err := a.Calls(t.Context(), q)
		var ids []string
		for _, p := range calls.List {
			ids = append(ids, p.ID)
		}
		if got := strings.Join(ids, " "); got != tt.want || err != nil || !calls.Back.IsZero() {
			t.Errorf("Calls(%+v) = %q, %v, %v, want %q", tt.q, got, calls.Back, err, tt.want)
		}
	}
}
