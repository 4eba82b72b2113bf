package app

import (
	"context"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
)

// ApprovalDesk lets the person behind a client decide about held calls.
func (rt *Runtime) ApprovalDesk() sallyport.ApprovalDesk { return recordingDesk{rt.Approvals, rt} }

// recordingDesk records each decision like one of an operator.
type recordingDesk struct {
	sallyport.ApprovalDesk
	g *Runtime
}

// Decide approves or denies a held call and records the decision.
func (d recordingDesk) Decide(ctx context.Context, id, by string, approve bool, reason string) error {
	a, err := d.Get(ctx, id)
	if err != nil {
		return err
	}
	return d.g.RecordDecision(ctx, &a, by, approve, reason)
}

// RecordDecision approves or denies a held call. An approval is recorded before it
// takes effect.
func (rt *Runtime) RecordDecision(ctx context.Context, a *sallyport.Approval, by string, approve bool, reason string) error {
	decide := func() error {
		err := rt.Approvals.Decide(ctx, a.ID, by, approve, reason)
		if err != nil {
			err = fmt.Errorf("approval %s: %w", a.ID, err)
		}
		return err
	}
	e := ChangeEvent(audit.ActionDeny, a.ID, reason)
	e.CallID, e.Tool, e.Principal = a.CallID, output.Plain().Text(a.Tool), by
	if approve {
		e.Change.Action = audit.ActionApprove
		return rt.RecordFirst(ctx, e, decide)
	}
	if err := decide(); err != nil {
		return err
	}
	return rt.RecordDone(ctx, e, "")
}
