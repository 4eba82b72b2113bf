package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/setting"
)

var (
	// ErrRuleUnknown: no rule has this id.
	ErrRuleUnknown = errors.New("no rule has this id")
	// ErrRulesUnreadable: the state holds rules that this program did not write.
	ErrRulesUnreadable = errors.New("the rules for sessions cannot be read and allow nothing; sallyport approvals revoke --all removes them")
)

// Give stores a rule in the name of by and closes the held call that it is
// about, and every other one that it covers. Until the rule is stored nothing
// has changed; from then on it counts.
func (s *Rules) Give(ctx context.Context, r Rule, by Decider, reason string) error {
	a, err := s.held.Get(ctx, r.ID)
	if err != nil {
		return err
	}
	now := s.o.Now()
	closed := a
	if err := closed.YieldToRule(now, by.Name, r.ID, reason); err != nil {
		return err
	}
	if !r.covers(a.Shape) || r.Runs != RuleRuns {
		return errors.New("the rule is not about this held call")
	}
	r.By, r.Person = by.splitName()
	r.Reason, r.Given, r.Expires = closed.Reason, now.UTC(), now.Add(RuleLife).UTC()
	if err := s.add(ctx, &r); err != nil {
		return err
	}
	if err := s.held.YieldToRule(ctx, r.ID, r.By, r.ID, reason); err != nil {
		// Another person has decided since.
		return errors.Join(err, s.end(ctx, r.ID))
	}
	s.closeCovered(ctx, &r)
	return nil
}

// closeCovered closes the other held calls that a rule covers, so that those
// that wait go on, but for those that were denied before and those about which who gave the
// rule may not decide. One that stays open is answered when it is repeated.
func (s *Rules) closeCovered(ctx context.Context, r *Rule) {
	list, _ := s.held.List(ctx, false)
	for i := range list {
		a := &list[i]
		if a.ID == r.ID || a.State != sallyport.ApprovalPending || a.Shape == nil || !r.covers(a.Shape) || !s.giverCounts(a, r.By, r.Person) {
			continue
		}
		if denied, err := s.isDenied(ctx, a.Digest); !denied && err == nil {
			_ = s.held.YieldToRule(ctx, a.ID, r.By, r.ID, r.Reason)
		}
	}
}

// add stores a rule, and drops those that are over.
func (s *Rules) add(ctx context.Context, r *Rule) error {
	var over []Rule
	err := s.change(ctx, func(list []Rule) ([]Rule, error) {
		over = nil
		own := 0
		list = slices.DeleteFunc(list, func(old Rule) bool {
			if !s.o.Now().Before(old.Expires) {
				over = append(over, old)
				return true
			}
			if old.Principal == r.Principal {
				own++
			}
			return false
		})
		switch {
		case slices.ContainsFunc(list, func(old Rule) bool { return old.ID == r.ID }):
			return nil, errors.New("there already is a rule for this held call")
		case own >= maxRules:
			return nil, fmt.Errorf("%s has %d rules, which is the most: revoke one first", r.Principal, own)
		case len(list) >= maxRulesTotal:
			return nil, fmt.Errorf("there are %d rules, which is the most: revoke one first", len(list))
		}
		return append(list, *r), nil
	})
	if err == nil {
		s.forgetRuns(ctx, over)
	}
	return err
}

// forgetRuns removes the counts of rules that are gone. What is left behind by
// a failure counts for nothing.
func (s *Rules) forgetRuns(ctx context.Context, gone []Rule) {
	for i := range gone {
		_ = s.settings.Delete(ctx, gone[i].runsName())
	}
}

// end ends a rule; one that is gone is no error.
func (s *Rules) end(ctx context.Context, id string) error {
	_, err := s.EndAll(ctx, func(r *Rule) bool { return r.ID == id })
	return err
}

// EndAll ends the rules that a function selects, and returns them. Rules that
// cannot be read end all.
func (s *Rules) EndAll(ctx context.Context, which func(r *Rule) bool) (gone []Rule, err error) {
	list, err := s.read(ctx)
	if errors.Is(err, ErrRulesUnreadable) {
		return nil, s.settings.Delete(ctx, RulesSetting)
	}
	if err != nil || !slices.ContainsFunc(list, func(r Rule) bool { return which(&r) }) {
		return nil, err
	}
	err = s.change(ctx, func(list []Rule) ([]Rule, error) {
		gone = nil
		return slices.DeleteFunc(list, func(r Rule) bool {
			if !which(&r) {
				return false
			}
			gone = append(gone, r)
			return true
		}), nil
	})
	if err != nil {
		return nil, err
	}
	s.forgetRuns(ctx, gone)
	return gone, nil
}

// Revoke ends the rule with this id. The error matches [ErrRuleUnknown].
func (s *Rules) Revoke(ctx context.Context, id string) (Rule, error) {
	if _, err := s.read(ctx); err != nil {
		return Rule{}, err
	}
	gone, err := s.EndAll(ctx, func(r *Rule) bool { return r.ID == id })
	if err == nil && len(gone) == 0 {
		err = ErrRuleUnknown
	}
	if err != nil {
		return Rule{}, err
	}
	return gone[0], nil
}

// change changes all rules in one write, on top of what other processes wrote.
func (s *Rules) change(ctx context.Context, do func(list []Rule) ([]Rule, error)) error {
	return setting.Change(ctx, s.settings, RulesSetting, func(was string, ok bool) (string, error) {
		var list []Rule
		var err error
		if ok {
			if list, err = s.decode(was); err != nil {
				return "", err
			}
		}
		if list, err = do(slices.Clone(list)); err != nil {
			return "", err
		}
		text, err := json.Marshal(list)
		return string(text), err
	})
}
