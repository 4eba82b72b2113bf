package app

import (
	"context"
	"fmt"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/output"
)

// openRules finds the rules for sessions in the state.
func (rt *Runtime) openRules() {
	rt.Rules = approvals.NewRules(rt.Settings, rt.Approvals, &approvals.RulesOptions{Stands: rt.stillCalls})
}

// GiveRule lets the calls of a rule run in the session of a held call. It is
// recorded before it takes effect.
func (rt *Runtime) GiveRule(ctx context.Context, a *sallyport.Approval, r *approvals.Rule, by, reason string) error {
	e := ruleEvent(audit.ActionAllow, r, by, reason)
	e.CallID = a.CallID
	return rt.RecordFirst(ctx, e, func() error {
		if err := rt.Rules.Give(ctx, *r, by, reason); err != nil {
			return fmt.Errorf("approval %s: %w", a.ID, err)
		}
		return nil
	})
}

// RevokeRule ends a rule for a session.
func (rt *Runtime) RevokeRule(ctx context.Context, id string) (approvals.Rule, error) {
	r, err := rt.Rules.Revoke(ctx, id)
	if err != nil {
		return r, fmt.Errorf("rule %s: %w", id, err)
	}
	return r, rt.RecordDone(ctx, ruleEvent(audit.ActionDeny, &r, sallyport.LocalPrincipal, "the rule is revoked"), "")
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

