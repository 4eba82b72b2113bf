package sallyport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ApprovalState is what became of a held call.
type ApprovalState string

// The states. A pending call is decided or expires; an approval is used by one
// run, taken back, or expires.
const (
	// ApprovalPending: nobody has decided yet.
	ApprovalPending ApprovalState = "pending"
	// ApprovalApproved: the call may run once.
	ApprovalApproved ApprovalState = "approved"
	// ApprovalDenied: the call may not run; it may be asked for anew after
	// the expiry.
	ApprovalDenied ApprovalState = "denied"
	// ApprovalUsed: a call ran, or may have run, on this approval.
	ApprovalUsed ApprovalState = "used"
	// ApprovalExpired: nobody decided in time, or nobody used the approval
	// in time.
	ApprovalExpired ApprovalState = "expired"
)

// Bounds of held calls, which every [ApprovalQueue] keeps. They protect the
// people who decide: nobody reads a thousand requests.
const (
	// MaxPendingApprovals bounds the pending calls of one principal.
	MaxPendingApprovals = 100
	// MaxPendingApprovalsTotal bounds the pending calls of all principals.
	MaxPendingApprovalsTotal = 1000
	// MaxApprovalReason bounds the reason of a decision, in bytes.
	MaxApprovalReason = 1000
)

// The reasons for which a held call is not kept or decided. They are matched
// with errors.Is; their text is for people.
var (
	// ErrApprovalUnknown: there is no held call of this id.
	ErrApprovalUnknown = errors.New("no held call has this id")
	// ErrApprovalClosed: the call cannot be decided any more.
	ErrApprovalClosed = errors.New("the held call cannot be decided any more")
	// ErrApprovalOwn: the approver is the principal who asked.
	ErrApprovalOwn = errors.New("nobody approves a call of their own")
	// ErrApprovalsFull: too many calls wait for a decision already.
	ErrApprovalsFull = errors.New("too many calls wait for a decision")
)

// Approval is one held call: what was asked, by whom, and what somebody said
// to it. It is plain data.
type Approval struct {
	// ID names the held call. It is no secret: knowing it decides nothing.
	ID string `json:"id"`
	// Digest binds the decision to everything that could make two calls
	// differ, in hexadecimal digits. Calls of one digest share a decision.
	Digest string `json:"digest"`
	// State is what was last written; [Approval.StateAt] takes the clock
	// into account.
	State ApprovalState `json:"state"`
	// Tool is the tool that was called.
	Tool string `json:"tool"`
	// Args is the arguments as JSON for people: without secrets, control and
	// invisible characters, and bounded.
	Args string `json:"args"`
	// Hidden counts the control and invisible characters of the arguments,
	// which Args does not show.
	Hidden int `json:"hidden,omitempty"`
	// Why says, for those who decide, what held the call beside a list of the
	// personality's: what the conversation has read, and in which calls.
	Why string `json:"why,omitempty"`
	// Targets says what the names stand for that the call may use: database
	// connections and the mail relay, as "name: target". The decision is bound
	// to it.
	Targets []string `json:"targets,omitempty"`
	// Principal is who asked, Personality in which role, Session in which
	// conversation.
	Principal string `json:"principal"`
	// Personality is the role; it may be empty.
	Personality string `json:"personality,omitempty"`
	// Session is the conversation that asked first.
	Session string `json:"session,omitempty"`
	// CallID is the call that asked first, as it is recorded.
	CallID string `json:"call_id,omitempty"`
	// Created is when the call was first held.
	Created time.Time `json:"created"`
	// Expires is until when it may be decided and an approval be used.
	Expires time.Time `json:"expires_at"`
	// DecidedBy is the name of who decided; empty while nobody has.
	DecidedBy string `json:"decided_by,omitempty"`
	// Decided is when; the zero time while nobody has.
	Decided time.Time `json:"decided,omitzero"`
	// Reason is what they said; it may be empty.
	Reason string `json:"reason,omitempty"`
}

// ApprovalQueue is the gate's side of held calls. It must be safe for
// concurrent use, and by several processes where they share it.
type ApprovalQueue interface {
	// Ask returns the request of a.Digest that is in force, else keeps a as
	// a pending one; see [NextApproval]. The error matches
	// [ErrApprovalsFull] when a bound is reached.
	Ask(ctx context.Context, a Approval) (Approval, error)
	// Wait returns the request once it is not pending any more. When the
	// context ends first, it returns the request and the context's error.
	Wait(ctx context.Context, id string) (Approval, error)
	// Use takes an approval for one run. Of all who try, in all processes,
	// one is told ok; nobody is when it is not approved or expired. The use
	// is durable when Use returns.
	Use(ctx context.Context, id string) (ok bool, err error)
}

// ApprovalDesk is the side of those who decide. It must be safe for concurrent
// use.
type ApprovalDesk interface {
	// List returns held calls, the oldest first: the pending and the approved
	// ones, or with all everything that is still kept. States are those of
	// the moment.
	List(ctx context.Context, all bool) ([]Approval, error)
	// Get returns one; the error matches [ErrApprovalUnknown] when there is
	// none.
	Get(ctx context.Context, id string) (Approval, error)
	// Decide approves or denies in the name of by; see [Approval.Decide] for
	// the rules and errors. The decision is durable when Decide returns.
	Decide(ctx context.Context, id, by string, approve bool, reason string) error
}

// ApprovalStore keeps held calls.
type ApprovalStore interface {
	ApprovalQueue
	ApprovalDesk
}

// StateAt is the state at a moment: what was not decided or not used until the
// expiry is expired from then on.
func (a *Approval) StateAt(now time.Time) ApprovalState {
	open := a.State == ApprovalPending || a.State == ApprovalApproved
	if open && !now.Before(a.Expires) {
		return ApprovalExpired
	}
	return a.State
}

// Check refuses a request that a gate cannot have made.
func (a *Approval) Check() error {
	if a.ID == "" || a.Digest == "" || a.Tool == "" || a.Principal == "" || !a.Expires.After(a.Created) {
		return errors.New("approval: id, digest, tool, principal and a lifetime are required")
	}
	return nil
}

// Decide changes a to the decision of by at now. A pending call is approved or
// denied; an approval that was not used yet may be taken back by a denial; a
// denial stands. The error matches [ErrApprovalClosed] otherwise, and
// [ErrApprovalOwn] when the principal who asked approves. [LocalPrincipal] is
// nobody's name: it is whoever holds the machine, and may decide about calls
// of its own.
func (a *Approval) Decide(now time.Time, by string, approve bool, reason string) error {
	if by == "" {
		return errors.New("approval: expected the name of who decides")
	}
	if len(reason) > MaxApprovalReason || !utf8.ValidString(reason) {
		return fmt.Errorf("approval: a reason has at most %d bytes of text", MaxApprovalReason)
	}
	state := a.StateAt(now)
	takenBack := state == ApprovalApproved && !approve
	switch {
	case state != ApprovalPending && !takenBack:
		return fmt.Errorf("%w: it is %s", ErrApprovalClosed, state)
	case approve && by == a.Principal && by != LocalPrincipal:
		return fmt.Errorf("%w: %s asked for it", ErrApprovalOwn, by)
	}
	a.State = ApprovalDenied
	if approve {
		a.State = ApprovalApproved
	}
	a.DecidedBy, a.Decided, a.Reason = by, now, strings.TrimSpace(reason)
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

// NextApproval is the rule of [ApprovalQueue.Ask]: what a repeat finds when
// last is the newest request of its digest, nil for none. A request that is in
// force is found; one that expired is answered with once, as expired, and
// written back; fresh says that the call is held anew.
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
