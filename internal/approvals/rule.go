package approvals

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/text"
)

// Bounds of rules. After a working day, or a hundred calls, a person is asked
// again.
const (
	// RuleRuns is how many calls a rule lets through.
	RuleRuns = 100
	// RuleLife is how long a rule counts.
	RuleLife = 8 * time.Hour
	// maxRules bounds the rules of one principal, maxRulesTotal those of all.
	maxRules, maxRulesTotal = 50, 500
	// ruleArgs bounds the arguments that a rule repeats for people, in characters.
	ruleArgs = 1000
	// shortestExpect is the number of digits of a digest that a person must give.
	shortestExpect = 32
)

// Rule lets calls of one shape run without another question, in the session of
// the held call that a person saw. It is plain data. It does not change: its
// runs are counted beside it.
type Rule struct {
	// ID is that of the held call.
	ID string `json:"id"`
	// Tool is the tool, as people were shown it, like what follows.
	Tool string `json:"tool"`
	// Principal is who asked.
	Principal string `json:"principal"`
	// Personality is the role of the call; it may be empty.
	Personality string `json:"personality,omitempty"`
	// Session is the session in which the rule counts.
	Session string `json:"session"`
	// Args holds the arguments of the held call, shortened.
	Args string `json:"args"`
	// Equal names the arguments that must be as they were there.
	Equal []string `json:"equal"`
	// Free names the arguments that may have any value. A call with others than
	// these and Equal is not covered, nor is one that lacks any.
	Free []string `json:"free,omitempty"`
	// Why says what held the call.
	Why string `json:"why,omitempty"`
	// Targets lists what the names of connections and of the mail relay stand
	// for.
	Targets []string `json:"targets,omitempty"`
	// Runs is how many calls the rule lets through.
	Runs int `json:"runs"`
	// Shape is what the rule is bound to, with the arguments of Equal.
	Shape *sallyport.ApprovalShape `json:"shape,omitempty"`
	// By is the name of the person who gave the rule.
	By string `json:"by,omitempty"`
	// Person is who gave it as far as that is known, where By is a name that was not
	// verified; empty for By.
	Person string `json:"person,omitempty"`
	// Reason is that person's reason; it may be empty.
	Reason string `json:"reason,omitempty"`
	// Given is the time from which the rule counts.
	Given time.Time `json:"given,omitzero"`
	// Expires is the time at which it ends.
	Expires time.Time `json:"expires_at,omitzero"`
}

// ProposeRule returns the rule that a yes for the session of a held call would
// give: for the same arguments or, with equal, for any call that has these
// arguments in common with it.
func ProposeRule(a *sallyport.Approval, equal []string) (*Rule, error) {
	switch {
	case a.Shape == nil:
		return nil, errors.New("this call cannot be allowed for its session: it names none, has too many arguments, or has names that cannot be shown")
	case len(equal) > 0 && a.Shape.Exact:
		return nil, fmt.Errorf("for its session this call can be allowed with exactly these arguments only, because of what holds it: %s", cmp.Or(a.Why, "a rule about its arguments"))
	}
	r := &Rule{
		ID: a.ID, Tool: a.Tool, Principal: a.Principal, Personality: a.Personality, Session: a.Session,
		Args: text.Clip(a.Args, ruleArgs), Why: a.Why, Targets: slices.Clone(a.Targets), Runs: RuleRuns, Shape: cloneShape(a.Shape),
		Equal: []string{},
	}
	for _, name := range equal {
		if _, ok := a.Shape.Args[name]; !ok {
			return nil, fmt.Errorf("the held call has no argument %q, only %s", name, quoteNames(slices.Sorted(maps.Keys(a.Shape.Args))))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Shape.Args)) {
		if len(equal) == 0 || slices.Contains(equal, name) {
			r.Equal = append(r.Equal, name)
		} else {
			r.Free = append(r.Free, name)
			delete(r.Shape.Args, name)
		}
	}
	return r, nil
}

func cloneShape(s *sallyport.ApprovalShape) *sallyport.ApprovalShape {
	own := *s
	own.Args = maps.Clone(s.Args)
	return &own
}

// quoteNames lists names of arguments, which are text from an agent.
func quoteNames(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%+q", name)
	}
	return strings.Join(quoted, ", ")
}

// Describe says in words which arguments a covered call has.
func (r *Rule) Describe() string {
	if len(r.Free) == 0 {
		return "the same arguments"
	}
	return "equal: " + quoteNames(r.Equal) + "; any value: " + quoteNames(r.Free)
}

// Digest identifies what a person is shown before the rule is given, in 64
// hexadecimal digits. It does not depend on who gives it, when and why.
func (r *Rule) Digest() string {
	own := *r
	own.By, own.Person, own.Reason, own.Given, own.Expires = "", "", "", time.Time{}, time.Time{}
	// Texts, numbers and maps of texts can be encoded, the maps sorted.
	b, _ := json.Marshal(&own)
	return digest.Text(append(b, RuleLife.String()...))
}

// CheckExpected returns an error unless expect is the digest of the rule, or at
// least its first 32 digits.
func (r *Rule) CheckExpected(expect string) error {
	found := r.Digest()
	if len(expect) < shortestExpect || !strings.HasPrefix(found, strings.ToLower(expect)) {
		return fmt.Errorf("--expect %s: the rule has the digest %s: it is not what was shown", text.PrintableLine(expect), found)
	}
	return nil
}

// counts reports whether the rule counts at a time. A rule that was given later
// than now is one of another clock.
func (r *Rule) counts(now time.Time) bool {
	return !now.Before(r.Given) && now.Before(r.Expires)
}

// ended reports whether the rule is over for a call that asks the same as the
// held one: what such a call may touch has changed since.
func (r *Rule) ended(s *sallyport.ApprovalShape) bool {
	return r.Shape.Asked == s.Asked && r.Shape.Touches != s.Touches
}

// covers reports whether a call of a shape is one that the rule is about.
func (r *Rule) covers(s *sallyport.ApprovalShape) bool {
	if r.Shape.Asked != s.Asked || r.Shape.Touches != s.Touches || s.Exact && len(r.Free) > 0 {
		return false
	}
	if len(s.Args) != len(r.Equal)+len(r.Free) {
		return false
	}
	for _, name := range r.Equal {
		if d, ok := s.Args[name]; !ok || d == "" || d != r.Shape.Args[name] {
			return false
		}
	}
	for _, name := range r.Free {
		if _, ok := s.Args[name]; !ok {
			return false
		}
	}
	return true
}
