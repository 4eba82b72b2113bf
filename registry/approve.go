package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/callid"
	"github.com/sallyport/sallyport/internal/deadline"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/tracing"
	"github.com/sallyport/sallyport/output"
)

const (
	// defaultApprovalExpiry is how long a held call may be decided, and the
	// decision used, when the personality says nothing: an hour is a meeting.
	defaultApprovalExpiry = time.Hour
	// defaultApprovalWait is how long a call waits for its decision when the
	// personality says nothing of approvals.
	defaultApprovalWait = 30 * time.Second
	// approvalArgs bounds the arguments that people are shown, in code
	// points. People do not read more before they decide.
	approvalArgs = 16 << 10
	// fullRetry is when to come back once too many calls wait.
	fullRetry = time.Minute
	// maxUnknown bounds the values that sets may grow by because of one call.
	maxUnknown = 16
	// maxAsks bounds how often a call asks anew because another one with the
	// same digest took the decision.
	maxAsks = 20
)

// awaitApproval waits until a person has decided about the call, when a person
// has to. A call that needs a decision runs only on an approval of exactly
// this call, or under a rule for its session that covers it. It takes the
// approval, or a run of the rule, before it goes on, and that is on the disk before
// the tool starts: whenever the program dies, nothing runs twice.
func (c *call) awaitApproval(ctx context.Context) bool {
	c.asked = c.hold.keys
	if c.hold.why == "" && !c.role.requiresApproval(&c.entry.tool) {
		return c.allowStep(sallyport.StepApprove)
	}
	if !c.probeAccess(ctx) {
		return false
	}
	attached, err := c.attachmentTexts(ctx)
	if err != nil {
		return c.refuseUnavailable(err)
	}
	digest, err := c.approvalDigest(ctx, attached)
	if err != nil {
		return c.refuseUnavailable(err)
	}
	shape, err := c.approvalShape(ctx, attached)
	if err != nil {
		return c.refuseUnavailable(err)
	}
	waiting := new(deadline.Context)
	waiting.Start(ctx, time.Now().Add(c.decisionWait(ctx)))
	defer waiting.Cancel()
	c.endWith(waiting)
	h := &heldCall{call: c, digest: digest, shape: shape}
	defer h.endNotice()
	for range maxAsks {
		if done, allowed := h.useRule(ctx); done {
			return allowed
		}
		if done, allowed := h.requestDecision(ctx, waiting); done {
			return allowed
		}
	}
	return h.refuseUndecided("other calls used every decision")
}

// decisionWait is how long the call waits for its decision.
func (c *call) decisionWait(ctx context.Context) time.Duration {
	rules := c.role.approvalRules()
	switch connected := c.r.o.PersonConnected; {
	case c.caller.Asks, c.r.ownApprovals != nil && c.role.personality.Approvals == nil:
		// The edge asks a person itself, or the program decides when it likes.
		return 0
	case rules.WaitForPerson && connected != nil && !connected(ctx):
		return 0
	}
	return rules.Wait
}

// awaitNewApproval waits once more when the call is held by another rule than
// the one that awaitApproval knew: another call has read something since.
func (c *call) awaitNewApproval(ctx context.Context) bool {
	return c.hold.keys == "" || c.hold.keys == c.asked || c.awaitApproval(ctx)
}

// StopWaiting ends the wait of every call that asks its caller or is held, now
// and later. One that is held answers approval_required unless its decision is
// already there when it asks. It is for a registry that another one replaces, so
// that nothing is decided under rules that are not in force any more; what its
// calls begin from now on is held to the last [Runs.Review].
func (r *Registry) StopWaiting() { r.workers.stopWaiting() }

// heldCall is a call that waits for its decision.
type heldCall struct {
	*call
	digest string
	shape  *sallyport.ApprovalShape
	a      sallyport.Approval
	waited bool
	notice *progressReporter // set once the caller was told of the wait
}

