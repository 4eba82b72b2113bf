package registry

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/sallyport/sallyport"
)

// A tool that says it is idempotent is run again after a transient failure:
// what a second look a moment later may not find any more. Two retries bridge
// a restart of a server or a dropped connection; whatever takes longer is for
// the caller to wait for.
const (
	maxRetries = 2
	firstWait  = 100 * time.Millisecond // quadrupled each time
)

// run runs the tool until it does not fail or may not be run again, all under
// the call's deadline.
func (j *job) run() {
	if !j.tool.Idempotent {
		j.once()
		return
	}
	given := *j.out // a tool may have changed its own
	wait := firstWait
	for n := 0; ; n++ {
		j.once()
		j.end.retries = n
		if !j.end.transient || n == maxRetries || !pause(j.ctx, wait) {
			return
		}
		wait *= 4
		again := given
		j.out = &again
	}
}

// pause waits, and reports false when the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// transient reports whether a failure may be gone in a moment: a connection
// that broke or was not taken, an answer that ended early or did not come in
// time. A refusal stays one, and so does a name that is not found.
func transient(err error) bool {
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
