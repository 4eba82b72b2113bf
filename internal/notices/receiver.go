package notices

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
)

const (
	// maxQueued bounds what waits for one receiver. When more comes, the oldest goes.
	maxQueued = 256
	// maxTries bounds how often one notice is tried.
	maxTries = 12
)

// pauses are how long a sender waits.
type pauses struct {
	// first is the pause after the first try that failed; each following one is twice as
	// long, up to most. Half of each is left to chance.
	first, most time.Duration
	// asked bounds the pause that a receiver asks for.
	asked time.Duration
	// look is the pause between two looks at held calls.
	look time.Duration
	// try and mail bound one try of a webhook and of mail.
	try, mail time.Duration
	// record is the pause between two records of what was lost.
	record time.Duration
}

func (p pauses) withDefaults() pauses {
	p.first, p.most = cmp.Or(p.first, time.Second), cmp.Or(p.most, 5*time.Minute)
	p.asked, p.look, p.try = cmp.Or(p.asked, 10*time.Minute), cmp.Or(p.look, lookPause), cmp.Or(p.try, 10*time.Second)
	p.mail, p.record = cmp.Or(p.mail, time.Minute), cmp.Or(p.record, time.Minute)
	return p
}

// pauseAfter returns the pause after a number of tries in a row that failed.
func (p pauses) pauseAfter(fails int) time.Duration {
	d := p.first
	for range min(fails-1, 30) {
		d = min(2*d, p.most)
	}
	return d/2 + mathrand.N(d/2+1)
}

// errGone: the receiver wants no more notices.
var errGone = errors.New("it answers 410: nothing more is sent to it until the configuration is loaded again")

// errFolded: one mail tells of this notice and of others.
var errFolded = errors.New("told together with others")

// laterError is a failure after which the receiver asks for a pause.
type laterError struct {
	error
	pause time.Duration
}

// channel is the way to a receiver. It is used by one goroutine.
type channel interface {
	// sendOne tries to send a notice once.
	sendOne(ctx context.Context, n *notice) error
	closeIdle()
}

// receiver is one webhook or mail address, with what waits for it.
type receiver struct {
	name   string
	key    string // names it in what is remembered
	own    string // tells it from that of another server, or of another configuration
	c      config.Notice
	s      *Sender
	way    channel
	cancel context.CancelFunc
	wake   chan struct{} // holds one when something was added
	flush  chan struct{} // closed when the sender ends
	done   chan struct{} // closed when the goroutine has ended

	mu         sync.Mutex
	queue      []*notice // the oldest first
	sent, lost int64
	recorded   int64 // of lost
	gone       bool  // it wants no more notices
	full       bool  // notices are dropped, and that was said
	behind     bool  // calls wait of which it was not told, and for which there was no room
}

// startReceiver starts the goroutine of a receiver.
func (s *Sender) startReceiver(name string, c config.Notice, way channel) *receiver {
	r := &receiver{name: name, c: c, s: s, way: way, wake: make(chan struct{}, 1), flush: make(chan struct{}), done: make(chan struct{})}
	r.key, r.own = r.nameKey(), rand.Text()
	ctx, cancel := context.WithCancel(s.ctx)
	r.cancel = cancel
	s.working.Go(func() {
		defer close(r.done)
		defer r.way.closeIdle()
		defer cancel()
		r.runQueue(ctx)
		r.dropRest()
	})
	return r
}

// addNotice queues a notice unless it waits already. It never waits: when the queue is
// full, the oldest goes.
func (r *receiver) addNotice(n *notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isQueued(n.id) {
		return
	}
	if r.gone {
		r.lost++
		return
	}
	r.queue = append(r.queue, n)
	if len(r.queue) > maxQueued {
		r.queue = append([]*notice(nil), r.queue[1:]...)
		r.lost++
		if !r.full {
			r.full = true
			r.s.o.Logger.Warn("a receiver of notices is behind: the oldest notices are dropped until it has caught up", "notice", r.name)
		}
	}
	r.wakeUp()
}

// addWaiting queues the notices of calls that wait of which the receiver was not told, as
// far as there is room.
func (r *receiver) addWaiting(waiting []sallyport.Approval, known map[toldKey]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = false
	for i := range waiting {
		if r.gone || !r.wantsEvent(config.NoticeHeld, &waiting[i]) {
			continue
		}
		id := nameNotice(waiting[i].ID, config.NoticeHeld)
		if known[toldKey{id, r.key}] || r.isQueued(id) {
			continue
		}
		if r.behind = len(r.queue) >= maxQueued; r.behind {
			return
		}
		r.queue = append(r.queue, newNotice(config.NoticeHeld, &waiting[i], r.c.Arguments))
		r.wakeUp()
	}
}

// hasRoomAgain reports whether calls for which there was no room can be queued.
func (r *receiver) hasRoomAgain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.behind && len(r.queue) <= maxQueued/2
}

