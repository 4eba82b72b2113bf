package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/deadline"
)

// registerRun registers the call, so that it ends when its caller may not
// call any more, while it waits or runs. It costs a call that is over at once
// next to nothing: a context of its own would cost more than the other steps
// together. Call r.runs.remove when it has an answer.
func (c *call) registerRun() {
	c.entered = c.newRun(calling)
	c.entered.call = c
	c.r.runs.add(&c.entered)
}

func (c *call) endRun(e *Ended) {
	c.ending.Store(e)
	if running := c.ender.Load(); running != nil {
		running.Cancel()
	}
}

// endWith says which context ends what the call does from now on.
func (c *call) endWith(running *deadline.Context) {
	c.ender.Store(running)
	if c.ending.Load() != nil {
		running.Cancel()
	}
}

// endedSuffix says why the gate ended the call, for the operator, as the end
// of a sentence.
func (c *call) endedSuffix() string {
	if e := c.ending.Load(); e != nil {
		return ": " + e.Why
	}
	return ""
}

// untilEnded returns a context that also ends when the gate has ended the call. Only what
// asks for its error learns that.
func (c *call) untilEnded(ctx context.Context) context.Context {
	c.ended = endedContext{ctx, c}
	return &c.ended
}

// endedContext is the context of a call until the gate has ended it.
type endedContext struct {
	context.Context
	call *call
}

// Err implements [context.Context].
func (e *endedContext) Err() error {
	if e.call.ending.Load() != nil {
		return errGone
	}
	return e.Context.Err()
}

// refuseEnded refuses a call that has ended, by its caller or by the gate, and reports
// whether it has: that is why an error came.
func (c *call) refuseEnded(ctx context.Context, err error, step sallyport.Step) bool {
	how := endReason(ctx, ctx, 0)
	if e := c.ending.Load(); e != nil && errors.Is(err, errGone) {
		how = "was ended: " + e.Error()
	}
	if how == "" {
		return false
	}
	c.refuse(sallyport.Decision{Step: step, Why: how}, sallyport.CodeExecutionFailed, "The call "+how)
	return true
}

// newRun describes something of this call that runs.
func (c *call) newRun(what string) Run {
	return Run{
		What: what, CallID: c.id, Tool: c.q.Tool, Session: c.session, SessionKey: c.sessionKey, Principal: c.caller.Principal,
		Personality: c.caller.Personality, Platform: c.caller.Platform, Since: c.start,
	}
}

// outliveCall implements [sallyport.Call.Outlive].
func (c *call) outliveCall(what string, shared bool, end func(why error)) (over func()) {
	return c.registerOutliving(what, shared, end, nil)
}

// registerOutliving registers what the call leaves running, so that it ends
// when it may not run any more. What serves an upstream server serves every
// session of its principal, and every principal where it is shared.
func (c *call) registerOutliving(what string, shared bool, end func(why error), narrow func(sallyport.NetworkGrant) bool) (over func()) {
	run := new(c.newRun(what))
	run.cleaner = c.cleaner()
	if server := c.entry.tool.Server(); server != "" {
		run.Tool, run.Session, run.SessionKey = ServerRun(server), "", ""
	}
	if shared {
		run.Principal.Name = ""
	}
	run.scope, run.narrow = c.scope, narrow
	run.end = func(e *Ended) { go end(e) }
	c.r.runs.add(run)
	c.reviewReplaced(run)
	return func() { c.r.runs.remove(run) }
}

// reviewReplaced checks what the call begins against the rules in force, when
// another registry has replaced its own since.
func (c *call) reviewReplaced(run *Run) {
	if c.r.workers.isClosing() {
		c.r.runs.repeatReview(run)
	}
}

// ServerRun is the [Run.Tool] of what runs for an upstream server.
func ServerRun(server string) string { return "mcp__" + server + "__*" }

// Holds says what a run would be granted now, if it began as a call of a tool, or
// why it would not be let begin.
func (r *Registry) Holds(run *Run, tool string) (now *sallyport.Grant, why string) {
	e := r.findEntry(tool)
	if e == nil {
		return nil, "there is no tool " + tool + " any more"
	}
	role := r.roleFor(run.Personality)
	if !run.Principal.MayTake(run.Personality) {
		return nil, "the principal may not take the role " + run.Personality + " any more"
	}
	if d := role.decideVisible(&e.tool, nil); !d.Allowed {
		return nil, d.Why
	}
	for _, permission := range e.tool.Permissions {
		if !slices.Contains(run.Principal.Permissions, permission) {
			return nil, "the permission " + permission + " is gone"
		}
	}
	scope, err := r.scopeFor(e, role)
	if err != nil {
		return nil, "its grant cannot be resolved: " + err.Error()
	}
	return scope.Grant(), ""
}
