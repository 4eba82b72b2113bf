package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/setting"
	"github.com/sallyport/sallyport/internal/text"
)

// RulesSetting is the name of the setting with all rules.
const RulesSetting = "approvals.rules"

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
	// Counts reports whether what a person gave for more than one run counts for a call;
	// nil means that all of it does.
	Counts func(a *sallyport.Approval, person string) bool
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

// NewRules returns the rules of a state with its held calls. A nil o means the
// defaults.
func NewRules(settings RuleSettings, held sallyport.ApprovalStore, o *RulesOptions) *Rules {
	s := &Rules{settings: settings, held: held}
	if o != nil {
		s.o = *o
	}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	return s
}

// Allowance is what lets a call run without a question.
type Allowance struct {
	// Said says it in words for the record.
	Said string
	// Run is the run of a rule; the zero value for an exception.
	Run RuleRun
	// Settle returns once the run is durable, see Claimer; nil when it is.
	Settle func(recorded bool) error
}

// Use finds an exception for exactly a call, or takes a run of a rule that covers
// it, and says so in words for the record. The run is durable when Use returns. A rule whose call may touch other
// things than when it was given, or whose principal may not call any more or has
// another token, ends here.
func (s *Rules) Use(ctx context.Context, a *sallyport.Approval) (said string, ok bool, err error) {
	allowed, ok, err := s.Claim(ctx, a)
	if ok && allowed.Settle != nil {
		err = allowed.Settle(false)
	}
	return allowed.Said, ok && err == nil, err
}

// Claim is Use for a call whose record is to say so: where the settings are those of a
// RunClaimer, the run is not durable yet.
func (s *Rules) Claim(ctx context.Context, a *sallyport.Approval) (allowed Allowance, ok bool, err error) {
	if allowed.Said, ok, err = s.useException(ctx, a); ok || err != nil || a.Shape == nil {
		return allowed, ok, err
	}
	list, err := s.readCounting(ctx)
	if err != nil {
		return allowed, false, err
	}
	for i := range list {
		r := &list[i]
		if r.ended(a.Shape) {
			if err := s.end(ctx, r.ID); err != nil {
				return allowed, false, err
			}
		}
		if !r.counts(s.o.Now()) || !r.covers(a.Shape) || !s.giverCounts(a, r.By, r.Person) {
			continue
		}
		n, settle, err := s.takeRun(ctx, r, a.Digest)
		if err != nil {
			return allowed, false, err
		}
		if n > 0 {
			said := fmt.Sprintf("allowed for the session by %s (rule %s, run %d of %d)%s", r.By, r.ID, n, r.Runs, text.ReasonSuffix(r.Reason))
			return Allowance{Said: said, Run: RuleRun{r.key(), n}, Settle: settle}, true, nil
		}
	}
	return allowed, false, nil
}

// giverCounts reports whether what a person gave counts for a call.
func (s *Rules) giverCounts(a *sallyport.Approval, by, person string) bool {
	return s.o.Counts == nil || s.o.Counts(a, cmp.Or(person, by))
}

// takeRun takes a run of a rule that covers a call, and returns its number; 0
// when it may not, or none is left.
func (s *Rules) takeRun(ctx context.Context, r *Rule, callDigest string) (n int, settle func(recorded bool) error, err error) {
	if denied, err := s.isDenied(ctx, callDigest); denied || err != nil {
		return 0, nil, err
	}
	if s.o.Stands != nil {
		if ok, err := s.o.Stands(ctx, r.Principal, r.Given); err != nil {
			return 0, nil, err
		} else if !ok {
			return 0, nil, s.end(ctx, r.ID)
		}
	}
	if n, settle, err = s.countRun(ctx, r); err != nil || n == 0 {
		return 0, nil, err
	}
	// The rule may have ended since it was read. What ends it from here on comes
	// after this run.
	list, err := s.read(ctx)
	if err == nil && slices.ContainsFunc(list, func(now Rule) bool { return now.ID == r.ID && now.Given.Equal(r.Given) }) {
		return n, settle, nil
	}
	if err == nil {
		s.forgetRuns(ctx, []Rule{*r}) // what ended the rule came before this count
	}
	if settle != nil {
		err = errors.Join(err, settle(false))
	}
	return 0, nil, err
}

