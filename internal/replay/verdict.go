// Package replay reads the verdict about a call out of its record, so that it can be
// compared with what another configuration says of the same call.
//
// Start with [ReadOutcome]. What depends on more than a record holds has no verdict:
// it is never taken for agreement.
package replay

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/facts"
)

// Outcome is what a configuration says of a call.
type Outcome string

// The outcomes.
const (
	// Allowed: the call may run.
	Allowed Outcome = "allowed"
	// Held: a person has to decide.
	Held Outcome = "held"
	// Refused: the call may not run.
	Refused Outcome = "refused"
)

// Verdict is what was, or would be, decided about a call up to the ceilings over its
// arguments and the rules about what was read before.
type Verdict struct {
	// Outcome is the decision; empty when Unknown says why there is none.
	Outcome Outcome `json:"outcome,omitempty"`
	// Step is the step that refused or held the call; empty when it is allowed.
	Step sallyport.Step `json:"step,omitempty"`
	// Code classifies the reason for the caller: approval_required where the call is
	// held, whatever a person said since. It is empty when the call is allowed.
	Code sallyport.Code `json:"code,omitempty"`
	// Why is the reason, for the operator.
	Why string `json:"why,omitempty"`
	// Source is the place of the rule as file:line:column; it may be empty.
	Source string `json:"source,omitempty"`
	// Unknown says why the call cannot be decided again; empty when it can.
	Unknown string `json:"unknown,omitempty"`
}

// Differs reports whether two verdicts differ in the decision, or in the code of its
// reason.
func (v *Verdict) Differs(other *Verdict) bool {
	return v.Outcome != other.Outcome || v.Code != other.Code
}

// Call is a past call that is decided again.
type Call struct {
	// Tool is the ID of the tool.
	Tool string
	// Args is the recorded arguments, Digest that of the arguments that the call had.
	Args json.RawMessage
	// Digest is the SHA-256 of the canonical arguments in hexadecimal digits.
	Digest string
	// Read is what the conversation had read before.
	Read []sallyport.FactMark
	// Carried is what of the arguments was in that; nil when the record does not say it.
	Carried *facts.Carried
	// Task is what the session was narrowed to by then; nil for nothing.
	Task *conversation.Task
	// Ran says that the call ran, so that what it added to sums counts.
	Ran bool
}

// The words of the gate by which a record tells what was read before.
const (
	saysUntrusted = "untrusted content"
	saysPrivate   = "private data"
	saysTask      = "the session was narrowed to"
)

// ReadOutcome returns the verdict that the outcome of a call tells, and whether the call
// ran, or was let run.
func ReadOutcome(e *audit.Event) (v Verdict, ran bool) {
	switch {
	case e.DryRun:
		return Verdict{Unknown: "it was a dry run"}, false
	case e.ArgsDigest == "":
		return Verdict{Unknown: "its arguments could not be decoded"}, false
	case !isWhole(string(e.Args)):
		return Verdict{Unknown: "its arguments are not recorded whole"}, false
	}
	if string(e.Session) == e.CallID && WasNarrowed(e) {
		return Verdict{Unknown: UnknownTask}, false // it came with the call, which had no session
	}
	if e.DelegatedBy != "" && e.Stage != "" {
		return Verdict{Unknown: "a sub-agent made it, whose terms are not recorded"}, false
	}
	switch e.Stage {
	case sallyport.StepFind:
		return refusedBy(e), false
	case sallyport.StepVisible:
		return readVisible(e), false
	case sallyport.StepPermit, sallyport.StepValidate:
		return refusedBy(e), false
	case sallyport.StepGrant:
		return readGrant(e), false
	case sallyport.StepApprove:
		return readApprove(e), false
	case sallyport.StepReady, sallyport.StepBackends:
		return Verdict{Unknown: "what it needs was not available"}, false
	case sallyport.StepLimit:
		return Verdict{Unknown: "a rate limit refused it"}, false
	case sallyport.StepAccess:
		if strings.HasPrefix(lastRefusal(e).Why, "the call would be refused, so no person was asked") {
			return Verdict{Unknown: "its grant refused it before a person was asked"}, false
		}
	}
	return readAllowed(e), true
}

