package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
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

// FindApproval returns the one held call that an id selects, as [approvals.Select] does.
func (rt *Runtime) FindApproval(ctx context.Context, id string) (sallyport.Approval, error) {
	found, err := rt.selectHeld(ctx, []string{id})
	if err != nil {
		return sallyport.Approval{}, err
	}
	return found[0], nil
}

// selectHeld returns the held calls that ids select, also those that are over.
func (rt *Runtime) selectHeld(ctx context.Context, ids []string) ([]sallyport.Approval, error) {
	list, err := rt.Approvals.List(ctx, true)
	if err != nil {
		return nil, err
	}
	return approvals.Select(list, ids)
}

// DecideApprovals decides about the held calls that ids select, and returns those that are
// decided now. Nothing is decided when an id selects none. Of those that cannot be decided
// any more, undecided says why.
func (rt *Runtime) DecideApprovals(ctx context.Context, ids []string, by string, approve bool, reason string) (decided []sallyport.Approval, undecided, err error) {
	list, err := rt.selectHeld(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	var faults []error
	for i := range list {
		err := rt.RecordDecision(ctx, &list[i], by, approve, reason)
		if err == nil {
			list[i], err = rt.Approvals.Get(ctx, list[i].ID)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		decided = append(decided, list[i])
	}
	return decided, errors.Join(faults...), nil
}