// isDenied reports whether the last decision about exactly this call is a no. It
// counts more than a rule, also after it expired: then a person is asked again.
func (s *Rules) isDenied(ctx context.Context, callDigest string) (bool, error) {
	last, ok, err := s.held.LatestDecided(ctx, callDigest)
	return ok && last.State == sallyport.ApprovalDenied, err
}

// countRun counts a run and returns its number, 0 when none is left.
func (s *Rules) countRun(ctx context.Context, r *Rule) (n int, settle func(recorded bool) error, err error) {
	if c, ok := s.settings.(RunClaimer); ok {
		return c.ClaimRun(ctx, r.key(), r.Runs)
	}
	s.taking.Lock()
	defer s.taking.Unlock()
	err = setting.Change(ctx, s.settings, r.runsName(), func(was string, ok bool) (string, error) {
		var next string
		n, next, err = NextRun(was, ok, r.Runs)
		return next, err
	})
	if err != nil {
		return 0, nil, err
	}
	return n, nil, nil
}

// NextRun returns the number of the next run of a rule, 0 when none is left, and the
// setting that counts it.
func NextRun(was string, ok bool, most int) (run int, setting string, err error) {
	if ok {
		if run, err = parseRuns(was); err != nil {
			return 0, was, err
		}
	}
	if run >= most {
		return 0, was, nil
	}
	return run + 1, strconv.Itoa(run + 1), nil
}

// key names a rule, see RuleRun.
func (r *Rule) key() string { return r.ID + "." + strconv.FormatInt(r.Given.UnixNano(), 10) }

// runsName is the name of the setting that counts the runs of a rule. There is
// none before the first run, and no other rule has it.
func (r *Rule) runsName() string { return RunsSetting(r.key()) }

// RunsSetting is the name of the setting that counts the runs of a rule, see RuleRun.
func RunsSetting(rule string) string { return "approvals.rule_runs." + rule }

func parseRuns(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("the state does not say how often a rule was used")
	}
	return n, nil
}

// UsedRule is a rule and how many of its runs are used.
type UsedRule struct {
	// Rule is the rule.
	Rule
	// Used is how many of its runs are used.
	Used int `json:"used"`
}

// List returns the rules that count, the oldest first.
func (s *Rules) List(ctx context.Context) ([]UsedRule, error) {
	list, err := s.readCounting(ctx)
	if err != nil {
		return nil, err
	}
	out := []UsedRule{}
	for i := range list {
		if !list[i].counts(s.o.Now()) {
			continue
		}
		used := UsedRule{Rule: list[i]}
		was, ok, err := s.settings.Get(ctx, used.runsName())
		if err == nil && ok {
			used.Used, err = parseRuns(was)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, used)
	}
	return out, nil
}

// readCounting returns all rules and removes those that are over, so that no
// clock that is set back revives one that was seen to be. The slice is shared:
// read only.
func (s *Rules) readCounting(ctx context.Context) ([]Rule, error) {
	list, err := s.read(ctx)
	over := func(r *Rule) bool { return !s.o.Now().Before(r.Expires) }
	if err != nil || !slices.ContainsFunc(list, func(r Rule) bool { return over(&r) }) {
		return list, err
	}
	if _, err := s.EndAll(ctx, over); err != nil {
		return nil, err
	}
	return s.read(ctx)
}

// read returns all rules. The slice is shared: read only.
func (s *Rules) read(ctx context.Context) ([]Rule, error) {
	text, ok, err := s.settings.Get(ctx, RulesSetting)
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