// isWhole reports whether recorded arguments are an object with its end: a record ends
// what is cut with the number of its bytes, in brackets, whatever the arguments say. That
// they are those of the call is seen by their digest.
func isWhole(args string) bool { return strings.HasPrefix(args, "{") && strings.HasSuffix(args, "}") }

// refusedBy returns that the step at which a call ended refused it.
func refusedBy(e *audit.Event) Verdict {
	d := lastRefusal(e)
	return Verdict{Outcome: Refused, Step: e.Stage, Code: e.Code, Why: cmp.Or(d.Why, string(e.Error)), Source: d.Source}
}

// lastRefusal returns the decision that ended a call; the zero decision when none did.
func lastRefusal(e *audit.Event) (d sallyport.Decision) {
	for i := range e.Decisions {
		if e.Decisions[i].Step == e.Stage && !e.Decisions[i].Allowed {
			d = e.Decisions[i]
		}
	}
	return d
}

// readVisible reads a refusal of the step that also refuses what is stopped, what the
// surface leaves out. Those name no line of the configuration.
func readVisible(e *audit.Event) Verdict {
	d := lastRefusal(e)
	if strings.HasPrefix(d.Why, saysTask) {
		return refusedBy(e)
	}
	if d.Source == "" && !strings.HasPrefix(d.Why, "principal "+e.Principal+" may not take ") && d.Why != "no such personality" {
		return Verdict{Unknown: "it was refused for something else than the configuration: " + d.Why}
	}
	return refusedBy(e)
}

func readGrant(e *audit.Event) Verdict {
	d := lastRefusal(e)
	switch {
	case d.Capability != "arguments" || e.Code != sallyport.CodePermissionDenied:
		return Verdict{Unknown: "what it may touch could not be told"}
	}
	return refusedBy(e)
}

// UnknownCarried is why a call has no verdict whose arguments would have to be compared
// with what was read.
const UnknownCarried = "it depends on what its arguments carried, which its record does not hold"

// UnknownTask is why a call has no verdict whose session a task narrowed that is not
// known any more.
const UnknownTask = "its session was narrowed to a task that is not kept"

// readApprove reads an outcome of the step at which people and flow rules decide.
func readApprove(e *audit.Event) Verdict {
	d := lastRefusal(e)
	v := Verdict{Outcome: Held, Step: e.Stage, Code: sallyport.CodeApprovalRequired, Why: d.Why, Source: d.Source}
	switch {
	case e.Code == sallyport.CodeApprovalRequired, e.Code == sallyport.CodeApprovalDenied:
		return v
	case e.Code == sallyport.CodePermissionDenied && d.Source != "":
		v.Outcome, v.Code = Refused, e.Code
		return v
	}
	return Verdict{Unknown: "it ended before it was decided"}
}

// readAllowed reads an outcome of a call that was let run, perhaps by a person.
func readAllowed(e *audit.Event) Verdict {
	for i := range e.Decisions {
		if d := &e.Decisions[i]; d.Step == sallyport.StepApprove && d.Allowed && d.Why != "" {
			return Verdict{Outcome: Held, Step: d.Step, Code: sallyport.CodeApprovalRequired, Why: d.Why, Source: d.Source}
		}
	}
	return Verdict{Outcome: Allowed}
}

// AddRead adds to the marks of what was read before a call those that its outcome tells
// of without a source, as one of another process may be.
func AddRead(marks []sallyport.FactMark, e *audit.Event) []sallyport.FactMark {
	if e.Stage != sallyport.StepApprove && e.Stage != sallyport.StepGrant {
		return marks
	}
	why := lastRefusal(e).Why
	for fact, word := range map[sallyport.Fact]string{sallyport.FactUntrusted: saysUntrusted, sallyport.FactPrivate: "after " + saysPrivate} {
		known := slices.ContainsFunc(marks, func(m sallyport.FactMark) bool { return m.Fact == fact })
		if !known && strings.Contains(why, word) {
			marks = append(slices.Clip(marks), sallyport.FactMark{Fact: fact, Tool: "a tool", CallID: "unknown", Time: e.Time})
		}
	}
	return marks
}

// WasNarrowed reports whether a task of its session, or of its principal, refused or held
// a call.
func WasNarrowed(e *audit.Event) bool { return strings.Contains(lastRefusal(e).Why, saysTask) }
