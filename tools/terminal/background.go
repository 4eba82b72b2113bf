package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// maxPerSession and maxProcesses bound the background processes, finished
	// ones included while their output is kept: all together keep at most
	// 128 MiB. A principal may have no more of them than are free, so that one
	// with many sessions takes half of the places, a second one half of what is
	// left, and there is one for the sixth.
	maxPerSession = 8
	maxProcesses  = 64
	// idleTime is how long a process lives without a question about it, and how
	// long the output of a finished one is kept: an agent that went away does
	// not come back for it.
	idleTime = 30 * time.Minute
	// maxLife bounds a process that is asked about for ever.
	maxLife = 8 * time.Hour
	// stopGrace is how long a process may take to end by itself, and
	// closeGrace the same when the runtime ends.
	stopGrace  = 5 * time.Second
	closeGrace = 2 * time.Second
)

// backgroundProcess is one background process. What the mutex of the table does not
// guard does not change after the child is set.
type backgroundProcess struct {
	id, principal, session, label, command string
	timeStarted                            time.Time
	out                                    *outputRing
	child                                  sallyport.Child // nil while it starts
	// polled tells the watcher that a caller asked.
	polled chan struct{}

	// Guarded by the table's mutex.
	processState
	cursor int64 // what the session has seen
}

// processTable is the background processes of all sessions.
type processTable struct {
	closing chan struct{}
	watch   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	all    []*backgroundProcess // oldest first
}

func newProcessTable() *processTable { return &processTable{closing: make(chan struct{})} }

// reserveSlot reserves a slot before the child is started, so that two calls at
// once do not share the last one. The slot of a finished process is reused
// when there is no other.
func (t *processTable) reserveSlot(principal, session, label, command string) (*backgroundProcess, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, sallyport.Err("no process can be started any more: the runtime is stopping", "").Err()
	}
	mine := func(p *backgroundProcess) bool { return p.session == session }
	if t.countWhere(mine) >= maxPerSession && !t.evictOldest(mine) {
		return nil, sallyport.Err(fmt.Sprintf("%d background processes of this session are running, the most there may be; "+
			"end one with process_stop", maxPerSession), "").Err()
	}
	own := func(p *backgroundProcess) bool { return p.principal == principal }
	if n := t.countWhere(own); n > 0 && n >= maxProcesses-len(t.all) && !t.evictOldest(own) {
		return nil, sallyport.Err(fmt.Sprintf("%d background processes of this principal are running, and %d places are left for all; "+
			"end one with process_stop", n, maxProcesses-len(t.all)), "").Err()
	}
	if len(t.all) >= maxProcesses && !t.evictOldest(func(*backgroundProcess) bool { return true }) {
		return nil, sallyport.Err(fmt.Sprintf("%d background processes are running, the most there may be", maxProcesses), "").Err()
	}
	p := &backgroundProcess{
		id: newID(), principal: principal, session: session, label: label, command: command, timeStarted: time.Now(),
		out: newOutputRing(), polled: make(chan struct{}, 1),
	}
	t.all = append(t.all, p)
	t.watch.Add(1)
	return p, nil
}

// newID returns an id that cannot be guessed: 80 of the 130 bits of
// crypto/rand.Text. It is no secret, because it is looked up within a session.
func newID() string { return "p" + strings.ToLower(rand.Text()[:16]) }

// countWhere counts the processes for which the function holds. It is called
// under the lock, as is evictOldest, which forgets the finished process that is
// oldest.
func (t *processTable) countWhere(which func(*backgroundProcess) bool) int {
	n := 0
	for _, p := range t.all {
		if which(p) {
			n++
		}
	}
	return n
}

func (t *processTable) evictOldest(which func(*backgroundProcess) bool) bool {
	i := slices.IndexFunc(t.all, func(p *backgroundProcess) bool { return p.done && which(p) })
	if i < 0 {
		return false
	}
	t.forgetProcess(t.all[i])
	return true
}

// forgetProcess removes a process from the table. It is called under the lock.
// The watcher of a forgotten process ends when it looks the next time.
func (t *processTable) forgetProcess(p *backgroundProcess) {
	if i := slices.Index(t.all, p); i >= 0 {
		t.all = slices.Delete(t.all, i, i+1)
		close(p.polled)
	}
}

func (t *processTable) startChild(p *backgroundProcess, begin func() (sallyport.Child, error)) error {
	child, err := begin()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.forgetProcess(p)
		t.watch.Done()
		return err
	}
	p.child = child
	go t.watchChild(p)
	return nil
}

