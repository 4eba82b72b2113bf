package approvals

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

// MostNeeded bounds how many people a rule may ask for.
const MostNeeded = 5

var (
	// ErrNotApprover: the person may see the held call, and may not decide about it.
	ErrNotApprover = errors.New("not an approver of this call")
	// ErrSaidYes: the person has said yes before, and another one has to.
	ErrSaidYes = errors.New("you have said yes to this call before: another person has to")
	// ErrNoRole: a yes was to be given under a configuration that does not have the role, or
	// not the tool where the role goes by labels.
	ErrNoRole = errors.New("the configuration in force does not have the role of this call, or not its tool, and so does not say who may decide: it can be refused, and approved once both are back")
	// ErrSeveralNeeded: a yes for more than one run was to be given under a rule that
	// asks for several people.
	ErrSeveralNeeded = errors.New("several people decide about each run of this call, and no yes counts for more than one")
)

// Approvers says who may decide about held calls. The zero value leaves the decision to
// all who may decide at the page, the API, the command line or behind the client.
type Approvers struct {
	// By names the people who may; nil means all.
	By []string
	// Needed is how many different people have to say yes; 0 means one.
	Needed int
	// After is when the people of To may decide, too, counted from when the call was
	// first held; 0 means never.
	After time.Duration
	// To names these people.
	To []string
	// Source is the place of the rule in a file; empty when that is not known.
	Source string
	// NoRole says that the configuration in force has no role of this name, or not the
	// tool where the role goes by labels, and so knows
	// no rule: no yes counts.
	NoRole bool
}

// Decider is who decides.
type Decider struct {
	// Name is the name that the surface gives.
	Name string
	// Person is who that is as far as the surface knows: what rules about approvers
	// compare. It differs from Name where a name is given and not verified.
	Person string
}

// DeciderNamed returns the decider of a surface that knows who it is.
func DeciderNamed(name string) Decider { return Decider{name, name} }

// splitName returns what is recorded, and the person where that is another one.
func (d Decider) splitName() (recorded, person string) {
	if d.Name == d.Person {
		return d.Name, ""
	}
	return d.String(), d.Person
}

// String names the decider for people and for the record.
func (d Decider) String() string {
	if d.Name == d.Person {
		return d.Name
	}
	return d.Name + " (" + d.Person + ")"
}

// AsksSeveral reports whether more than one person has to say yes.
func (r *Approvers) AsksSeveral() bool { return r.Needed > 1 }

// SaysAnything reports whether the rule differs from the zero value.
func (r *Approvers) SaysAnything() bool { return r.By != nil || r.AsksSeveral() }

// CheckPerson returns an error that matches [ErrNotApprover] unless a person may decide
// about a held call at a time.
func (r *Approvers) CheckPerson(person string, a *sallyport.Approval, now time.Time) error {
	if r.By == nil || slices.Contains(r.By, person) {
		return nil
	}
	if !r.mayEver(person) {
		return fmt.Errorf("%w: %s may see it, and others decide", ErrNotApprover, person)
	}
	if at := r.EscalatesAt(a); now.Before(at) {
		return fmt.Errorf("%w yet: %s may decide from %s on", ErrNotApprover, person, at.UTC().Format(time.RFC3339))
	}
	return nil
}

// CheckYes returns an error unless a person may say yes to a held call at a time.
func (r *Approvers) CheckYes(person string, a *sallyport.Approval, now time.Time) error {
	if r.NoRole {
		return ErrNoRole
	}
	if r.SaysAnything() && isOwn(person, a.Principal) {
		return fmt.Errorf("%w: %s asked for it, and %s counts as the same person", sallyport.ErrApprovalOwn, a.Principal, person)
	}
	return r.CheckPerson(person, a, now)
}

// isOwn reports whether a person is the principal that asked. The person behind the client
// of a principal is asked about its calls, and the local user decides about their own.
func isOwn(person, principal string) bool {
	return principal != sallyport.LocalPrincipal && !strings.HasPrefix(person, "client:") && IsSamePerson(person, principal)
}

