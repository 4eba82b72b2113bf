package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/registry"
)

// approversOf returns who may decide about a held call under the rules in force.
func (rt *Runtime) approversOf(a *sallyport.Approval) approvals.Approvers {
	return rt.InForce().Config.Approvers(a.Personality, a.Tool, rt.findLabel)
}

// CheckDecider returns an error that matches [approvals.ErrNotApprover] unless a person
// may decide about a held call now.
func (rt *Runtime) CheckDecider(person string, a *sallyport.Approval) error {
	rules := rt.approversOf(a)
	return rules.CheckPerson(person, a, time.Now())
}

// CheckWider returns an error unless a person may let more than one run of a held call pass.
func (rt *Runtime) CheckWider(person string, a *sallyport.Approval) error {
	rules := rt.approversOf(a)
	return rules.CheckWider(person, a, time.Now())
}

// CheckDecision records a decision that a person may not make, and returns why. Wider is a
// yes for more than one run. It is for surfaces that have something to say before they
// decide; whatever decides checks this, too.
func (rt *Runtime) CheckDecision(ctx context.Context, a *sallyport.Approval, by approvals.Decider, approve, wider bool, reason string) error {
	rules := rt.approversOf(a)
	err := rules.CheckDecision(by.Person, a, approve, time.Now())
	if err == nil && wider {
		err = rt.CheckWider(by.Person, a)
	}
	if err == nil {
		return nil
	}
	return rt.refuseDecision(ctx, decisionEvent(a, by, approve, reason), nameApproval(a, err))
}

// stillDecides reports whether what a person gave for more than one run counts for a call:
// whether that person may decide about it alone, under the rules in force.
func (rt *Runtime) stillDecides(a *sallyport.Approval, person string) bool {
	rules := rt.approversOf(a)
	return rules.CheckWider(person, a, time.Now()) == nil
}

// refuseDecision records that a decision was refused before anything was changed, and
// returns why.
func (rt *Runtime) refuseDecision(ctx context.Context, e *audit.Event, why error) error {
	e.Error = output.Plain().Text(why.Error())
	return errors.Join(why, rt.recordChange(ctx, e))
}

// addYes says yes to a held call that needs several, and approves it when there are enough,
// by the rules in force now. Who of them comes last approves it, in the name of all.
func (rt *Runtime) addYes(ctx context.Context, a *sallyport.Approval, by approvals.Decider, reason string) error {
	now := time.Now()
	for _, name := range []string{by.Person, by.Name} {
		alone := *a
		if err := alone.Decide(now, name, true, reason); err != nil {
			return err
		}
	}
	yes := approvals.NewYes(a, by, reason, now)
	all, err := approvals.AddYes(ctx, rt.Settings, rt.Approvals, yes)
	if err != nil {
		return err
	}
	rules := rt.approversOf(a)
	if err := rules.CheckYes(by.Person, a, now); err != nil {
		return err
	}
	counted := rt.countYeses(ctx, &rules, a, all)
	if len(counted) < max(rules.Needed, 1) {
		if !slices.Contains(all, yes) {
			return approvals.ErrSaidYes
		}
		return nil
	}
	names, reasons := make([]string, len(counted)), make([]string, 0, len(counted))
	for i := range counted {
		names[i] = counted[i].String()
		if counted[i].Reason != "" {
			reasons = append(reasons, counted[i].Reason)
		}
	}
	return rt.decideHeld(ctx, a, strings.Join(names, " and "), true, text.ClipBytes(strings.Join(reasons, "; "), sallyport.MaxApprovalReason))
}

// decideHeld decides about a held call, and removes the yeses to it. Those that a failure
// leaves behind count for nothing, and make room for others.
func (rt *Runtime) decideHeld(ctx context.Context, a *sallyport.Approval, by string, approve bool, reason string) error {
	err := rt.Approvals.Decide(ctx, a.ID, by, approve, reason)
	if err == nil {
		_ = approvals.RemoveYeses(ctx, rt.Settings, func(y *approvals.Yes) bool { return y.ID == a.ID })
	}
	return err
}

// checkSaidYes returns an error that matches [approvals.ErrSaidYes] when a person has said
// yes to a held call that waits for others. When enough have, and the last of them died
// before the call was approved, each may say it once more.
func (rt *Runtime) checkSaidYes(ctx context.Context, rules *approvals.Approvers, a *sallyport.Approval, person string) error {
	if !rules.AsksSeveral() {
		return nil
	}
	given, err := approvals.ReadYeses(ctx, rt.Settings)
	if err != nil {
		return err
	}
	counted := rt.countYeses(ctx, rules, a, given[a.ID])
	said := func(y approvals.Yes) bool { return approvals.IsSamePerson(y.Person, person) }
	if len(counted) < rules.Needed && slices.ContainsFunc(counted, said) {
		return approvals.ErrSaidYes
	}
	return nil
}