// watchChild waits for the end of a child, ends it when no caller asks, and forgets
// it when no caller asks about its output.
func (t *processTable) watchChild(p *backgroundProcess) {
	defer t.watch.Done()
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	done := p.child.Done()
	for {
		select {
		case <-done:
			done = nil
			t.recordEnd(p)
			idle.Reset(idleTime)
		case _, known := <-p.polled:
			if !known {
				return
			}
			idle.Reset(idleTime)
		case <-idle.C:
			if done == nil {
				t.mu.Lock()
				t.forgetProcess(p)
				t.mu.Unlock()
				return
			}
			t.stopChild(p, "no caller asked about it for 30 minutes", stopGrace)
		case <-t.closing:
			t.stopChild(p, "the runtime stopped", closeGrace)
			return
		}
	}
}

func (t *processTable) recordEnd(p *backgroundProcess) {
	res, err := p.child.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	p.done, p.result, p.err = true, res, err
}

// stopChild stops a child and waits until it is gone.
func (t *processTable) stopChild(p *backgroundProcess, why string, grace time.Duration) {
	t.mu.Lock()
	if !p.done && p.ended == "" {
		p.ended = why
	}
	t.mu.Unlock()
	p.child.Stop(grace)
	t.recordEnd(p)
}

// findOwned returns a process of a session and counts as asking about it. The id
// of another session is as unknown as one that never was.
func (t *processTable) findOwned(session, id string) (*backgroundProcess, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.all {
		if p.session == session && p.id == id && p.child != nil {
			p.signalPoll()
			return p, nil
		}
	}
	return nil, sallyport.InputInvalid("no background process has the id " + quoteUnprintable(id) + "; process_list shows them")
}

// signalPoll tells the watcher that a caller asked. It is called under the
// lock, which keeps it from a channel that forgetProcess closes.
func (p *backgroundProcess) signalPoll() {
	select {
	case p.polled <- struct{}{}:
	default: // The watcher has not seen the last one yet.
	}
}

// listSession returns the processes of a session, oldest first.
func (t *processTable) listSession(session string) []*backgroundProcess {
	t.mu.Lock()
	defer t.mu.Unlock()
	var mine []*backgroundProcess
	for _, p := range t.all {
		if p.session == session && p.child != nil {
			p.signalPoll()
			mine = append(mine, p)
		}
	}
	return mine
}

// close ends every process and waits for all.
func (t *processTable) close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.closing)
	}
	t.mu.Unlock()
	t.watch.Wait()
}

// processState is what the table knows about a process at one moment.
type processState struct {
	done   bool
	ended  string // why we ended it; empty when it ended by itself
	result sallyport.ProcessResult
	err    error
}

func (t *processTable) stateOf(p *backgroundProcess) processState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return p.processState
}

// describe says how a process is. That it did not come to its end is no fault
// when we ended it; a coded error says what else happened. The text of another
// one may name things of the runtime.
func (s processState) describe() string {
	coded, isCoded := errors.AsType[*sallyport.Error](s.err)
	switch {
	case !s.done:
		return "running"
	case isCoded:
		return "ended: " + quoteUnprintable(coded.Error())
	case s.ended != "":
		return fmt.Sprintf("ended with exit code %d: %s", s.result.ExitCode, s.ended)
	case s.err != nil:
		return "ended: it could not be run"
	case s.result.TimedOut:
		return fmt.Sprintf("ended with exit code %d: it ran for %d hours, the most there may be", s.result.ExitCode, int(maxLife.Hours()))
	default:
		return fmt.Sprintf("exited with exit code %d", s.result.ExitCode)
	}
}

// readOutput returns the output of a process from offset on, and waits for some
// while there is none.
func (t *processTable) readOutput(ctx context.Context, p *backgroundProcess, offset int64, wait time.Duration) (text []byte, from int64, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		text, from, more := p.out.readSince(offset, maxTail)
		if len(text) > 0 || wait <= 0 {
			return text, from, nil
		}
		select {
		case <-more:
		case <-p.child.Done():
			// What came last was handed over before.
			text, from, _ = p.out.readSince(offset, maxTail)
			return text, from, nil
		case <-timer.C:
			return nil, from, nil
		case <-ctx.Done():
			return nil, from, ctx.Err()
		}
	}
}
