package registry

import (
	"context"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/facts"
)

// The keys of a personality that are rules about facts.
const (
	keyAfterBoth = "safety.flow.after_untrusted_private"
	keyApprove   = "safety.flow.after_untrusted.approve"
	keyRefuse    = "safety.flow.after_untrusted.refuse"
)

// checkTaint applies the flow rules to what was read before: a call that may
// carry data out, once private data and untrusted content were read, is held
// or refused. One that is held has a reason afterwards, which awaitApproval
// shows to people.
//
// Without a personality no flow rules apply.
func (c *call) checkTaint(ctx context.Context) bool {
	c.hold = c.above
	if c.role.personality == nil || c.r.o.NoConversation {
		return true
	}
	c.facts = c.entry.tool.Facts(c.grant, c.level, workspaceUnder(c.grant, c.workspace()))
	rule := c.flowRule(true, c.isLocalOperator())
	c.judged = rule.action != sallyport.FlowAllow || c.rulesUntrusted()
	if !c.judged && !c.bringsFacts() {
		return true
	}
	var err error
	c.marks, err = c.r.facts.knownMarks(ctx, c.caller)
	if c.known = err == nil; c.known {
		c.forgetUnmarked()
	}
	switch {
	case err != nil && (c.judged || ctx.Err() != nil):
		return c.refuseUnknownFacts(ctx, err)
	case err != nil:
		c.logFault("session facts", err)
	case c.judged:
		return c.applyFlowRules(ctx, c.marks)
	case newestMark(c.marks, sallyport.FactUntrusted, time.Now()) != nil:
		if err := c.traceCarried(ctx, c.marks, time.Now()); err != nil {
			return c.refuseUnknownFacts(ctx, err)
		}
	}
	return true
}

// forgetUnmarked forgets what the session read when nothing says any more that it did:
// an operator has forgotten it. What was read since the call began stays.
func (c *call) forgetUnmarked() {
	marked := func(m sallyport.FactMark) bool { return m.Session && m.Fact == sallyport.FactUntrusted }
	if c.caller.Session != "" && !slices.ContainsFunc(c.marks, marked) {
		c.r.conversations.Reads.ForgetIdle(c.caller.Principal.Name, c.caller.Session, c.start)
	}
}

// isTainted reports whether untrusted content was read before the call, or that is not
// known.
func (c *call) isTainted() bool {
	return !c.known || newestMark(c.marks, sallyport.FactUntrusted, time.Now()) != nil
}

// countLateRead has a result count whose tool says only now that it is untrusted: from
// here on, before anything of it is returned. What cannot be counted is not returned.
func (c *call) countLateRead(ctx context.Context) {
	if c.role.personality == nil || c.r.o.NoConversation {
		return
	}
	c.facts.Untrusted, c.lateRead = true, true
	if c.beginRead(); c.said.Load() { // before that, and it was not remembered
		c.r.conversations.Reads.Flood(c.caller.Principal.Name, c.caller.Session)
	}
	if c.recordsFacts() {
		return // The record of the outcome has it.
	}
	ctx = context.WithoutCancel(ctx) // The caller may still read it.
	marks := c.unrecordedMarks(c.marks)
	if _, err := c.r.facts.recordMarks(ctx, c.caller, marks); err != nil {
		c.logFault("session facts", err)
		if err := c.r.facts.rememberUnstored(c.caller, marks); err != nil {
			c.logFault("session facts", err)
			c.result = sallyport.Err("what the call read cannot be recorded", sallyport.CodeNotAvailable)
			c.result.CallID = c.id
			c.cleanResult()
		}
	}
}

func (c *call) bringsFacts() bool { return c.facts.Private || c.facts.Untrusted }

// recordTaint records what the call brings in, before it runs, so that a call
// under way counts, and a kept result like one that was made. Where the store reads
// it in the record of the call, that has it: see recheckTaint.
func (c *call) recordTaint(ctx context.Context) bool {
	if !c.judged && !c.bringsFacts() {
		return true
	}
	c.beginRead()
	waited := c.hold.why != "" || c.role.requiresApproval(&c.entry.tool) // what was known may be old
	switch {
	case c.recordsFacts():
		return !waited || !c.judged || c.judgeAgain(ctx, func() ([]sallyport.FactMark, error) { return c.r.facts.knownMarks(ctx, c.caller) })
	case waited:
		return c.recordMarks(ctx, c.unrecordedMarks(nil))
	}
	marks := c.unrecordedMarks(c.marks)
	return len(marks) == 0 || c.recordMarks(ctx, marks)
}

// recordsFacts reports whether the record of the call says what it brings, for all
// who share the state.
func (c *call) recordsFacts() bool {
	return c.r.facts.recorded != nil && facts.IsRecordable(c.caller.Principal.Name)
}

// judgeAgain applies the flow rules to what is known by now.
func (c *call) judgeAgain(ctx context.Context, known func() ([]sallyport.FactMark, error)) bool {
	marks, err := known()
	if err != nil {
		return c.refuseUnknownFacts(ctx, err)
	}
	return c.applyFlowRules(ctx, marks)
}

