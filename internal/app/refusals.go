package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

// tellingRecorder tells the operator on standard error what would have let a
// refused call pass, or that nothing would. The model is told no rule and no change.
type tellingRecorder struct {
	*audit.Log
	g      *Runtime
	config string // the fingerprint of the configuration that decides
}

const (
	// maxTold bounds the refusals of one call that are told; the record has them all.
	maxTold = 4
	// maxToldText bounds each text of one, in code points: a caller may choose the path.
	maxToldText = 1 << 10
)

// Record keeps an event. A refusal is told whether or not it is kept.
func (r tellingRecorder) Record(ctx context.Context, e *audit.Event) error {
	for _, d := range toldRefusals(e) {
		what := clipLine(string(e.Tool))
		if d.Resource != "" {
			what += " " + clipLine(d.Resource)
		}
		fmt.Fprintf(r.g.Env.Stderr, "sallyport: refused: %s: %s; %s; more: %s\n",
			what, clipLine(d.Why), r.adviseOn(d), r.g.CommandLine("explain --call "+e.CallID))
	}
	r.g.Metrics.CountEvent(e)
	r.g.logEvent(ctx, e)
	if r.g.traces != nil {
		defer endSpan(ctx, e)
	}
	if s := r.g.shadow; s != nil && e.Kind == audit.KindOutcome {
		return s.recordOutcome(e.CallID, r.config, func() error { return r.Log.Record(ctx, e) })
	}
	return r.Log.Record(ctx, e)
}

// clipLine puts a text on the line of a refusal.
func clipLine(s string) string { return text.PrintableLine(text.Clip(s, maxToldText)) }

// adviseOn says what lifts a refusal, and where it is written.
func (r tellingRecorder) adviseOn(d *sallyport.Decision) string {
	fix := clipLine(d.Fix)
	switch {
	case isFinal(d):
		return "no setting lifts this"
	case r.g.Builtin: // there is no file in which the place could be found
		return "to allow it: " + r.g.CommandLine("init") + " writes " + ConfigName + ", which is not there yet; then " + fix
	case d.Source != "":
		return "to allow it: " + fix + " (" + clipLine(d.Source) + ")"
	default:
		return "to allow it: " + fix
	}
}

// toldRefusals returns the refusals of an outcome that are told: the one that ended the
// call, or those that its child met and a change would lift. What a tool was refused before
// it went on, such as a look at what lies there, did not end the call. A held call is told
// when it is held.
func toldRefusals(e *audit.Event) (list []*sallyport.Decision) {
	if e.Kind != audit.KindOutcome {
		return nil
	}
	var final *sallyport.Decision
	for i := range e.Decisions {
		d := &e.Decisions[i]
		again := func(known *sallyport.Decision) bool { return known.Fix == d.Fix }
		if !d.Allowed && d.Fix != "" && d.Step != sallyport.StepApprove && !slices.ContainsFunc(list, again) {
			list = append(list, d)
		}
		if isFinal(d) {
			final = d
		}
	}
	switch ended := e.Stage == sallyport.StepAccess; {
	case ended && len(list) > 0:
		return list[len(list)-1:]
	case ended && final != nil:
		return []*sallyport.Decision{final}
	}
	return list[:min(len(list), maxTold)]
}

// isFinal reports whether a refusal is about a path that no setting opens. A host may be on
// the floor and on a list of the operator's, which its address tells.
func isFinal(d *sallyport.Decision) bool {
	return reach.IsFinal(d) && strings.HasPrefix(d.Capability, group.Files+".")
}
