package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/output"
)

const (
	// askKey names the one question in a round of a protocol without sessions.
	askKey = "approval"
	// reasonChars bounds the reason that a person gives, in characters. A
	// record takes that many characters of four bytes each.
	reasonChars = sallyport.MaxApprovalReason / utf8.UTFMax
	// clientPrefix stands before the principal's name in the name of the
	// decider: the person behind a principal's client is not the principal that
	// asked.
	clientPrefix = "client:"
)

// askSchema is the schema of the form: one decision and a reason for it.
var askSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
	`"approve":{"type":"boolean","title":"Approve","description":"Let this call run once, with exactly these arguments"},`+
	`"reason":{"type":"string","title":"Reason","description":"A word for the record","maxLength":%d}},"required":["approve"]}`, reasonChars))

// mayAskPerson reports whether a call is put before the person behind the client.
func (c *core) mayAskPerson(caller *sallyport.Caller, id string) bool {
	return c.o.Desk != nil && c.gate.Asks(caller, id)
}

// heldCall is a call that a person may be asked about.
type heldCall struct {
	*askableClient
	make callAttempt
}

// newHeld returns the call as one that a person may be asked about. It returns
// nil when the client cannot ask a person or no person decides about the call. An answer
// that was given is looked at, even if its person may not decide any more.
func (c *askableClient) newHeld(try callAttempt, answered bool) *heldCall {
	if !c.able.Elicits || !c.mayAskPerson(c.caller, c.q.Tool) || !answered && !c.mayDecide() {
		return nil
	}
	c.caller.Asks = true
	return &heldCall{c, try}
}

// makeCall makes the call. A call that is held is put before the person, either at
// once or by the question that it returns. id is the approval named by the
// request's state, or empty.
func (h *heldCall) makeCall(ctx context.Context, in roundInput, id string) (sallyport.Result, *clientQuestion, error) {
	ask := true
	if id != "" {
		var err error
		if ask, err = h.takeAnswer(ctx, in, id); err != nil {
			return sallyport.Result{}, nil, err
		}
	}
	res, asked, err := h.make(ctx)
	if !ask || asked != nil || err != nil || ctx.Err() != nil {
		return res, asked, err
	}
	return h.askPerson(ctx, res)
}

// askPerson puts a call before the person if its result says that it is held.
func (h *heldCall) askPerson(ctx context.Context, res sallyport.Result) (sallyport.Result, *clientQuestion, error) {
	if res.Code != sallyport.CodeApprovalRequired || res.ApprovalID == "" {
		return res, nil, nil
	}
	a, err := h.o.Desk.Get(ctx, res.ApprovalID)
	if err != nil {
		h.o.Logger.Error("a held call cannot be put before a person", "approval", res.ApprovalID, "error", err)
		return res, nil, nil
	}
	if why := h.checkAnswer(ctx, &a); why != nil {
		return addUnasked(res, why), nil, nil
	}
	h.request.streams = true
	if !h.rounds {
		decided := h.asked.askOnce(ctx, &a, func(batch []sallyport.Approval) bool { return h.awaitDecision(ctx, batch) })
		why := h.checkAnswer(ctx, &a)
		if !decided {
			return addUnasked(res, why), nil, nil
		}
		h.caller.Asks = why == nil // another person may answer while the call waits
		res, asked, err := h.make(ctx)
		return addUnasked(res, why), asked, err
	}
	state, err := h.seal.sealState(h.boundWords(), a.ID, a.Expires)
	if err != nil {
		return sallyport.Result{}, nil, err
	}
	return res, &clientQuestion{requests: mcp.InputRequestMap{askKey: h.approvalForm(ctx, []sallyport.Approval{a})}, state: state}, nil
}

// findNews returns what is new about a held call, where the desk can tell.
func (h *heldCall) findNews(ctx context.Context, a *sallyport.Approval) []string {
	if desk, ok := h.o.Desk.(interface {
		News(ctx context.Context, a *sallyport.Approval) []string
	}); ok {
		return desk.News(ctx, a)
	}
	return nil
}

// awaitDecision asks over the session while the calls wait, and reports whether there is a
// decision about all of them. The answer is for the calls that are shown and for no other.
func (h *heldCall) awaitDecision(ctx context.Context, batch []sallyport.Approval) bool {
	a := &batch[0]
	waiting, done, ok := h.questions.Begin(ctx, h.caller.Principal.Name)
	defer done()
	if !ok {
		return false
	}
	waiting, cancel := context.WithTimeout(waiting, min(askWait, time.Until(a.Expires)))
	defer cancel()
	text, err := h.request.session.askClient(waiting, h.request.send, methodElicit, h.approvalForm(ctx, batch))
	if err != nil {
		// A client that has gone has decided nothing.
		h.o.Logger.Warn("a person was not asked about a held call", "approval", a.ID, "error", err)
		return false
	}
	v, err := readVerdict(text)
	if err != nil || v.silent || !h.stillAuthorized() || !h.mayAskPerson(h.caller, h.q.Tool) {
		return false
	}
	decided := true
	for i := range batch {
		decided = h.decideApproval(ctx, batch[i].ID, v) == nil && decided
	}
	return decided
}

// takeAnswer reads the answer to the question of the previous round. It reports
// whether the person may be asked again because there was no answer.
func (h *heldCall) takeAnswer(ctx context.Context, in roundInput, id string) (again bool, err error) {
	response := in.responses.Value(askKey)
	if response == nil {
		return true, nil
	}
	v, err := readVerdict(response)
	if err != nil {
		return false, wire.Invalid("inputResponses." + askKey + ": " + err.Error())
	}
	if v.silent {
		return false, nil
	}
	return false, h.decideApproval(ctx, id, v)
}

