package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/output"
)

// Always is what a yes for always gives: members of sets, where values that are in no set
// alone hold the call, or else an exception for exactly this call.
type Always struct {
	// ID is that of the held call.
	ID string `json:"id"`
	// Members are the values that sets get; nil when Exception is given.
	Members []NewMember `json:"members,omitempty"`
	// Exception is the exception; nil when Members are given.
	Exception *approvals.Exception `json:"exception,omitempty"`
}

// NewMember is a value that a set grows by.
type NewMember struct {
	// Set is the name of the set.
	Set string `json:"set"`
	// Value is the value.
	Value string `json:"value"`
	// UsedBy names the keys of roles that name the set, which the value passes then.
	UsedBy []string `json:"used_by,omitempty"`
}

// ProposeAlways returns what a yes for always about a held call would give.
func (rt *Runtime) ProposeAlways(a *sallyport.Approval) *Always {
	always := &Always{ID: a.ID}
	for _, value := range slices.Sorted(maps.Keys(a.Unknown)) {
		sets := a.Unknown[value]
		i := slices.IndexFunc(sets, func(set string) bool { _, ok := rt.InForce().Config.Known[set]; return ok })
		if i < 0 {
			return &Always{ID: a.ID, Exception: approvals.ProposeException(a)}
		}
		always.Members = append(always.Members, NewMember{Set: sets[i], Value: value, UsedBy: rt.usesOf(sets[i])})
	}
	if always.Members == nil {
		always.Exception = approvals.ProposeException(a)
	}
	return always
}

// usesOf returns the keys of the roles in whose ceilings the name of a set stands.
func (rt *Runtime) usesOf(set string) (keys []string) {
	for _, use := range rt.findUses(set) {
		keys = append(keys, use.String())
	}
	return keys
}

// setUse is a ceiling in which the name of a set stands: of a role, for a key of tools.
type setUse struct{ role, tools string }

// String returns the key of the configuration.
func (u setUse) String() string { return "personalities." + u.role + ".arguments." + u.tools }

// findUses returns the ceilings in which the name of a set stands.
func (rt *Runtime) findUses(set string) (uses []setUse) {
	for _, role := range rt.InForce().Config.Names() {
		p, ok := rt.InForce().Config.Personality(role)
		if !ok {
			continue
		}
		for _, tool := range slices.Sorted(maps.Keys(p.Arguments)) {
			if strings.Contains(string(p.Arguments[tool]), `"`+set+`"`) {
				uses = append(uses, setUse{role, tool})
			}
		}
	}
	return uses
}

// checkMembers returns an error unless a person may decide alone about all calls that pass
// once a value has joined the sets.
func (rt *Runtime) checkMembers(person string, members []NewMember) error {
	for _, m := range members {
		for _, use := range rt.findUses(m.Set) {
			for _, rules := range rt.InForce().Config.ApproversWithin(use.role, use.tools, rt.findLabel) {
				if !rules.MayAlone(person) {
					return fmt.Errorf("%w: known.%s is also used by %s, where %s may not decide alone", approvals.ErrNotApprover, m.Set, use, person)
				}
			}
		}
	}
	return nil
}

// GiveAlways gives what was shown and approves the held call. It is recorded before it
// takes effect. An exception counts for a span; 0 is for ever.
func (rt *Runtime) GiveAlways(ctx context.Context, a *sallyport.Approval, always *Always, by approvals.Decider, reason string, span time.Duration) error {
	e := alwaysEvent(a, always, by.String(), reason, span)
	err := rt.CheckWider(by.Person, a)
	if err == nil {
		err = rt.checkMembers(by.Person, always.Members)
	}
	if err != nil {
		return rt.refuseDecision(ctx, e, nameApproval(a, err))
	}
	return rt.RecordFirst(ctx, e, func() error {
		if always.Exception != nil {
			return nameApproval(a, rt.Rules.GiveException(ctx, *always.Exception, by, reason, span))
		}
		return nameApproval(a, rt.growSets(ctx, a, always, by, reason))
	})
}

