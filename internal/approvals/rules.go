package approvals

import (
	"context"
	"fmt"
	"sync"
	"time"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/setting"
)

const (
	// rulesSetting is the name of the setting with all rules.
	rulesSetting = "approvals.rules"
)

// RuleSettings stores rules. Of several changes at once, in any number of
// processes, at most one takes effect; see store.Settings.
type RuleSettings interface {
	setting.Store
	// Delete removes a value. A name without a value is no error.
	Delete(ctx context.Context, name string) error
}

// RulesOptions configure [Rules]. nil means the defaults.
type RulesOptions struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Stands reports whether a principal that could call at a moment may still
	// call, with the same token; nil means that all may.
	Stands func(ctx context.Context, principal string, since time.Time) (bool, error)
}

// Rules are the rules of a state. It is safe for concurrent use, and several
// processes may use one state. All rules are one setting, so that one write
// gives or ends a rule; the runs of each are counted in a setting of their own.
type Rules struct {
	settings RuleSettings
	held     sallyport.ApprovalStore
	o        RulesOptions

	taking sync.Mutex // one run at a time, since only one can win

	mu     sync.Mutex
	text   string // what was decoded last
	parsed []Rule

	exceptionsText string // likewise
	exceptions     []Exception
}

// isDenied reports whether the last decision about exactly this call is a no. It
// counts more than a rule, also after it expired: then a person is asked again.
func (s *Rules) isDenied(ctx context.Context, callDigest string) (bool, error) {
	last, ok, err := s.held.LatestDecided(ctx, callDigest)
	return ok && last.State == sallyport.ApprovalDenied, err
}

// runsName is the name of the setting that counts the runs of a rule. There is
// none before the first run, and no other rule has it.
func (r *Rule) runsName() string {
	return fmt.Sprintf("approvals.rule_runs.%s.%d", r.ID, r.Given.UnixNano())
}

// read returns all rules. The slice is shared: read only.
func (s *Rules) read(ctx context.Context) ([]Rule, error) {
	text, ok, err := s.settings.Get(ctx, rulesSetting)
	if err != nil || !ok {
		return nil, err
	}
	return s.decode(text)
}

// decode returns the rules of a text. A field that this program does not know
// may be a bound: nothing runs by such rules.
func (s *Rules) decode(text string) ([]Rule, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.text {
		return s.parsed, nil
	}
	var list []Rule
	if err := setting.Decode(text, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRulesUnreadable, err)
	}
	for i := range list {
		if list[i].Shape == nil || list[i].Runs > RuleRuns || list[i].Expires.Sub(list[i].Given) > RuleLife {
			return nil, ErrRulesUnreadable
		}
	}
	s.text, s.parsed = text, list
	return list, nil
}