// requestDecision asks once for a decision and waits for it. It is not done
// when another call of the same digest took the decision, or a rule its place.
func (h *heldCall) requestDecision(ctx, waiting context.Context) (done, allowed bool) {
	queue := h.r.o.Approvals
	var err error
	if h.a, err = queue.Ask(ctx, h.approvalRequest()); err != nil {
		return true, h.refuseUnavailable(err)
	}
	if h.a.State == sallyport.ApprovalPending {
		h.awaitDecision(waiting)
	}
	switch h.a.State {
	case sallyport.ApprovalApproved:
		return h.useApproval(ctx)
	case sallyport.ApprovalUsed:
		return false, false
	case sallyport.ApprovalDenied:
		return true, h.refuseDenied()
	case sallyport.ApprovalExpired:
		return true, h.refuseUnapproved("approval "+h.a.ID+" expired", sallyport.CodeApprovalDenied,
			"Approval denied: the request for "+h.q.Tool+" expired before it was decided and used")
	case sallyport.ApprovalPending:
		if e := h.ending.Load(); e != nil {
			return true, h.refuse(sallyport.Decision{Step: sallyport.StepApprove, Why: e.Why}, sallyport.CodePermissionDenied, "Permission denied: "+e.Error())
		}
		return true, h.refuseUndecided(h.undecidedReason(ctx))
	default:
		return true, h.refuseUnavailable(fmt.Errorf("a held call has the state %q", h.a.State))
	}
}

// awaitDecision waits for the decision while the caller does, and tells the
// caller's user so.
func (h *heldCall) awaitDecision(waiting context.Context) {
	if waiting.Err() != nil {
		return
	}
	if h.notice == nil {
		h.notice = &progressReporter{call: h.call, sink: h.caller.Progress}
		// A slow stream must not keep a decision waiting.
		go h.notice.emitReport(sallyport.Progress{
			Message: "waits for approval " + h.a.ID, Audience: sallyport.AudienceUser,
		})
	}
	h.waited = true
	waiting, stop := h.r.workers.withClosing(waiting)
	defer stop()
	_, span := tracing.StartSpan(waiting, tracing.SpanApproval, tracing.KindInternal)
	span.SetText(tracing.KeyApproval, h.a.ID)
	a, err := h.r.o.Approvals.Wait(waiting, h.a.ID)
	switch {
	case err == nil:
		h.a = a
	case waiting.Err() == nil:
		// The request is kept, whatever failed here.
		h.logFault("waiting for an approval", err)
	}
	span.SetText(tracing.KeyOutcome, string(h.a.State))
	span.EndSpan()
}

func (h *heldCall) endNotice() {
	if h.notice != nil {
		h.notice.close()
	}
}

func (h *heldCall) useApproval(ctx context.Context) (done, allowed bool) {
	if !h.mayStillRun(ctx) {
		return true, false
	}
	ok, err := h.takeApproval(ctx, h.a.ID)
	if err != nil {
		return true, h.refuseUnavailable(err)
	}
	if !ok {
		return false, false
	}
	h.addDecision(sallyport.Decision{
		Step: sallyport.StepApprove, Allowed: true, Why: fmt.Sprintf("approved by %s (approval %s)%s", h.a.DecidedBy, h.a.ID, text.ReasonSuffix(h.a.Reason)),
	})
	return true, true
}

// mayStillRun refuses the call when what a decision is bound to has changed
// while it waited.
func (h *heldCall) mayStillRun(ctx context.Context) bool {
	if h.waited && (h.r.workers.isClosing() || h.r.findEntry(h.q.Tool) != h.entry || h.r.roleFor(h.caller.Personality) != h.role) {
		return h.refuseUndecided("the configuration changed while the call waited")
	}
	if before := h.named; h.waited && len(before) > 0 {
		h.named = nil
		if !slices.Equal(before, h.grantTargets(ctx)) {
			return h.refuseUndecided("what a name stands for changed while the call waited")
		}
	}
	if ctx.Err() != nil {
		return h.refuseUndecided(h.undecidedReason(ctx))
	}
	return (!h.waited || h.stillWithin(ctx)) && h.stillAuthorized(ctx)
}

// approvalRequest returns the call as those who decide see it.
func (h *heldCall) approvalRequest() sallyport.Approval {
	now, cl := time.Now().UTC(), h.cleaner()
	lifetime := h.role.approvalRules().Expires
	if lifetime <= 0 {
		lifetime = defaultApprovalExpiry
	}
	return sallyport.Approval{
		ID: callid.New(now), Digest: h.digest, Tool: h.q.Tool, Why: h.hold.why,
		Args: shownArgs(cl, h.doc.Value), Hidden: countHidden(h.doc.Value),
		Targets: cleanWords(cl, h.named), Principal: h.caller.Principal.Name, Personality: string(cleanWord(cl, h.caller.Personality)),
		Session: string(cleanWord(cl, h.session)), CallID: h.id, Created: now, Expires: now.Add(lifetime),
		Shape: h.shape, Unknown: h.unknownValues(cl),
	}
}

