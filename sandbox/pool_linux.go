package sandbox

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// spawnThread starts every helper from one thread, which lives as long as the
// runner: the kernel delivers the parent death signal when the thread that
// started a child ends, not when the process does (prctl(2),
// PR_SET_PDEATHSIG).
type spawnThread struct {
	jobs chan func()
	done chan struct{}
}

// helperSlack is the timer slack of helpers and the launcher, in nanoseconds.
const helperSlack = 5_000_000

func newSpawnThread() *spawnThread {
	s := &spawnThread{make(chan func()), make(chan struct{})}
	go func() {
		defer close(s.done)
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		// What it starts inherits how late a sleep may end. Only the monitor
		// of Go's runtime sleeps there, every 20 µs for want of work.
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, helperSlack, 0, 0, 0)
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

func (s *spawnThread) run(f func()) {
	done := make(chan struct{})
	s.jobs <- func() { defer close(done); f() }
	<-done
}

func (s *spawnThread) close() {
	close(s.jobs)
	<-s.done
}

// helperPool keeps helpers warm.
type helperPool struct {
	r *Runner

	mu     sync.Mutex
	idle   []*readyHelper
	making int
	// starting counts the children that are being started.
	starting int
	soon     *time.Timer // nil unless a refill is planned
	closed   bool
	wg       sync.WaitGroup
}

// refillPause is how long a pool waits before it makes new helpers, and
// refillPatience how often it waits once more because children are being started:
// those get the processors first.
const (
	refillPause    = 20 * time.Millisecond
	refillPatience = 5
)

// helperOrder is a helper for a child that is being prepared.
type helperOrder struct {
	p      *helperPool
	shared bool            // as whom the helper runs; see childUsers
	cold   chan coldHelper // nil when a helper was warm
}

// coldHelper is a helper that was started for one child, or why it was not.
type coldHelper struct {
	h   *readyHelper
	err error
}

// orderHelper has a helper started when none is warm, while the caller finds
// out what is to become of it. One of fetchHelper and cancel is to follow.
func (p *helperPool) orderHelper() *helperOrder {
	shared := p.r.openUsers().shared.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting++
	o := &helperOrder{p: p, shared: shared}
	if p.findIdle(o.shared) < 0 {
		started := make(chan coldHelper, 1)
		o.cold = started
		p.wg.Go(func() {
			h, err := p.r.startHelperAs(shared)
			started <- coldHelper{h, err}
		})
	}
	return o
}

// fetchHelper returns a helper, a warm one if there is one, and has the next
// one made. A cold one still builds its tree.
func (o *helperOrder) fetchHelper() (*readyHelper, error) {
	p := o.p
	if o.cold != nil {
		p.mu.Lock()
		p.scheduleRefill()
		p.mu.Unlock()
		c := <-o.cold
		return c.h, c.err
	}
	if h := p.popWarm(o.shared); h != nil {
		return h, nil
	}
	return p.r.startHelperAs(o.shared)
}

// switchKind has fetchHelper return a helper of the other kind.
func (o *helperOrder) switchKind() {
	o.cancel()
	o.cold, o.shared = nil, !o.shared
}

// cancel gives back what was ordered.
func (o *helperOrder) cancel() {
	if o.cold == nil {
		return
	}
	started := o.cold
	o.p.wg.Go(func() {
		if c := <-started; c.h != nil {
			c.h.discard()
		}
	})
}

// finishStart records that the child runs, or never will.
func (o *helperOrder) finishStart() {
	o.p.mu.Lock()
	o.p.starting--
	o.p.mu.Unlock()
}

// findIdle returns the index of a warm helper that runs as the user of the
// gate, or as one of its own; -1 is none. The caller holds the lock.
func (p *helperPool) findIdle(shared bool) int {
	for i := len(p.idle) - 1; i >= 0; i-- {
		if (p.idle[i].user == nil) == shared {
			return i
		}
	}
	return -1
}

// popWarm removes and returns a warm helper, nil when there is none.
func (p *helperPool) popWarm(shared bool) *readyHelper {
	now := p.r.systemStamp()
	for {
		p.mu.Lock()
		p.scheduleRefill()
		i := p.findIdle(shared)
		if i < 0 {
			p.mu.Unlock()
			return nil
		}
		h := p.idle[i]
		p.idle = slices.Delete(p.idle, i, i+1)
		p.mu.Unlock()
		if h.stamp == now {
			return h
		}
		h.discard()
	}
}

// scheduleRefill has the pool filled after a pause. The caller holds the lock.
func (p *helperPool) scheduleRefill() {
	if p.soon != nil || p.closed || p.r.o.Warm <= 0 {
		return
	}
	waited := 0
	p.soon = time.AfterFunc(refillPause, func() {
		p.mu.Lock()
		if p.starting > 0 && waited < refillPatience && p.soon != nil {
			waited++
			p.soon.Reset(refillPause)
			p.mu.Unlock()
			return
		}
		p.soon = nil
		p.mu.Unlock()
		p.refill()
	})
}

// refill makes helpers until enough are warm or on their way, as many at once
// as there are processors.
func (p *helperPool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && p.making < runtime.GOMAXPROCS(0) && len(p.idle)+p.making < p.r.o.Warm {
		p.making++
		p.wg.Go(p.addHelper)
	}
}

// addHelper makes one helper and goes on with the next.
func (p *helperPool) addHelper() {
	ctx, cancel := context.WithTimeout(context.Background(), helperWait)
	defer cancel()
	h, err := p.r.newReadyHelper(ctx)
	p.mu.Lock()
	p.making--
	keep := err == nil && !p.closed
	if keep {
		p.idle = append(p.idle, h)
	}
	p.mu.Unlock()
	switch {
	case err != nil:
		// The next child tries again.
		p.r.logger.Warn("sandbox: no helper could be kept warm", "error", err)
	case !keep:
		h.discard()
	default:
		p.refill()
	}
}

// setWarm sets how many helpers stay warm.
func (p *helperPool) setWarm(n int) {
	p.mu.Lock()
	p.r.o.Warm = n
	p.mu.Unlock()
	p.refill()
}

func (p *helperPool) close() {
	p.mu.Lock()
	p.closed = true
	if p.soon != nil {
		p.soon.Stop()
	}
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, h := range idle {
		h.discard()
	}
	p.wg.Wait()
}
