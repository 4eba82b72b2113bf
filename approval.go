package sallyport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ApprovalState is the state of a held call.
type ApprovalState string

// The states of a held call. A pending call is decided or expires. An approval
// is used by one run, is taken back, or expires.
const (
	// ApprovalPending: the call waits for a decision.
	ApprovalPending ApprovalState = "pending"
	// ApprovalApproved: the call may run once.
	ApprovalApproved ApprovalState = "approved"
	// ApprovalDenied: the call may not run. It may be asked for again after the
	// expiry.
	ApprovalDenied ApprovalState = "denied"
	// ApprovalUsed: a call ran, or may have run, on this approval, or a rule took
	// its place.
	ApprovalUsed ApprovalState = "used"
	// ApprovalExpired: the call was not decided in time, or its approval was
	// not used in time.
	ApprovalExpired ApprovalState = "expired"
)

// Bounds of held calls, which every [ApprovalQueue] enforces. They protect the
// people who decide, because a person cannot read a thousand requests.
const (
	// MaxPendingApprovals bounds the pending calls of one principal.
	MaxPendingApprovals = 100
	// MaxPendingApprovalsTotal bounds the pending calls of all principals.
	MaxPendingApprovalsTotal = 1000
	// MaxApprovalReason bounds the reason of a decision, in bytes.
	MaxApprovalReason = 1000
)

// The reasons why a held call is not stored or not decided. Match them with
// errors.Is; their texts are for people.
var (
	// ErrApprovalUnknown: no held call has this id.
	ErrApprovalUnknown = errors.New("no held call has this id")
	// ErrApprovalClosed: the call can no longer be decided.
	ErrApprovalClosed = errors.New("the held call cannot be decided any more")
	// ErrApprovalOwn: the approver is the principal that made the call.
	ErrApprovalOwn = errors.New("a principal cannot approve its own call")
	// ErrApprovalsFull: too many calls already wait for a decision.
	ErrApprovalsFull = errors.New("too many calls wait for a decision")
)

// Approval is one held call: what was asked, which principal asked, and the
// decision. It is plain data.
type Approval struct {
	// ID identifies the held call. It is no secret: a caller that knows it
	// cannot decide with it.
	ID string `json:"id"`
	// Digest binds the decision to everything in which two calls can differ, in
	// hexadecimal digits. Calls with the same digest share a decision.
	Digest string `json:"digest"`
	// State is the state that was written last. [Approval.StateAt] takes the
	// clock into account.
	State ApprovalState `json:"state"`
	// Tool is the tool that was called.
	Tool string `json:"tool"`
	// Args holds the arguments as JSON for people: without secrets, control
	// characters and invisible characters, and bounded in length.
	Args string `json:"args"`
	// Hidden is the number of control and invisible characters in the arguments
	// that Args does not show.
	Hidden int `json:"hidden,omitempty"`
	// Why tells the approver what held the call, unless a list of the
	// personality did: the facts of the conversation and the calls that caused
	// them.
	Why string `json:"why,omitempty"`
	// Unknown holds the values that hold the call because no set of the operator has
	// them, each with the names of the sets that could; empty when anything else
	// holds it too.
	Unknown map[string][]string `json:"unknown,omitempty"`
	// Targets lists what the names of database connections and of the mail
	// relay stand for that the call may use, as "name: target". The decision is
	// bound to these targets.
	Targets []string `json:"targets,omitempty"`
	// Principal is the name of the principal that asked.
	Principal string `json:"principal"`
	// Personality is the role in which the principal asked; it may be empty.
	Personality string `json:"personality,omitempty"`
	// Session is the conversation that asked first.
	Session string `json:"session,omitempty"`
	// CallID is the recorded id of the call that asked first.
	CallID string `json:"call_id,omitempty"`
	// Created is the time at which the call was first held.
	Created time.Time `json:"created"`
	// Expires is the time until which the call may be decided and an approval
	// may be used.
	Expires time.Time `json:"expires_at"`
	// DecidedBy is the name of the approver; empty before a decision.
	DecidedBy string `json:"decided_by,omitempty"`
	// Decided is the time of the decision; the zero time before it.
	Decided time.Time `json:"decided,omitzero"`
	// Reason is the approver's reason; it may be empty.
	Reason string `json:"reason,omitempty"`
	// Shape is what a rule for the session of this call would be bound to; nil
	// when there can be none, since the call names no session, has too many
	// arguments, or has names that cannot be shown.
	Shape *ApprovalShape `json:"shape,omitempty"`
	// Rule is the id of the rule for the session, or of the exception, that took the
	// place of this request; empty when none did.
	Rule string `json:"rule,omitempty"`
}

// ApprovalShape is what a rule for the session of a held call is bound to. It
// holds digests in hexadecimal digits, so that calls can be compared without
// their arguments. Two calls of one shape differ in arguments at most.
type ApprovalShape struct {
	// Asked is the digest of who asks for which tool: principal, role, session,
	// memory scope, workspace and attachments, and what holds the call.
	Asked string `json:"asked"`
	// Touches is the digest of what the call may touch: the definition of the
	// tool, its grant, the confinement of its children and the targets of names.
	Touches string `json:"touches"`
	// Session is the digest of the session's key.
	Session string `json:"session"`
	// Args holds a digest of each argument by its name, defaults included.
	Args map[string]string `json:"args,omitempty"`
	// Exact is true when no argument may differ: what was read before holds the
	// call.
	Exact bool `json:"exact,omitempty"`
}