// unknownValues returns the values that alone hold the call, nil when something else
// does, or when people cannot be shown them as they are.
func (h *heldCall) unknownValues(cl *output.Cleaner) map[string][]string {
	values := h.hold.unknown
	if len(values) > maxUnknown || h.role.requiresApproval(&h.entry.tool) {
		return nil
	}
	for value := range values {
		if len(value) > known.MaxValue || !cl.Accepts(value) {
			return nil
		}
	}
	return values
}

// refuseUndecided refuses a call that is still held; repeating it later uses
// the decision.
func (h *heldCall) refuseUndecided(why string) bool {
	if strings.HasPrefix(h.a.Why, h.hold.why) {
		h.hold.why = h.a.Why // with what the queue knows of earlier approvals
	}
	h.refuseWith(why+" (approval "+h.a.ID+")", h.r.o.CommandLine("approvals approve "+h.a.ID), sallyport.CodeApprovalRequired, fmt.Sprintf(
		"%s requires explicit approval (%s)%s: repeat the same call once it is given, before %s",
		h.q.Tool, h.a.ID, h.hold.because, h.a.Expires.UTC().Format(time.RFC3339)))
	h.result.ApprovalID, h.result.ExpiresAt = h.a.ID, h.a.Expires
	return false
}

// undecidedReason says why the call is not decided.
func (h *heldCall) undecidedReason(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "the caller went away while the call waited"
	case h.r.workers.isClosing():
		return "the gate closed while the call waited"
	default:
		return "no person has decided yet"
	}
}

func (h *heldCall) refuseDenied() bool {
	return h.refuseUnapproved(fmt.Sprintf("denied by %s (approval %s)%s", h.a.DecidedBy, h.a.ID, text.ReasonSuffix(h.a.Reason)),
		sallyport.CodeApprovalDenied, "Approval denied: "+h.q.Tool+" may not run with these arguments"+text.ReasonSuffix(h.a.Reason))
}

// refuseUnavailable refuses a call for which no decision can be had.
func (c *call) refuseUnavailable(err error) bool {
	if errors.Is(err, sallyport.ErrApprovalsFull) {
		c.refuseUnapproved(err.Error(), sallyport.CodeRateLimited, "Rate limit exceeded: too many calls wait for a decision")
		c.result.RetryAfter = fullRetry
		return false
	}
	c.logFault("approval", err)
	return c.refuseUnapproved("the approval cannot be asked for: "+err.Error(), sallyport.CodeNotAvailable,
		"The call was not made: its approval cannot be asked for (call "+c.id+")")
}

// refuseUnapproved refuses the call at the step of approvals, with the rule
// that asks for one.
func (c *call) refuseUnapproved(why string, code sallyport.Code, text string) bool {
	return c.refuseWith(why, "", code, text)
}

// refuseWith is refuseUnapproved with the command that decides, "" when there
// is none.
func (c *call) refuseWith(why, fix string, code sallyport.Code, text string) bool {
	d := sallyport.Decision{Step: sallyport.StepApprove, Why: why, Source: c.role.sourceOf("approvals.require"), Fix: fix}
	if c.hold.key != "" {
		d.Why, d.Source = why+": "+c.hold.why, c.ceilingSource(c.hold.key)
		d.Fix = joinFixes(fix, c.readFix(c.hold.key, c.hold.unread))
	}
	return c.refuse(d, code, text)
}

// shownArgs is the arguments as JSON for people. Cleaning comes first, so that
// no cut leaves half of a secret.
func shownArgs(cl *output.Cleaner, args map[string]any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// What was decoded from JSON can be encoded.
	_ = enc.Encode(cl.Value(args))
	text, _ := output.Trim(string(bytes.TrimSpace(b.Bytes())), approvalArgs)
	return text
}

// countHidden counts the characters of decoded JSON that a reader would not
// see, so that those who decide know of them.
func countHidden(v any) (n int) {
	switch v := v.(type) {
	case string:
		for _, r := range v {
			if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
				unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' {
				n++
			}
		}
	case []any:
		for _, item := range v {
			n += countHidden(item)
		}
	case map[string]any:
		for key, item := range v {
			n += countHidden(key) + countHidden(item)
		}
	}
	return n
}
