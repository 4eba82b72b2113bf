package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/output"
)

// openRules finds the rules for sessions in the state.
func (rt *Runtime) openRules() {
	rt.Rules = approvals.NewRules(rt.Settings, rt.Approvals, &approvals.RulesOptions{Stands: rt.stillCalls, Counts: rt.stillDecides})
}

// GiveRule lets the calls of a rule run in the session of a held call. It is
// recorded before it takes effect.
func (rt *Runtime) GiveRule(ctx context.Context, a *sallyport.Approval, r *approvals.Rule, by approvals.Decider, reason string) error {
	e := ruleEvent(audit.ActionAllow, r, by.String(), reason)
	e.CallID = a.CallID
	if err := rt.CheckWider(by.Person, a); err != nil {
		return rt.refuseDecision(ctx, e, nameApproval(a, err))
	}
	return rt.RecordFirst(ctx, e, func() error { return nameApproval(a, rt.Rules.Give(ctx, *r, by, reason)) })
}

// RevokeRule ends a rule for a session.
func (rt *Runtime) RevokeRule(ctx context.Context, id string) (approvals.Rule, error) {
	r, err := rt.Rules.Revoke(ctx, id)
	if err != nil {
		return r, fmt.Errorf("rule %s: %w", id, err)
	}
	return r, rt.RecordDone(ctx, ruleEvent(audit.ActionDeny, &r, sallyport.LocalPrincipal, "the rule is revoked"), "")
}

// RevokeRules ends all rules and exceptions, also those that cannot be read, and returns
// their ids. Members of sets stay.
func (rt *Runtime) RevokeRules(ctx context.Context) (ids []string, err error) {
	gone, err := rt.Rules.EndAll(ctx, func(*approvals.Rule) bool { return true })
	if err != nil {
		return nil, err
	}
	always, err := rt.Rules.EndExceptions(ctx, func(*approvals.Exception) bool { return true })
	ids = []string{}
	for i := range gone {
		ids = append(ids, gone[i].ID)
	}
	for i := range always {
		ids = append(ids, always[i].ID)
	}
	said := fmt.Sprintf("%d rules for sessions and %d exceptions are revoked", len(gone), len(always))
	return ids, errors.Join(err, rt.RecordDone(ctx, ChangeEvent(audit.ActionDeny, "all rules", said), ""))
}

// RevokeSelected ends the rule, the exception or the members that an id selects, as
// [approvals.SelectID] does, and returns the whole id.
func (rt *Runtime) RevokeSelected(ctx context.Context, id string) (ids []string, err error) {
	list, err := rt.Rules.List(ctx)
	if err != nil {
		return nil, err
	}
	always, err := rt.ListAlways(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	for i := range always {
		if id := always[i].Approval(); !slices.Contains(ids, id) {
			ids = append(ids, id) // one held call may give several members
		}
	}
	i, err := approvals.SelectID(ids, id, "rule", "rules")
	if err != nil {
		return nil, err
	}
	if i < len(list) {
		_, err = rt.RevokeRule(ctx, ids[i])
	} else {
		err = rt.RevokeAlways(ctx, ids[i])
	}
	return ids[i : i+1], err
}

// ruleEvent returns the event for a rule that was given or revoked.
func ruleEvent(action audit.Action, r *approvals.Rule, by, reason string) *audit.Event {
	detail := fmt.Sprintf("%s of %s for session %+q, %s, %d calls in %s", r.Tool, r.Principal, r.Session, r.Describe(), r.Runs, approvals.RuleLife)
	if reason != "" {
		detail = reason + ": " + detail
	}
	e := ChangeEvent(action, r.ID, detail)
	e.Tool, e.Principal = output.Plain().Text(r.Tool), by
	return e
}

// Stop throws a kill switch in the name of the local user.
func (rt *Runtime) Stop(ctx context.Context, kind auth.SwitchKind, name, reason string) error {
	return rt.StopAs(ctx, sallyport.LocalPrincipal, kind, name, reason)
}

// StopAs throws a kill switch in the name of by, and ends the rules of what it stops.
func (rt *Runtime) StopAs(ctx context.Context, by string, kind auth.SwitchKind, name, reason string) error {
	if err := rt.Switches.Stop(ctx, kind, name, reason); err != nil {
		return err
	}
	err := rt.endStopped(ctx, kind, name)
	e := SwitchEvent(audit.ActionStop, kind, name, reason)
	e.Principal = by
	return errors.Join(rt.RecordDone(ctx, e, ""), err)
}

// Start releases a kill switch in the name of the local user.
func (rt *Runtime) Start(ctx context.Context, kind auth.SwitchKind, name string) error {
	return rt.StartAs(ctx, sallyport.LocalPrincipal, kind, name)
}

// StartAs releases a kill switch in the name of by. No rule from before it was thrown
// counts again.
func (rt *Runtime) StartAs(ctx context.Context, by string, kind auth.SwitchKind, name string) error {
	e := SwitchEvent(audit.ActionStart, kind, name, "")
	e.Principal = by
	return rt.RecordFirst(ctx, e, func() error {
		if err := rt.endStopped(ctx, kind, name); err != nil {
			return err
		}
		_, err := rt.Switches.Start(ctx, kind, name)
		return err
	})
}

// EndRules ends the rules and exceptions of a principal.
func (rt *Runtime) EndRules(ctx context.Context, principal string) error {
	return rt.endStopped(ctx, auth.SwitchPrincipal, principal)
}

// endStopped ends the rules and exceptions whose calls a kill switch stops, and what who is
// stopped said to held calls.
func (rt *Runtime) endStopped(ctx context.Context, kind auth.SwitchKind, name string) error {
	_, err := rt.Rules.EndAll(ctx, stoppedBy(kind, name))
	_, also := rt.Rules.EndExceptions(ctx, exceptionsStoppedBy(kind, name))
	return errors.Join(err, also, rt.endStoppedYeses(ctx, kind, name))
}

// stoppedBy selects the rules whose calls a kill switch stops.
func stoppedBy(kind auth.SwitchKind, name string) func(r *approvals.Rule) bool {
	return func(r *approvals.Rule) bool {
		if kind == auth.SwitchSession {
			return r.Shape.Session == digest.Text(name)
		}
		targets := auth.SwitchTargets(r.Principal, "", r.Tool)
		return slices.Contains(targets[:], auth.SwitchTarget{Kind: kind, Name: name})
	}
}
