package app

import (
	"context"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/text"
)

// tellingRecorder tells the operator on standard error what would have let a
// refused call pass. The model is told no rule and no change.
type tellingRecorder struct {
	*audit.Log
	g *Runtime
}

// Record keeps an event. A refusal is told whether or not it is kept.
func (r tellingRecorder) Record(ctx context.Context, e *audit.Event) error {
	if d := firstFix(e); d != nil {
		what := text.PrintableLine(string(e.Tool))
		if d.Resource != "" {
			what += " " + text.PrintableLine(d.Resource)
		}
		at := ""
		if d.Source != "" {
			at = " (" + text.PrintableLine(d.Source) + ")"
		}
		fmt.Fprintf(r.g.Env.Stderr, "sallyport: refused: %s: %s; to allow it: %s%s; more: %s\n",
			what, text.PrintableLine(d.Why), text.PrintableLine(d.Fix), at, r.g.CommandLine("explain --call "+e.CallID))
	}
	return r.Log.Record(ctx, e)
}

// firstFix returns the first refusal of an outcome that a change would lift. A
// held call is told when it is held.
func firstFix(e *audit.Event) *sallyport.Decision {
	if e.Kind != audit.KindOutcome {
		return nil
	}
	for i := range e.Decisions {
		if d := &e.Decisions[i]; !d.Allowed && d.Fix != "" && d.Step != sallyport.StepApprove {
			return d
		}
	}
	return nil
}