// decideApproval records a decision in the name of the person behind the client. If the
// approval was decided elsewhere in the meantime, that decision stands and the
// next attempt of the call reports it.
func (h *heldCall) decideApproval(ctx context.Context, id string, v approvalVerdict) error {
	a, err := h.o.Desk.Get(ctx, id)
	switch {
	case errors.Is(err, sallyport.ErrApprovalUnknown):
		return wire.Invalid("this question is over; make the call again without requestState")
	case err != nil:
		return h.decisionFailed(id, err)
	case a.Principal != h.caller.Principal.Name || a.Tool != h.q.Tool:
		return wire.Invalid("this question was about another call")
	}
	switch state := a.StateAt(time.Now()); {
	case state == sallyport.ApprovalUsed, state == sallyport.ApprovalExpired:
		return wire.Invalid("this question is over; make the call again without requestState")
	case state == sallyport.ApprovalDenied, state == sallyport.ApprovalApproved && v.approve:
		return nil
	}
	err = h.o.Desk.Decide(ctx, id, h.decider(), v.approve, v.reason)
	switch {
	case errors.Is(err, approvals.ErrNotApprover):
		return wire.Invalid(sayUnasked(err) + ": it stays held (approval " + id + ")")
	case err != nil && !errors.Is(err, sallyport.ErrApprovalClosed) && !errors.Is(err, approvals.ErrSaidYes):
		return h.decisionFailed(id, err)
	}
	return nil
}

// decisionFailed returns the answer to a decision that could not be recorded. The cause
// is logged for the operator.
func (h *heldCall) decisionFailed(id string, err error) error {
	h.o.Logger.Error("a decision was not taken", "approval", id, "error", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the decision could not be taken: the call is still held (approval " + id + ")"}
}

// approvalVerdict is what a person answered.
type approvalVerdict struct {
	silent  bool // the person did not decide
	approve bool
	reason  string
}

// readVerdict reads the answer to the question about a held call. Only the JSON
// value true is an approval.
func readVerdict(text json.RawMessage) (approvalVerdict, error) {
	response, err := readResponse(text)
	answer, ok := response.(*mcp.ElicitResult)
	if err != nil || !ok {
		return approvalVerdict{}, errors.New("expected the result of an elicitation")
	}
	switch answer.Action {
	case "decline":
		return approvalVerdict{}, nil
	case "cancel":
		return approvalVerdict{silent: true}, nil
	case "accept":
	default:
		return approvalVerdict{}, errors.New("the action is none of accept, decline and cancel")
	}
	approve, ok := answer.Content["approve"].(bool)
	if !ok {
		return approvalVerdict{}, errors.New("approve must be true or false")
	}
	v := approvalVerdict{approve: approve}
	if given, ok := answer.Content["reason"]; ok && given != nil {
		if v.reason, ok = given.(string); !ok || utf8.RuneCountInString(v.reason) > reasonChars {
			return approvalVerdict{}, fmt.Errorf("reason must be a text of at most %d characters", reasonChars)
		}
		// Nothing in it may deceive a reader of the record or steer a model.
		v.reason = strings.TrimSpace(string(output.Plain().Text(v.reason)))
	}
	return v, nil
}

// approvalForm returns the question about held calls of one shape. It shows the same facts
// as the other places where held calls are decided.
func (h *heldCall) approvalForm(ctx context.Context, batch []sallyport.Approval) *mcp.ElicitParams {
	var b strings.Builder
	a, once := &batch[0], "this call run once, with exactly these arguments"
	if len(batch) == 1 {
		fmt.Fprintf(&b, "Sallyport holds this call until a person approves it.\n\nTool: %s\n", a.Tool)
	} else {
		once = "each of these calls run once, with exactly its arguments, and no other"
		fmt.Fprintf(&b, "Sallyport holds these %d calls until a person approves them. One answer is for all of them.\n\nTool: %s\n", len(batch), a.Tool)
		if same, _ := approvals.SplitArguments(batch); same != "" {
			fmt.Fprintf(&b, "The same in all: %s\n", same)
		}
	}
	_, own := approvals.SplitArguments(batch)
	expires := a.Expires
	for i := range batch {
		h.writeHeld(ctx, &b, &batch[i], own[i])
		if batch[i].Expires.Before(expires) {
			expires = batch[i].Expires
		}
	}
	fmt.Fprintf(&b, "Principal: %s\n", a.Principal)
	if a.Personality != "" {
		fmt.Fprintf(&b, "Personality: %s\n", a.Personality)
	}
	for i := range batch {
		fmt.Fprintf(&b, "Approval: %s\n", batch[i].ID)
	}
	b.WriteString(h.describeNeed(a))
	fmt.Fprintf(&b, "Expires: %s\n\nA yes lets %s. More than that is given by the operator alone.", expires.UTC().Format(time.RFC3339), once)
	return &mcp.ElicitParams{Mode: "form", Message: b.String(), RequestedSchema: askSchema}
}

// writeHeld writes what is one call's own.
func (h *heldCall) writeHeld(ctx context.Context, b *strings.Builder, a *sallyport.Approval, args string) {
	fmt.Fprintf(b, "Arguments: %s\n", args)
	for _, target := range a.Targets {
		fmt.Fprintf(b, "Uses: %s\n", target)
	}
	if a.Why != "" {
		fmt.Fprintf(b, "Why: %s.\n", a.Why)
	}
	if a.Hidden > 0 {
		fmt.Fprintf(b, "The arguments hold %d control or invisible characters that are not shown.\n", a.Hidden)
	}
	for _, line := range h.findNews(ctx, a) {
		fmt.Fprintf(b, "New: %s.\n", output.Plain().Text(line))
	}
}
