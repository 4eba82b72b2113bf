package registry

import (
	"context"
	"errors"
	"sync"

	"github.com/sallyport/sallyport"
)

// maxIdle is how many goroutines wait for the next call. A goroutine that has
// run a tool has a stack of the right size; a fresh one would copy its stack
// several times per call, which costs more than the rest of the gate.
const maxIdle = 16

// toolJob is one run of the tool of a call.
type toolJob struct {
	call *call
	out  *sallyport.Call
	end  runOutcome    // set before done
	done chan struct{} // buffered: the caller may have gone
}

// workerPool runs jobs, each at once: on a waiting goroutine, else on a new
// one. The zero value is not usable.
type workerPool struct {
	mu     sync.Mutex
	idle   []chan *toolJob // the waiting goroutines, the last to come first
	busy   int             // calls and goroutines under way
	closed bool            // no call may begin
	empty  chan struct{}
	// closing is closed once nothing may wait for people any more: at the
	// latest when close begins, so that they do not keep it up.
	closing   chan struct{}
	closeOnce sync.Once
	// signals are the channels of jobs that were heard of, and so are empty.
	signals sync.Pool
}

func newWorkerPool() *workerPool {
	return &workerPool{
		empty: make(chan struct{}), closing: make(chan struct{}),
		signals: sync.Pool{New: func() any { return make(chan struct{}, 1) }},
	}
}

// acquire counts a call in; false means that the registry is closed. Every
// true is followed by one release.
func (w *workerPool) acquire() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.busy++
	return true
}

// release counts a call or goroutine out.
func (w *workerPool) release() {
	w.mu.Lock()
	w.busy--
	if w.closed && w.busy == 0 {
		close(w.empty)
	}
	w.mu.Unlock()
}

// startJob starts a job and does not wait for it. The call that does it is
// counted, so that the count cannot be zero.
func (w *workerPool) startJob(j *toolJob) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		next := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		next <- j
		return
	}
	w.busy++
	w.mu.Unlock()
	go func() {
		defer w.release()
		w.runJobs(j)
	}()
}

// runJobs runs a job, then those that come while it may wait. It is listed as
// waiting before the gate hears that the job is done, so that the next call
// of the same caller finds it.
func (w *workerPool) runJobs(j *toolJob) {
	jobs := make(chan *toolJob, 1)
	defer func() {
		if j != nil { // the tool ended the goroutine
			j.done <- struct{}{}
		}
	}()
	for j != nil {
		j.runWithRetries()
		waits := w.markIdle(jobs)
		j.done <- struct{}{}
		j = nil
		if waits {
			j = <-jobs
		}
	}
}

// markIdle lists a goroutine as waiting, unless enough others wait.
func (w *workerPool) markIdle(jobs chan *toolJob) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) >= maxIdle {
		return false
	}
	w.idle = append(w.idle, jobs)
	return true
}

// close lets no further call begin, and waits until neither a call nor a tool
// runs, or the context ends.
func (w *workerPool) close(ctx context.Context) error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		w.stopWaiting()
		for _, jobs := range w.idle {
			jobs <- nil
		}
		w.idle = nil
		if w.busy == 0 {
			close(w.empty)
		}
	}
	w.mu.Unlock()
	select {
	case <-w.empty:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("tools still run"), ctx.Err())
	}
}

// stopWaiting ends every wait for people, now and later.
func (w *workerPool) stopWaiting() { w.closeOnce.Do(func() { close(w.closing) }) }

// isClosing reports whether stopWaiting or close was called.
func (w *workerPool) isClosing() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}

// withClosing returns a context that also ends when nothing may wait for
// people any more. The caller calls stop.
func (w *workerPool) withClosing(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	if w.isClosing() {
		cancel() // at once: no question is asked in vain
	}
	go func() {
		select {
		case <-w.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
