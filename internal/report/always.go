package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
)

// AlwaysAnswer is what a yes for always gives, for programs.
type AlwaysAnswer struct {
	*app.Always
	// Given is true once it is given.
	Given bool `json:"given"`
}

// PrintAlways prints what a yes for always would give. An exception counts for a span; 0
// is for ever.
func PrintAlways(p *Printer, always *app.Always, span time.Duration) {
	p.PrintLine("%s", p.ColourHeading("for always"))
	for i := range always.Members {
		m := &always.Members[i]
		p.PrintLine("    known.%s gets: %+q", m.Set, m.Value)
		p.PrintLine("    lets: it pass wherever an argument has to be in %s; it does not count as untrusted any more", m.Set)
		if len(m.UsedBy) > 0 {
			p.PrintLine("    used by: %s", EscapeControls(strings.Join(m.UsedBy, ", ")))
		}
		p.PrintLine("    ends: with known rm, or a revocation")
	}
	e := always.Exception
	if e == nil {
		return
	}
	p.PrintLine("    lets: exactly this call of %s run without a question, in any session", EscapeControls(e.Principal+"/"+e.Personality))
	p.PrintLine("    tool: %s, with the same arguments", EscapeControls(e.Tool))
	if e.Why != "" {
		p.PrintLine("    though: %s", EscapeControls(e.Why))
	}
	if app.LiftsSums(e) {
		p.PrintLine("    mind: %s", p.ColourBad("this exact call has no limit any more, however often it is repeated: no sum holds it"))
	}
	until := "with a revocation, a stop, or another token of its principal"
	if span > 0 {
		until = fmt.Sprintf("after %s; before that %s", span, until)
	}
	p.PrintLine("    ends: %s; it does not count while the tool, or what it may touch, is another", until)
}

// givenAnswer is what was allowed for always, for programs.
type givenAnswer struct {
	ID          string    `json:"id"`
	Always      bool      `json:"always"`
	Set         string    `json:"set,omitempty"`
	Value       string    `json:"value,omitempty"`
	Tool        string    `json:"tool,omitempty"`
	Principal   string    `json:"principal,omitempty"`
	Personality string    `json:"personality,omitempty"`
	Args        string    `json:"args,omitempty"`
	Why         string    `json:"why,omitempty"`
	Targets     []string  `json:"targets,omitempty"`
	By          string    `json:"by"`
	Reason      string    `json:"reason,omitempty"`
	Given       time.Time `json:"given"`
	Expires     time.Time `json:"expires_at,omitzero"`
}

func answerGiven(g *app.GivenAlways) givenAnswer {
	if m := g.Member; m != nil {
		return givenAnswer{ID: m.Approval, Always: true, Set: g.Set, Value: m.Value, By: m.By, Reason: m.Reason, Given: m.Given}
	}
	e := g.Exception
	return givenAnswer{
		ID: e.ID, Always: true, Tool: e.Tool, Principal: e.Principal, Personality: e.Personality, Args: e.Args, Why: e.Why,
		Targets: e.Targets, By: e.By, Reason: e.Reason, Given: e.Given, Expires: e.Expires,
	}
}

// printGiven prints what was allowed for always.
func printGiven(p *Printer, g *app.GivenAlways, now time.Time) {
	a := answerGiven(g)
	if g.Member != nil {
		p.PrintLine("%s  always  known.%s has %+q", a.ID, a.Set, a.Value)
	} else {
		until := ""
		if !a.Expires.IsZero() {
			until = fmt.Sprintf(", expires in %s", max(a.Expires.Sub(now), 0).Truncate(time.Second))
		}
		p.PrintLine("%s  always  %s  %s%s", a.ID, EscapeControls(a.Tool), EscapeControls(a.Principal+"/"+a.Personality), until)
		p.PrintLine("    exactly: %s", EscapeControls(a.Args))
		for _, target := range a.Targets {
			p.PrintLine("    uses: %s", EscapeControls(target))
		}
		if a.Why != "" {
			p.PrintLine("    why: %s", EscapeControls(a.Why))
		}
	}
	p.PrintLine("    %s", EscapeControls(fmt.Sprintf("given by %s%s", a.By, text.ReasonSuffix(a.Reason))))
}
