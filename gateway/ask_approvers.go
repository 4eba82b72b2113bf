package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// approverDesk is a desk with rules about who may decide. Without it, the person behind
// each client that may be asked decides alone.
type approverDesk interface {
	// MayDecide reports whether a person may decide about calls of a tool in a role, at once
	// or once they have been held for a time.
	MayDecide(by, personality, tool string) bool
	// CheckAnswer returns why a held call is not put before a person; nil when it is.
	CheckAnswer(ctx context.Context, a *sallyport.Approval, by string) error
	// YesesNeeded returns how many people have to say yes to a held call.
	YesesNeeded(a *sallyport.Approval) int
}

// decider names the person behind the client.
func (c *askableClient) decider() string { return clientPrefix + c.caller.Principal.Name }

// mayDecide reports whether the person behind the client may ever decide about the call.
func (c *askableClient) mayDecide() bool {
	desk, ok := c.o.Desk.(approverDesk)
	return !ok || desk.MayDecide(c.decider(), c.caller.Personality, c.q.Tool)
}

// checkAnswer returns why a held call is not put before the person behind the client.
func (h *heldCall) checkAnswer(ctx context.Context, a *sallyport.Approval) error {
	if desk, ok := h.o.Desk.(approverDesk); ok {
		return desk.CheckAnswer(ctx, a, h.decider())
	}
	return nil
}

// describeNeed says in a form what a yes does where several are needed; empty for one.
func (h *heldCall) describeNeed(a *sallyport.Approval) string {
	if desk, ok := h.o.Desk.(approverDesk); ok && desk.YesesNeeded(a) > 1 {
		return fmt.Sprintf("%d different people have to say yes before it runs; yours is one of them.\n", desk.YesesNeeded(a))
	}
	return ""
}

// addUnasked says in the result of a call that stays held why the person behind the client
// is not asked about it; nil is no reason.
func addUnasked(res sallyport.Result, why error) sallyport.Result {
	if why != nil && res.Code == sallyport.CodeApprovalRequired {
		res.Error += "; " + sayUnasked(why)
	}
	return res
}

// sayUnasked says why the person behind the client is not asked, without the names of those
// who may decide.
func sayUnasked(why error) string {
	if errors.Is(why, approvals.ErrSaidYes) {
		return "the person behind this client has said yes, and another person has to"
	}
	return "the person behind this client may not decide about it"
}
