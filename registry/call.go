package registry

import (
	"context"

	"github.com/sallyport/sallyport"
)

// Call decides one call, runs the tool when every step allows it, and returns
// a result that is validated, cleaned, bounded and recorded. It never panics
// and never returns an error: a refusal is a result with a code. Cancelling
// the context cancels the tool.
func (r *Registry) Call(ctx context.Context, caller *sallyport.Caller, q sallyport.Request) sallyport.Result {
	caller = orUnknownCaller(caller)
	return r.runCall(ctx, caller, q, r.batchBudget(caller))
}

// Reject records a request that an edge found broken before it was one, and
// returns the refusal: input_invalid, with why as its text.
func (r *Registry) Reject(ctx context.Context, caller *sallyport.Caller, q sallyport.Request, why string) sallyport.Result {
	c := r.newCall(caller, q, r.batchBudget(caller))
	ctx = r.o.Traces.BeginCall(ctx)
	c.refuse(sallyport.Decision{Step: sallyport.StepDecode, Why: why}, sallyport.CodeInputInvalid, why)
	return c.finishRefused(ctx)
}

// orUnknownCaller replaces a missing caller by one without a name, which is
// refused.
func orUnknownCaller(c *sallyport.Caller) *sallyport.Caller {
	if c == nil {
		return &sallyport.Caller{}
	}
	return c
}

// runCall runs the steps of one call, in order. A step that refuses has set
// the result and returns false.
func (r *Registry) runCall(ctx context.Context, caller *sallyport.Caller, q sallyport.Request, budget int) sallyport.Result {
	c := r.newCall(caller, q, budget)
	ctx = r.o.Traces.BeginCall(ctx)
	if c.late = !r.workers.acquire(); !c.late {
		defer r.workers.release()
	}
	c.registerRun()
	defer r.runs.remove(&c.entered)
	defer c.endRead()
	ctx, release := endWithDelegation(ctx, c.sub)
	defer release()
	switch {
	case !c.decodeArgs(),
		!c.findTool(),
		!c.checkStopped(ctx),
		!c.checkDelegation(),
		!c.assumeRole(),
		!c.checkVisible(),
		!c.checkTask(ctx),
		!c.checkReady(),
		!c.checkBackends(),
		!c.checkConfinement(),
		!c.checkPermissions(),
		!c.validateArgs(),
		!c.checkResourceURI(),
		!c.checkCeiling(ctx):
		return c.finishRefused(ctx)
	case caller.DryRun:
		return c.describeDryRun(ctx)
	case !c.consumeLimit(ctx),
		!c.resolveGrant(),
		!c.checkTaint(ctx),
		!c.awaitApproval(ctx),
		!c.recordTaint(ctx),
		!c.awaitNewApproval(ctx),
		!c.checkStopped(ctx),
		!c.consumeSums(ctx):
		return c.finishRefused(ctx)
	case c.answerFromCache():
		if !c.settleKept() {
			return c.finishRefused(ctx)
		}
	case !c.reserveCost(ctx), !c.recordIntent(ctx), !c.recheckTaint(ctx), !c.runTool(ctx):
		return c.finishRefused(ctx)
	default:
		c.checkReturns()
		c.checkParts(ctx)
		c.reduceResult()
		c.cleanResult()
		c.cacheResult()
	}
	c.trimResult()
	c.rememberRead(ctx)
	c.wrapUntrusted()
	return c.recordOutcome(ctx)
}