// brought returns what the record of the call says that it brings, nil for nothing.
func (c *call) brought() *facts.Brought {
	if !c.bringsFacts() || !c.recordsFacts() {
		return nil
	}
	return &facts.Brought{Session: facts.Digest(c.caller.Session), Private: c.facts.Private, Untrusted: c.facts.Untrusted}
}

// keepUnrecorded keeps in memory what a call brings whose record cannot be kept.
func (c *call) keepUnrecorded() error {
	if c.brought() == nil {
		return nil
	}
	return c.r.facts.rememberUnstored(c.caller, c.unrecordedMarks(nil))
}

// recheckTaint applies the flow rules once more to what was recorded before the
// call's intent: of two calls that began at the same moment, the one whose intent is
// later sees the other here, in whatever process it is.
func (c *call) recheckTaint(ctx context.Context) bool {
	before := c.before
	if before == nil {
		return true
	}
	c.before = nil
	if !c.judged {
		known, err := before()
		if err != nil {
			c.loseReads(err)
		}
		c.noteMarks(known)
		return true
	}
	return c.judgeAgain(ctx, func() ([]sallyport.FactMark, error) { return c.r.facts.addUnstored(c.caller, before) }) && (c.hold.keys == "" || c.hold.keys == c.asked || c.awaitApproval(ctx) && c.checkStopped(ctx))
}

// watchBefore begins to gather what is recorded before the intent of the call, when
// a rule may depend on it, for this call or a later one.
func (c *call) watchBefore(ctx context.Context) (err error) {
	if (c.judged || c.facts.Untrusted) && c.recordsFacts() {
		c.before, err = c.r.facts.watchCall(ctx, c.caller, c.id)
	}
	if err != nil && !c.judged {
		c.loseReads(err)
		err = nil
	}
	return err
}

// loseReads says that it is not known what others read before the call.
func (c *call) loseReads(err error) {
	c.logFault("session facts", err)
	c.r.conversations.Reads.Lose(c.caller.Principal.Name, c.caller.Session)
}

// isLocalOperator reports whether the caller is the local user at the command
// line, whom the default rule would ask about themselves.
func (c *call) isLocalOperator() bool {
	return c.caller.Platform == sallyport.PlatformCLI && c.caller.Principal.Name == sallyport.LocalPrincipal
}

// appliedRule is the flow rule that is the strictest for a call.
type appliedRule struct {
	action sallyport.FlowAction
	key    string
	// concern says what of the call the rule is about.
	concern flowConcern
}

// flowRule returns the strictest rule for the call once untrusted content was read, and
// private data too.
func (c *call) flowRule(private, local bool) appliedRule {
	lists := &c.plan().flow
	pass := appliedRule{action: sallyport.FlowAllow}
	after := pass
	if !lists.allow {
		after = c.afterBoth(c.role.personality.Flow.AfterUntrustedPrivate, private, local)
	}
	switch {
	case lists.refuse:
		return appliedRule{sallyport.FlowRefuse, keyRefuse, concernCall}
	case after.action == sallyport.FlowRefuse:
		return after
	case lists.approve:
		return appliedRule{sallyport.FlowApprove, keyApprove, concernCall}
	default:
		return after
	}
}

// afterBoth returns what the rule about untrusted content and private data says of the
// call. One that is written is about the whole call. The default rule is about what the
// call carries; a call that cannot be taken back, or spends, needs no private data for
// it.
func (c *call) afterBoth(written sallyport.FlowAction, private, local bool) appliedRule {
	concern := c.flowConcern()
	final := concern == concernCall || slices.Contains(c.does(), effect.Spending)
	outward := c.facts.Outward || effect.CarriesOut(c.does())
	switch {
	case !private && !final, written != "" && !outward && !final, written == "" && (local || concern == concernNothing):
		return appliedRule{action: sallyport.FlowAllow}
	case written == "":
		return appliedRule{sallyport.FlowApprove, keyAfterBoth, concern}
	case written == sallyport.FlowAllow, written == sallyport.FlowApprove:
		return appliedRule{written, keyAfterBoth, concernCall}
	default: // refuse, or an unknown word
		return appliedRule{sallyport.FlowRefuse, keyAfterBoth, concernCall}
	}
}

