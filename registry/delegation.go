package registry

import (
	"context"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/delegation"
)

// narrowCaller returns a caller that is a sub-agent with what it may be, and under which
// delegation it calls; nil for one that is over, and for any other caller.
func (r *Registry) narrowCaller(caller *sallyport.Caller) (*sallyport.Caller, *delegation.Delegation) {
	if caller.Principal.Delegation == "" {
		return caller, nil
	}
	sub := r.o.Delegations.Find(caller.Principal.Delegation)
	if sub == nil {
		return caller, nil
	}
	return sub.Narrow(caller), sub
}

// checkDelegation refuses a sub-agent whose delegation is over, or whose budget is used
// up, and counts the call.
func (c *call) checkDelegation() bool {
	if c.caller.Principal.Delegation == "" {
		return true
	}
	why := "the task is over"
	if c.sub != nil {
		// A description of a call has no effect, and is none of the calls of a budget.
		if c.caller.DryRun {
			return true
		}
		why = c.sub.Admit(time.Now())
	}
	return why == "" || c.refuseTask(why)
}

// refuseTask refuses a call of a sub-agent that its task does not allow.
func (c *call) refuseTask(why string) bool {
	d := sallyport.Decision{Step: sallyport.StepLimit, Why: why + ", by call " + c.caller.Principal.Delegation}
	if c.sub != nil {
		d.Fix = "give the task more, up to task.calls, task.cost_usd and task.timeout of the configuration"
	}
	return c.refuse(d, sallyport.CodePermissionDenied, "Permission denied: "+why)
}

// endWithDelegation returns a context that ends with a delegation, too; nil is none. The
// caller calls release.
func endWithDelegation(ctx context.Context, sub *delegation.Delegation) (_ context.Context, release func()) {
	if sub == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(sub.Context(), func() { cancel(context.Cause(sub.Context())) })
	return ctx, func() { stop(); cancel(nil) }
}

// permitTool reports whether every task of a list lets a tool be used.
func permitTool(tasks []sallyport.Task, tool *sallyport.Tool) bool {
	return !slices.ContainsFunc(tasks, func(t sallyport.Task) bool { return !permitsTool(&t, tool) })
}