// growSets adds values to sets and approves the held call.
func (rt *Runtime) growSets(ctx context.Context, a *sallyport.Approval, always *Always, by approvals.Decider, reason string) (err error) {
	decided, now := *a, time.Now()
	if err := decided.Decide(now, by.Name, true, reason); err != nil {
		return err
	}
	growth := known.NewGrowth(rt.Settings, nil)
	var added []string
	for _, m := range always.Members {
		var fresh bool
		fresh, err = growth.Add(ctx, m.Set, known.Member{
			Value: m.Value, Kind: rt.InForce().Config.Known[m.Set].Kind, By: by.String(), Reason: decided.Reason, Approval: a.ID, Given: now.UTC(),
		})
		if err != nil {
			break
		}
		if fresh {
			added = append(added, m.Set)
		}
	}
	if err == nil {
		err = rt.Approvals.Decide(ctx, a.ID, by.String(), true, reason)
	}
	if err == nil {
		return nil
	}
	for _, set := range added {
		_, undone := growth.Remove(ctx, set, func(m *known.Member) bool { return m.Approval == a.ID })
		err = errors.Join(err, undone)
	}
	return err
}

func alwaysEvent(a *sallyport.Approval, always *Always, by, reason string, span time.Duration) *audit.Event {
	var parts []string
	if always.Exception != nil {
		parts = []string{fmt.Sprintf("%s of %s, exactly as it was held", a.Tool, a.Principal)}
		if span > 0 {
			parts[0] += fmt.Sprintf(", for %s", span)
		}
	}
	for _, m := range always.Members {
		parts = append(parts, fmt.Sprintf("known.%s gets %+q", m.Set, m.Value))
	}
	detail := "always: " + strings.Join(parts, ", ")
	if reason != "" {
		detail = reason + ": " + detail
	}
	e := ChangeEvent(audit.ActionAllow, a.ID, detail)
	e.CallID, e.Tool, e.Principal = a.CallID, output.Plain().Text(a.Tool), by
	return e
}

// GivenAlways is what a person allowed for always, with the id of the held call.
type GivenAlways struct {
	// Exception is an exception for one call; nil for a member of a set.
	*approvals.Exception
	// Set is the set that grew; empty for an exception.
	Set string
	// Member is the member by which it grew; nil for an exception.
	Member *known.Member
}

// Approval is the id of the held call.
func (g *GivenAlways) Approval() string {
	if g.Exception != nil {
		return g.Exception.ID
	}
	return g.Member.Approval
}

// ListAlways returns what people allowed for always: exceptions, then members of sets.
func (rt *Runtime) ListAlways(ctx context.Context) ([]GivenAlways, error) {
	list, err := rt.Rules.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	var given []GivenAlways
	for i := range list {
		given = append(given, GivenAlways{Exception: &list[i]})
	}
	growth := known.NewGrowth(rt.Settings, nil)
	for _, set := range slices.Sorted(maps.Keys(rt.InForce().Config.Known)) {
		members, err := growth.Members(ctx, set)
		if err != nil {
			return nil, fmt.Errorf("known.%s: %w", set, err)
		}
		for i := range members {
			given = append(given, GivenAlways{Set: set, Member: &members[i]})
		}
	}
	return given, nil
}

// RevokeAlways ends what was allowed for always because of a held call.
func (rt *Runtime) RevokeAlways(ctx context.Context, id string) error {
	gone, err := rt.Rules.EndExceptions(ctx, func(e *approvals.Exception) bool { return e.ID == id })
	if err != nil {
		return err
	}
	said := make([]string, 0, 1)
	for range gone {
		said = append(said, "the exception is revoked")
	}
	growth := known.NewGrowth(rt.Settings, nil)
	for _, set := range slices.Sorted(maps.Keys(rt.InForce().Config.Known)) {
		members, err := growth.Remove(ctx, set, func(m *known.Member) bool { return m.Approval == id })
		if err != nil {
			return fmt.Errorf("known.%s: %w", set, err)
		}
		for i := range members {
			said = append(said, fmt.Sprintf("%+q is no member of known.%s any more", members[i].Value, set))
		}
	}
	if len(said) == 0 {
		return fmt.Errorf("%s: %w", id, approvals.ErrRuleUnknown)
	}
	return rt.RecordDone(ctx, ChangeEvent(audit.ActionDeny, id, strings.Join(said, ", ")), "")
}

// exceptionsStoppedBy selects the exceptions whose calls a kill switch stops.
func exceptionsStoppedBy(kind auth.SwitchKind, name string) func(e *approvals.Exception) bool {
	return func(e *approvals.Exception) bool {
		targets := auth.SwitchTargets(e.Principal, "", e.Tool)
		return kind != auth.SwitchSession && slices.Contains(targets[:], auth.SwitchTarget{Kind: kind, Name: name})
	}
}