// CheckDecision returns an error unless a person may approve a held call at a time, or
// refuse it.
func (r *Approvers) CheckDecision(person string, a *sallyport.Approval, approve bool, now time.Time) error {
	if approve {
		return r.CheckYes(person, a, now)
	}
	return r.CheckPerson(person, a, now)
}

// MayEver reports whether a person may decide about calls, at once or after a time.
func (r *Approvers) MayEver(person string) bool {
	return r.By == nil || slices.Contains(r.By, person) || r.mayEver(person)
}

func (r *Approvers) mayEver(person string) bool { return r.After > 0 && slices.Contains(r.To, person) }

// MayAlone reports whether what a person gave for more than one run counts.
// Who may decide after a time gives one run only.
func (r *Approvers) MayAlone(person string) bool {
	return !r.NoRole && !r.AsksSeveral() && (r.By == nil || slices.Contains(r.By, person))
}

// CheckWider returns an error unless a person may let more than one run of a held call pass.
func (r *Approvers) CheckWider(person string, a *sallyport.Approval, now time.Time) error {
	if err := r.CheckYes(person, a, now); err != nil {
		return err
	}
	switch {
	case r.AsksSeveral():
		return ErrSeveralNeeded
	case !r.MayAlone(person):
		return fmt.Errorf("%w for more than one run: %s may let this call run once, as it was held for long", ErrNotApprover, person)
	}
	return nil
}

// EscalatesAt returns when the people of To may decide about a held call, too; the zero
// time means never.
func (r *Approvers) EscalatesAt(a *sallyport.Approval) time.Time {
	if r.After <= 0 || r.By == nil {
		return time.Time{}
	}
	return a.Created.Add(r.After)
}

// CountYeses returns the yeses that count about a held call at a time, the first one of
// each person. May reports whether a person is still one who may act.
func (r *Approvers) CountYeses(yeses []Yes, a *sallyport.Approval, now time.Time, may func(person string) bool) (counted []Yes) {
	for _, y := range yeses {
		same := func(other Yes) bool { return IsSamePerson(other.Person, y.Person) }
		if y.isAbout(a) && r.CheckYes(y.Person, a, now) == nil && may(y.Person) && !slices.ContainsFunc(counted, same) {
			counted = append(counted, y)
		}
	}
	return counted
}

// String says in words who may decide.
func (r *Approvers) String() string {
	said := "all who may decide about held calls"
	if r.NoRole {
		return "no one: the configuration in force does not have the role, or not the tool"
	}
	if r.By != nil {
		said = strings.Join(r.By, ", ")
	}
	if r.AsksSeveral() {
		said = fmt.Sprintf("%d different people of: %s", r.Needed, said)
	}
	if r.By != nil && r.After > 0 {
		said += fmt.Sprintf("; after %s also %s", shortSpan(r.After), strings.Join(r.To, ", "))
	}
	return said
}

// shortSpan writes a duration without units that are zero.
func shortSpan(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// IsSamePerson reports whether two names count as one person: they do when they differ in
// nothing but case and where the person decides, as page:ann, client:ann and ann.
func IsSamePerson(a, b string) bool { return strings.EqualFold(trimPlace(a), trimPlace(b)) }

// trimPlace takes off a name where the person decides.
func trimPlace(name string) string {
	for {
		rest := name
		for _, place := range []string{"page:", "client:", "oidc:"} {
			rest = strings.TrimPrefix(rest, place)
		}
		if rest == name {
			return name
		}
		name = rest
	}
}

// CountPeople returns how many different people are named.
func CountPeople(names []string) (n int) {
	for i := range names {
		if !slices.ContainsFunc(names[:i], func(before string) bool { return IsSamePerson(before, names[i]) }) {
			n++
		}
	}
	return n
}
