package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/text"
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
	return d.g.RecordDecision(ctx, &a, approvals.DeciderNamed(by), approve, reason)
}

// MayDecide reports whether a person may decide about calls of a tool in a role, at once or
// once they have been held for a time.
func (d recordingDesk) MayDecide(by, personality, tool string) bool {
	rules := d.g.InForce().Config.Approvers(personality, tool, d.g.findLabel)
	return rules.MayEver(by)
}

// CheckAnswer returns why a held call is not put before a person: who may not decide about
// it now, or has said yes.
func (d recordingDesk) CheckAnswer(ctx context.Context, a *sallyport.Approval, by string) error {
	rules := d.g.approversOf(a)
	if err := rules.CheckYes(by, a, time.Now()); err != nil {
		return err
	}
	return d.g.checkSaidYes(ctx, &rules, a, by)
}

// YesesNeeded returns how many people have to say yes to a held call.
func (d recordingDesk) YesesNeeded(a *sallyport.Approval) int {
	rules := d.g.approversOf(a)
	return max(rules.Needed, 1)
}

// RecordDecision approves or denies a held call. An approval is recorded before it
// takes effect. Where the yes of several people is needed, each is, and the call stays
// held until the last of them. A decision of who may not decide is recorded as refused.
func (rt *Runtime) RecordDecision(ctx context.Context, a *sallyport.Approval, by approvals.Decider, approve bool, reason string) error {
	rules := rt.approversOf(a)
	e := decisionEvent(a, by, approve, reason)
	if approve && rules.AsksSeveral() {
		e.Change.Detail = output.Plain().Text(fmt.Sprintf("one yes of the %d that are needed%s", rules.Needed, text.ReasonSuffix(reason)))
	}
	decide := func() (err error) {
		if approve && rules.AsksSeveral() {
			err = rt.addYes(ctx, a, by, reason)
		} else {
			if named := *a; approve { // no name of its own approves a call
				err = named.Decide(time.Now(), by.Name, true, reason)
			}
			if err == nil {
				err = rt.decideHeld(ctx, a, by.String(), approve, reason)
			}
		}
		return nameApproval(a, err)
	}
	err := rules.CheckDecision(by.Person, a, approve, time.Now())
	if err == nil && approve {
		err = rt.checkSaidYes(ctx, &rules, a, by.Person)
	}
	if err != nil {
		return rt.refuseDecision(ctx, e, nameApproval(a, err))
	}
	if approve {
		return rt.RecordFirst(ctx, e, decide)
	}
	if err := decide(); err != nil {
		return err
	}
	return rt.RecordDone(ctx, e, "")
}

// decisionEvent returns the event for a decision about a held call.
func decisionEvent(a *sallyport.Approval, by approvals.Decider, approve bool, reason string) *audit.Event {
	action := audit.ActionDeny
	if approve {
		action = audit.ActionApprove
	}
	e := ChangeEvent(action, a.ID, reason)
	e.CallID, e.Tool, e.Principal = a.CallID, output.Plain().Text(a.Tool), by.String()
	return e
}

// nameApproval says which held call an error is about; nil stays nil.
func nameApproval(a *sallyport.Approval, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("approval %s: %w", a.ID, err)
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
func (rt *Runtime) DecideApprovals(ctx context.Context, ids []string, by approvals.Decider, approve bool, reason string) (decided []sallyport.Approval, undecided, err error) {
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
