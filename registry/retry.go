package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

// A tool that says it is idempotent is run again after a transient failure:
// what a second look a moment later may not find any more. Two retries bridge
// a restart of a server or a dropped connection; whatever takes longer is for
// the caller to wait for.
const (
	maxRetries = 2
	firstWait  = 100 * time.Millisecond // quadrupled each time, give or take a half
	// attemptChars bounds what the record keeps of the words of a failed
	// attempt.
	attemptChars = 500
)

// runWithRetries runs the tool until it does not fail or may not be run
// again, all under the call's deadline.
func (j *toolJob) runWithRetries() {
	if t := &j.call.entry.tool; !t.Idempotent || len(t.Capabilities.Input) > 0 { // no question is asked twice
		j.runOnce()
		return
	}
	given := *j.out // a tool may have changed its own
	wait := firstWait
	for n := 0; ; n++ {
		j.runOnce()
		j.end.retries = n
		next := withJitter(wait)
		if !j.end.transient || n == maxRetries || !hasTimeFor(&j.call.running, next) {
			return
		}
		j.call.noteAttempt(n+1, j.end.result.Error, next)
		if !sleepUnlessDone(&j.call.running, next) {
			return
		}
		wait *= 4
		again := given
		j.out = &again
	}
}

// noteAttempt adds a failed attempt to the trail. Words of a tool may hold a
// secret: they are cleaned before they are cut, so that no half is left.
func (c *call) noteAttempt(n int, why string, wait time.Duration) {
	clean, _ := output.Trim(c.cleaner().Text(why), attemptChars)
	c.addDecision(sallyport.Decision{
		Step: sallyport.StepRun,
		Why:  fmt.Sprintf("attempt %d failed, the next one follows after %v: %s", n, wait.Round(time.Millisecond), clean),
	})
}

// withJitter returns between half and one and a half times d, so that callers
// who failed together do not come back together.
func withJitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// hasTimeFor reports whether there is time left after a wait. When there is
// none, the failure is a better answer than a timeout.
func hasTimeFor(ctx context.Context, wait time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > wait
}

// sleepUnlessDone waits, and reports false when the context ends first.
func sleepUnlessDone(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// isTransient reports whether a failure may be gone in a moment: a connection
// that broke or was not taken, an answer that ended early or did not come in
// time. A refusal stays one, and so does a name that is not found.
func isTransient(err error) bool {
	if e, ok := errors.AsType[*sallyport.Error](err); ok && e.Code != sallyport.CodeExecutionFailed {
		return false
	}
	for _, kind := range [...]error{
		io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.ECONNABORTED, syscall.EPIPE,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