// countYeses returns the yeses that count now about a held call.
func (rt *Runtime) countYeses(ctx context.Context, rules *approvals.Approvers, a *sallyport.Approval, given []approvals.Yes) []approvals.Yes {
	now, stands := time.Now(), rt.checkStanding(ctx)
	given = slices.DeleteFunc(slices.Clone(given), func(y approvals.Yes) bool { return !stands(y.Person, y.Given) })
	return rules.CountYeses(given, a, now, func(person string) bool { return !rt.isStopped(ctx, person) })
}

// isStopped reports whether a person was stopped, or may have been.
func (rt *Runtime) isStopped(ctx context.Context, person string) bool {
	if person == sallyport.LocalPrincipal {
		return false // who may start it again
	}
	switches := rt.Switches
	if switches == nil {
		var err error
		if switches, err = auth.NewSwitches(rt.Access.Switches()); err != nil {
			return true
		}
	}
	kind, _, err := switches.Stopped(ctx, strings.TrimPrefix(person, clientPrefix), "", "")
	if kind == "" && err == nil {
		kind, _, err = switches.Stopped(ctx, person, "", "")
	}
	return kind != "" || err != nil
}

// AddApprovers adds to an explanation who may decide about calls that would be held, where a
// rule says so.
func (rt *Runtime) AddApprovers(x *registry.Explanation) {
	rules := rt.InForce().Config.Approvers(x.Personality, x.Tool, rt.findLabel)
	isHeld := func(d sallyport.Decision) bool {
		return d.Step == sallyport.StepApprove && strings.Contains(d.Why, "held")
	}
	holds := func(r ceiling.Row) bool { return r.Outside == ceiling.Hold }
	if rules.SaysAnything() && (slices.ContainsFunc(x.Decisions, isHeld) || slices.ContainsFunc(x.Arguments, holds)) {
		x.Decisions = append(x.Decisions, sallyport.Decision{
			Step: sallyport.StepApprove, Allowed: true, Why: "about a held call decide " + rules.String(), Source: rules.Source,
		})
	}
}

// Yeses says how far the decision about a held call is, for people and programs.
type Yeses struct {
	// By names who may decide; nil means all who may decide about held calls.
	By []string `json:"by,omitempty"`
	// Needed is how many different people have to say yes.
	Needed int `json:"needed"`
	// Given names who did, so that it counts now.
	Given []string `json:"given,omitempty"`
	// EscalatesAt is when the people of EscalatesTo may decide, too; nil means never.
	EscalatesAt *time.Time `json:"escalates_at,omitempty"`
	// EscalatesTo names these people.
	EscalatesTo []string `json:"escalates_to,omitempty"`
}

// DescribeYeses returns how far the decisions about held calls are, by their ids: of those
// that wait and about which a rule says anything.
func (rt *Runtime) DescribeYeses(ctx context.Context, list []sallyport.Approval) (described map[string]*Yeses, err error) {
	var given map[string][]approvals.Yes
	now := time.Now()
	described = map[string]*Yeses{}
	for i := range list {
		a := &list[i]
		rules := rt.approversOf(a)
		if a.StateAt(now) != sallyport.ApprovalPending || !rules.SaysAnything() {
			continue
		}
		y := &Yeses{By: rules.By, Needed: max(rules.Needed, 1)}
		if at := rules.EscalatesAt(a); !at.IsZero() {
			y.EscalatesAt, y.EscalatesTo = &at, rules.To
		}
		if rules.AsksSeveral() && given == nil {
			if given, err = approvals.ReadYeses(ctx, rt.Settings); err != nil {
				return nil, err
			}
		}
		for _, one := range rt.countYeses(ctx, &rules, a, given[a.ID]) {
			y.Given = append(y.Given, one.String())
		}
		described[a.ID] = y
	}
	return described, nil
}

// Lines says on a line each how far the decision is.
func (y *Yeses) Lines() (lines []string) {
	if y == nil {
		return nil
	}
	if y.Needed > 1 {
		line := fmt.Sprintf("%d of %d", len(y.Given), y.Needed)
		if len(y.Given) > 0 {
			line += ": " + strings.Join(y.Given, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}
