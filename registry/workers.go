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

// job is one run of a tool.
type job struct {
	ctx  context.Context
	tool *sallyport.Tool
	out  *sallyport.Call
	end  outcome       // set before done
	done chan struct{} // buffered: nobody may be waiting any more
}

// workers runs jobs, each at once: on a waiting goroutine, else on a new one.
// The zero value is not usable.
type workers struct {
	jobs chan *job
	quit chan struct{}
	idle chan struct{} // a token per waiting goroutine

	mu     sync.Mutex
	busy   int  // calls and jobs under way, and goroutines
	closed bool // no call may begin
	empty  chan struct{}
}

func newWorkers() *workers {
	return &workers{
		jobs: make(chan *job), quit: make(chan struct{}),
		idle: make(chan struct{}, maxIdle), empty: make(chan struct{}),
	}
}

// enter counts a call in; false means that the registry is closed. Every true
// is followed by one leave.
func (w *workers) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.busy++
	return true
}

// add counts a goroutine in. The call that starts it is counted, so that the
// count cannot be zero.
func (w *workers) add() {
	w.mu.Lock()
	w.busy++
	w.mu.Unlock()
}

func (w *workers) leave() {
	w.mu.Lock()
	w.busy--
	if w.closed && w.busy == 0 {
		close(w.empty)
	}
	w.mu.Unlock()
}

// do starts a job and does not wait for it.
func (w *workers) do(j *job) {
	select {
	case w.jobs <- j:
	default:
		w.add()
		go func() {
			defer w.leave()
			w.work(j)
		}()
	}
}

// work runs a job, then those that come while it may wait.
func (w *workers) work(j *job) {
	for {
		j.run()
		select {
		case w.idle <- struct{}{}:
		default:
			return // enough others wait
		}
		select {
		case j = <-w.jobs:
			<-w.idle
		case <-w.quit:
			<-w.idle
			return
		}
	}
}

// close lets no further call begin, and waits until neither a call nor a tool
// runs, or the context ends.
func (w *workers) close(ctx context.Context) error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.quit)
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
