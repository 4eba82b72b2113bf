package registry_test

import (
	"errors"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestAsks: an edge puts a call before the person behind its client only where
// a human decides about it, and not where that is the operator.
func TestAsks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*sallyport.Personality)
		tool string
		want bool
	}{
		{name: "a tool that is listed", tool: "held", want: true},
		{name: "a tool that is not", tool: "free"},
		{name: "a tool that is not known", tool: "other"},
		{name: "only the operator decides", tool: "held", edit: func(p *sallyport.Personality) { p.Approvals.OperatorOnly = true }},
		{name: "no one decides", tool: "held", edit: func(p *sallyport.Personality) { p.Approvals = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, asking(tt.edit))
			d.hold(nil)
			d.add(sallyport.Tool{Name: "free", Run: echo})
			if got := d.Asks(d.caller(), tt.tool); got != tt.want {
				t.Errorf("Asks(%s) = %v, want %v", tt.tool, got, tt.want)
			}
		})
	}
}

// TestC6_OnlyAPersonsClientIsAsked: the client of a program would answer for
// itself.
func TestC6_OnlyAPersonsClientIsAsked(t *testing.T) {
	t.Parallel()
	d := newDesk(t, asking(nil))
	d.hold(nil)
	person := d.caller()
	program := d.caller()
	program.Principal.Person = false
	if !d.Asks(person, "held") || d.Asks(program, "held") {
		t.Errorf("Asks = %v for a person and %v for a program, want true and false", d.Asks(person, "held"), d.Asks(program, "held"))
	}
}

// TestNobodyIsAskedAboutWhatIsStopped: a decision that comes while the
// principal, its session or the tool is stopped does not count.
func TestNobodyIsAskedAboutWhatIsStopped(t *testing.T) {
	t.Parallel()
	s := &thrown{}
	g := stopGate(t, s, asking(nil))
	g.add(sallyport.Tool{Name: "held", Schema: open, Run: echo})
	caller := g.caller()
	for _, what := range []string{
		"", "principal " + caller.Principal.Name, "session " + sallyport.SessionKey(caller.Principal.Name, caller.Session), "tool held",
	} {
		s.throw(nil, what)
		if got := g.Asks(caller, "held"); got != (what == "") {
			t.Errorf("Asks() while %q is stopped = %v", what, got)
		}
	}
	if s.throw(errors.New("broken")); g.Asks(caller, "held") {
		t.Error("Asks() = true where what is stopped is not known")
	}
}