// ApprovalQueue is the side of held calls that the gate uses. It must be safe
// for concurrent use, and for use by several processes where they share it.
type ApprovalQueue interface {
	// Ask returns the request with the digest a.Digest that is in force. When
	// there is none, it stores a as a pending request; see [NextApproval]. The
	// error matches [ErrApprovalsFull] when a bound is reached.
	Ask(ctx context.Context, a Approval) (Approval, error)
	// Wait returns the request once it is no longer pending. When the context
	// ends first, it returns the request and the context's error.
	Wait(ctx context.Context, id string) (Approval, error)
	// Use consumes an approval for one run. When several callers try, in any
	// number of processes, exactly one gets ok. None gets ok when the request
	// is not approved or has expired. The use is durable when Use returns.
	Use(ctx context.Context, id string) (ok bool, err error)
}

// ApprovalDesk is the side of held calls that approvers use. It must be safe
// for concurrent use.
type ApprovalDesk interface {
	// List returns held calls, the oldest first: the pending and the approved
	// ones or, with all, everything that is still stored. The states are those
	// at the time of the call.
	List(ctx context.Context, all bool) ([]Approval, error)
	// Get returns one held call. The error matches [ErrApprovalUnknown] when
	// there is none with this id.
	Get(ctx context.Context, id string) (Approval, error)
	// Decide approves or denies a held call in the name of by. See
	// [Approval.Decide] for the rules and errors. The decision is durable when
	// Decide returns.
	Decide(ctx context.Context, id, by string, approve bool, reason string) error
}

// ApprovalStore stores held calls for both sides.
type ApprovalStore interface {
	ApprovalQueue
	ApprovalDesk
	// LatestDecided returns the newest request of a digest that a person has
	// decided, as it was written last; ok is false when there is none. A newer
	// one that waits, or that expired unanswered, does not hide it.
	LatestDecided(ctx context.Context, digest string) (a Approval, ok bool, err error)
	// YieldToRule closes a held call in favour of a rule for its session. See
	// [Approval.YieldToRule]. It is no approval: no call runs on it. It is
	// durable when YieldToRule returns.
	YieldToRule(ctx context.Context, id, by, rule, reason string) error
}

// StateAt returns the state at a point in time. A request that was not decided,
// or an approval that was not used, is expired from its expiry on.
func (a *Approval) StateAt(now time.Time) ApprovalState {
	open := a.State == ApprovalPending || a.State == ApprovalApproved
	if open && !now.Before(a.Expires) {
		return ApprovalExpired
	}
	return a.State
}

// Check returns an error for a request that a gate cannot have made.
func (a *Approval) Check() error {
	if a.ID == "" || a.Digest == "" || a.Tool == "" || a.Principal == "" || !a.Expires.After(a.Created) {
		return errors.New("approval: id, digest, tool, principal and a lifetime are required")
	}
	return nil
}

// Decide changes a to the decision that by makes at now. A pending call is
// approved or denied. A denial may take back an approval that is not used yet.
// A denial is final. In every other case the error matches [ErrApprovalClosed].
// It matches [ErrApprovalOwn] when the principal that asked approves its own
// call. [LocalPrincipal] is exempt from that rule: it stands for the operator
// of the machine, who may decide about calls of their own.
func (a *Approval) Decide(now time.Time, by string, approve bool, reason string) error {
	if err := a.checkDecision(now, by, approve, reason); err != nil {
		return err
	}
	if state := a.StateAt(now); approve && state != ApprovalPending {
		return fmt.Errorf("%w: it is %s", ErrApprovalClosed, state)
	}
	a.State = ApprovalDenied
	if approve {
		a.State = ApprovalApproved
	}
	a.DecidedBy, a.Decided, a.Reason = by, now, strings.TrimSpace(reason)
	return nil
}

// YieldToRule closes a, of which a call waits or may run once, because the rule
// with the given id allows its shape for the session, or an exception exactly this call. The errors are those of
// [Approval.Decide] for an approval.
func (a *Approval) YieldToRule(now time.Time, by, rule, reason string) error {
	if rule == "" {
		return errors.New("approval: expected the id of a rule")
	}
	if err := a.checkDecision(now, by, true, reason); err != nil {
		return err
	}
	a.State, a.Rule = ApprovalUsed, rule
	a.DecidedBy, a.Decided, a.Reason = by, now, strings.TrimSpace(reason)
	return nil
}

// checkDecision returns an error unless by may decide about a at now.
func (a *Approval) checkDecision(now time.Time, by string, approve bool, reason string) error {
	if by == "" {
		return errors.New("approval: expected the name of who decides")
	}
	if len(reason) > MaxApprovalReason || !utf8.ValidString(reason) {
		return fmt.Errorf("approval: a reason has at most %d bytes of text", MaxApprovalReason)
	}
	switch state := a.StateAt(now); {
	case state != ApprovalPending && state != ApprovalApproved:
		return fmt.Errorf("%w: it is %s", ErrApprovalClosed, state)
	case approve && by == a.Principal && by != LocalPrincipal:
		return fmt.Errorf("%w: %s asked for it", ErrApprovalOwn, by)
	}
	return nil
}

// Use changes an approval that is in force at now to a used one.
func (a *Approval) Use(now time.Time) bool {
	if a.StateAt(now) != ApprovalApproved {
		return false
	}
	a.State = ApprovalUsed
	return true
}

// NextApproval is the rule of [ApprovalQueue.Ask]. The argument last is the
// newest request of the digest, or nil. Both results are false when last is in
// force: the repeated call then finds it. The result expired says that last has
// expired: the caller gets it once, as expired, and the queue writes it back.
// The result fresh says that the call is held anew.
func NextApproval(last *Approval, now time.Time) (expired, fresh bool) {
	switch {
	case last == nil:
		return false, true
	case last.State == ApprovalPending, last.State == ApprovalApproved:
		return last.StateAt(now) == ApprovalExpired, false
	case last.State == ApprovalDenied:
		return false, !now.Before(last.Expires)
	default:
		return false, true
	}
}