// isQueued reports whether a notice waits. The caller holds the lock.
func (r *receiver) isQueued(id string) bool {
	return slices.ContainsFunc(r.queue, func(have *notice) bool { return have.id == id })
}

// wakeUp lets the goroutine look at the queue.
func (r *receiver) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// takeNext returns the next notice; nil when none waits.
func (r *receiver) takeNext() *notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		r.full = false
		return nil
	}
	n := r.queue[0]
	r.queue = r.queue[1:]
	return n
}

// putBack queues a notice that is tried again, behind the others: one that a receiver
// refuses holds up no other.
func (r *receiver) putBack(n *notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) >= maxQueued {
		r.lost++
		return
	}
	r.queue = append(r.queue, n)
}

// runQueue sends what is queued until ctx ends, or the sender does.
func (r *receiver) runQueue(ctx context.Context) {
	fails := 0
	for ctx.Err() == nil {
		n := r.takeNext()
		if n == nil {
			select {
			case <-ctx.Done():
				return
			case <-r.flush:
				// What was queued before the end is there.
				if n = r.takeNext(); n == nil {
					return
				}
			case <-r.wake:
				continue
			}
		}
		if why := n.checkUse(time.Now()); why != nil {
			r.giveUp(n, why)
			continue
		}
		err := r.sendOnce(ctx, n)
		if err == nil || ctx.Err() != nil || r.isGone() {
			fails = 0
			continue
		}
		pause := r.s.o.pauses.first
		if !errors.Is(err, errSending) {
			fails++
			pause = r.s.o.pauses.pauseAfter(fails)
			if fails == 1 {
				r.s.o.Logger.Warn("a notice cannot be sent now", "notice", r.name, "id", n.id, "error", err)
			}
		}
		if later, ok := errors.AsType[laterError](err); ok {
			pause = max(pause, min(later.pause, r.s.o.pauses.asked))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-r.flush:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// sendOnce tries to send a notice. It returns why the receiver is not to be asked right
// again; the notice is queued again or given up.
func (r *receiver) sendOnce(ctx context.Context, n *notice) error {
	switch err := r.reserveNotice(ctx, n); {
	case errors.Is(err, errTold) || err != nil && r.isFlushed():
		return nil
	case err != nil:
		r.putBack(n)
		return err
	}
	n.tries++
	err := r.way.sendOne(ctx, n)
	if err == nil || errors.Is(err, errFolded) {
		r.markTold(ctx, n)
	} else {
		r.releaseNotice(ctx, n)
	}
	switch {
	case errors.Is(err, errFolded):
		return nil
	case err == nil:
		r.mu.Lock()
		r.sent++
		r.mu.Unlock()
		return nil
	case errors.Is(err, errGone):
		r.mu.Lock()
		r.gone = true
		r.mu.Unlock()
		r.giveUp(n, err)
		r.dropRest()
		return err
	case ctx.Err() != nil || r.isFlushed() || n.tries >= maxTries:
		r.giveUp(n, err)
		return err
	}
	r.putBack(n)
	return err
}

// giveUp counts a notice that is not sent, and says so.
func (r *receiver) giveUp(n *notice, err error) {
	r.mu.Lock()
	r.lost++
	r.mu.Unlock()
	r.s.o.Logger.Warn("a notice could not be sent", "notice", r.name, "id", n.id, "tries", n.tries, "error", err)
}

// recordLoss records what was lost since the last time.
func (r *receiver) recordLoss() {
	r.mu.Lock()
	fresh := r.lost - r.recorded
	r.recorded = r.lost
	r.mu.Unlock()
	if fresh > 0 {
		r.s.o.RecordLoss(r.name, fresh)
	}
}

// dropRest counts what is left as lost.
func (r *receiver) dropRest() {
	r.mu.Lock()
	left := len(r.queue)
	r.queue, r.lost = nil, r.lost+int64(left)
	r.mu.Unlock()
	if left > 0 {
		r.s.o.Logger.Warn("notices could not be sent", "notice", r.name, "count", left)
	}
}

// takeAgain lets a receiver that wanted no more notices have the next ones.
func (r *receiver) takeAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = false
}

func (r *receiver) isGone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone
}

func (r *receiver) isFlushed() bool {
	select {
	case <-r.flush:
		return true
	default:
		return false
	}
}

func (r *receiver) countNotices() Count {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Count{r.sent, r.lost, int64(len(r.queue))}
}

// wantsEvent reports whether the receiver is to learn of an event.
func (r *receiver) wantsEvent(event string, a *sallyport.Approval) bool {
	return slices.Contains(r.c.Events, event) && (r.c.Roles == nil || slices.Contains(r.c.Roles, a.Personality)) &&
		(r.c.Tools == nil || slices.ContainsFunc(r.c.Tools, func(t string) bool {
			server, all := strings.CutSuffix(t, "*")
			return t == a.Tool || all && strings.HasPrefix(a.Tool, server)
		}))
}