// applyFlowRules applies the flow rules to the facts that are known. A call
// that they hold has a reason afterwards, which awaitApproval shows to people.
// Private data that the call itself may read counts like what was read
// before: its arguments can name what was not read yet.
func (c *call) applyFlowRules(ctx context.Context, known []sallyport.FactMark) bool {
	c.hold = c.above
	now := time.Now()
	private, untrusted := newestMark(known, sallyport.FactPrivate, now), newestMark(known, sallyport.FactUntrusted, now)
	if untrusted == nil {
		return true
	}
	if err := c.traceCarried(ctx, known, now); err != nil {
		return c.refuseUnknownFacts(ctx, err)
	}
	if done, allowed := c.applyArgumentRules(ctx); done {
		return allowed
	}
	rule := c.flowRule(private != nil || c.facts.Private, c.isLocalOperator())
	if rule.action == sallyport.FlowAllow {
		return true
	}
	var found *carried
	if rule.concern == concernArguments || rule.concern == concernPlaces {
		if c.carriesNothing() {
			return true
		}
		x, err := c.findCarried(ctx, &carrySearch{placesOnly: rule.concern == concernPlaces})
		switch {
		case err != nil:
			return c.refuseUnknownFacts(ctx, err)
		case x == nil:
			return true
		}
		found = x
	}
	what, why := c.flowReason(rule.key, private, untrusted)
	because := " because " + what + " before"
	if found != nil {
		why, because = found.reason(c)+"; "+why, because+", and argument "+found.pointer+" may come from there"
	}
	if rule.action == sallyport.FlowApprove {
		c.addHold(flowHold{why: why, because: because, key: rule.key, unread: found != nil && found.isUnread()})
		return true
	}
	return c.refuse(sallyport.Decision{
		Step: sallyport.StepApprove, Why: why, Source: c.role.sourceOf(rule.key), Fix: c.flowFix(rule.key),
	}, sallyport.CodePermissionDenied, "Permission denied: "+c.q.Tool+" may not run after "+what)
}

// betweenKeys stands between keys: names of arguments may have blanks.
const betweenKeys = "\n"

// applyArgumentRules applies what the role says of arguments that came out of untrusted
// content. It is done when the call is refused, or cannot be judged.
func (c *call) applyArgumentRules(ctx context.Context) (done, allowed bool) {
	if c.carriesNothing() || !c.rulesUntrusted() {
		return false, true
	}
	search := carrySearch{ruledOnly: true}
	x, err := c.findCarried(ctx, &search)
	switch {
	case err != nil:
		return true, c.refuseUnknownFacts(ctx, err)
	case x == nil:
		for _, x := range search.holding {
			c.addHold(flowHold{
				why: x.reason(c), because: " because argument " + x.pointer + " may come from untrusted content",
				key: x.key, keys: x.key + ".from_untrusted", unread: x.isUnread(),
			})
		}
		return false, true
	}
	return true, c.refuse(sallyport.Decision{
		Step: sallyport.StepGrant, Capability: "arguments", Resource: x.pointer, Why: x.reason(c),
		Source: c.ceilingSource(x.key), Fix: c.readFix(x.key, x.isUnread()),
	}, sallyport.CodePermissionDenied, "Argument "+x.pointer+" of "+c.q.Tool+" is outside the role's ceiling")
}

// recordMarks records marks and applies the flow rules again. Another call may
// have begun at the same moment: of the two, one sees the other here.
//
// When the store cannot take it, a call that no rule is about goes on, and what
// it brings in is kept in memory.
func (c *call) recordMarks(ctx context.Context, marks []sallyport.FactMark) bool {
	before, err := c.r.facts.recordMarks(ctx, c.caller, marks)
	if err != nil && !c.judged && ctx.Err() == nil {
		c.logFault("session facts", err)
		err = c.r.facts.rememberUnstored(c.caller, marks)
	}
	switch {
	case err != nil:
		return c.refuseUnknownFacts(ctx, err)
	case c.judged:
		return c.applyFlowRules(ctx, before)
	}
	c.noteMarks(before)
	return true
}

// noteMarks has the conversation notice what others read, before the mark of this call
// takes the place of theirs.
func (c *call) noteMarks(marks []sallyport.FactMark) {
	if c.facts.Untrusted {
		c.r.conversations.Reads.Reading(c.caller.Principal.Name, c.caller.Session, c.id, marks, time.Now())
	}
}

// unrecordedMarks returns the marks of the call that are not recorded yet, or
// not lately.
func (c *call) unrecordedMarks(known []sallyport.FactMark) (marks []sallyport.FactMark) {
	now, session := time.Now(), c.caller.Session != ""
	// What is kept of a session is kept of its principal.
	kept := func(f sallyport.Fact) bool {
		return slices.ContainsFunc(known, func(m sallyport.FactMark) bool {
			return m.Fact == f && m.Session == session && now.Sub(m.Time) < sallyport.FactStep
		})
	}
	add := func(brings bool, f sallyport.Fact) {
		if brings && !kept(f) {
			marks = append(marks, sallyport.FactMark{Fact: f, Tool: c.q.Tool, CallID: c.id, Time: now})
		}
	}
	add(c.facts.Private, sallyport.FactPrivate)
	add(c.facts.Untrusted, sallyport.FactUntrusted)
	return marks
}

// refuseUnknownFacts refuses a call when what was read before it cannot be
// known, or its own facts would be lost. A caller who went away is no fault.
func (c *call) refuseUnknownFacts(ctx context.Context, err error) bool {
	if c.refuseEnded(ctx, err, sallyport.StepApprove) {
		return false
	}
	c.logFault("session facts", err)
	return c.refuse(sallyport.Decision{
		Step: sallyport.StepApprove, Why: "what was read before cannot be told: " + err.Error(), Source: c.role.sourceOf("safety.flow"),
	}, sallyport.CodeNotAvailable, "The call was not made: what was read before it cannot be told (call "+c.id+")")
}
