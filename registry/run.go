package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// grace is how long a tool may go on after its deadline before the gate
// answers for it. A tool that honours its context is done long before; one
// that does not keeps its goroutine until it returns, and its accessors are
// already dead.
const grace = time.Second

// runOutcome is what the goroutine of a tool hands back.
type runOutcome struct {
	result sallyport.Result
	failed bool // the tool returned an error, which the result tells
	own    bool // and it is an accessor's own text
	scoped bool // and a refusal
	// transient says that running the tool again may help, retries how often
	// that was done.
	transient bool
	retries   int
	panic     any
	stack     []byte
}

// runTool binds the accessors, calls the tool, all under one deadline, and turns
// whatever happens into a result. When it returns, the context of the call is over,
// and no progress comes any more.
func (c *call) runTool(ctx context.Context) bool {
	limit := c.entry.tool.Timeout
	if limit == 0 {
		limit = c.r.o.Timeout
	}
	caller := ctx
	clock := c.startRunning(ctx, limit)
	defer c.stopRunning(clock)
	ctx = &c.running
	c.endWith(&c.running)
	if !c.bindAccessors(ctx, clock) {
		return false
	}
	defer c.passProgress().close()

	c.job.call, c.job.out = c, &c.out
	o := &c.job.end
	if c.entry.tool.HonoursDeadline {
		c.job.runWithRetries()
	} else {
		o = c.awaitJob(ctx)
	}
	c.finalizeOutcome(c.runEndReason(caller, ctx, limit), o)
	c.noteSymptoms(ctx)
	return true
}

// awaitJob runs the tool on another goroutine, and answers for it when it goes on
// after the context of the call.
func (c *call) awaitJob(ctx context.Context) *runOutcome {
	j := &c.job
	signals := &c.r.workers.signals
	j.done = signals.Get().(chan struct{})
	c.r.workers.startJob(j)
	select {
	case <-j.done:
	case <-ctx.Done():
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-j.done:
		case <-timer.C:
			return &runOutcome{failed: true} // the job keeps its own
		}
	}
	signals.Put(j.done)
	return &j.end
}

// runEndReason is endReason for a call that the gate may have ended.
func (c *call) runEndReason(caller, ctx context.Context, limit time.Duration) string {
	if e := c.ending.Load(); e != nil && ctx.Err() != nil {
		return "was ended: " + e.Error()
	}
	return endReason(caller, ctx, limit)
}

// endReason says how the context of a call ended, "" when it has not.
func endReason(caller, ctx context.Context, limit time.Duration) string {
	switch {
	case ctx.Err() == nil:
		return ""
	case errors.Is(caller.Err(), context.DeadlineExceeded):
		return "timed out: the caller's deadline passed"
	case caller.Err() != nil:
		if e, ok := errors.AsType[*sallyport.Error](context.Cause(caller)); ok {
			return "was ended: " + e.Detail
		}
		return "was cancelled by the caller"
	case context.Cause(ctx) == error(errGone):
		return "was ended: the caller may not call any more"
	default:
		return "timed out after " + limit.String()
	}
}

// runOnce calls the tool and hands its outcome over, whether it returns,
// panics or ends its goroutine. Its error is asked for its text here too: a
// nil pointer in an error is a panic of the tool's.
func (j *toolJob) runOnce() {
	j.end.panic = "the tool ended its goroutine"
	defer func() {
		if v := recover(); v != nil {
			j.end = runOutcome{panic: v, stack: debug.Stack()}
		}
	}()
	res, err := j.call.entry.tool.Run(&j.call.running, j.out)
	if err == nil {
		j.end = runOutcome{result: res}
		return
	}
	source, cost := res.Source, res.CostUSD
	res = sallyport.ErrorResult(err)
	res.Source, res.CostUSD = source, cost
	e, coded := errors.AsType[*sallyport.Error](err)
	refused := coded && e.Code.Scoped()
	j.end = runOutcome{
		result: res, failed: true, scoped: refused,
		transient: isTransient(err),
		own:       coded && isGateText(e),
	}
}

// isGateText reports whether an error is worded by the gate, an accessor or
// the tool's own code, and so no output of others: refusals, stale writes,
// missing files, secrets that cannot be had, faults of the arguments, and what is not
// available by name.
func isGateText(e *sallyport.Error) bool {
	if reach.IsSecretFailure(e) {
		return true
	}
	switch e.Code {
	case sallyport.CodeStaleWrite, sallyport.CodeInputInvalid:
		return true
	case sallyport.CodeNotAvailable:
		return e.Resource != ""
	default:
		return e.Code.Scoped() || errors.Is(e, fs.ErrNotExist)
	}
}

// finalizeOutcome turns the tool's outcome into the result. What a panic says
// stays in the log; a deadline or cancellation is named as such.
func (c *call) finalizeOutcome(ended string, o *runOutcome) {
	d := sallyport.Decision{Step: sallyport.StepRun}
	res := o.result
	switch {
	case o.panic != nil:
		c.logFault("tool panicked", o.panic, "stack", string(c.cleaner().Text(string(o.stack))))
		d.Why = "the tool panicked"
		c.bare, c.unfinished = true, true
		res = sallyport.Err("The tool failed unexpectedly (call "+c.id+")", sallyport.CodeExecutionFailed)
	case o.failed && ended != "":
		d.Why = ended + c.endedSuffix()
		c.bare, c.unfinished = true, true
		res = sallyport.Err("The call "+ended, sallyport.CodeExecutionFailed)
	case o.failed:
		d.Why = "the tool returned an error"
		// What an accessor says is not untrusted output: it begins with
		// its code and is not wrapped.
		c.bare = o.own
		if o.scoped {
			c.stage = sallyport.StepAccess
			d.Why = "the tool was refused: " + res.Error
		}
		if res.Code == sallyport.CodeNotAvailable {
			c.explainMissing(&d, c.q.Tool)
		}
	case !res.OK:
		d.Why = "the tool failed"
	default:
		d.Allowed = true
	}
	res = stripGateFields(res)
	res.CallID, res.Crashed = c.id, o.panic != nil
	c.result = res
	if d.Allowed && o.retries == 0 {
		c.allowStep(d.Step)
		return
	}
	if o.retries > 0 {
		d.Why = strings.TrimPrefix(fmt.Sprintf("%s; run %d times because of transient failures", d.Why, o.retries+1), "; ")
	}
	c.addDecision(d)
}
