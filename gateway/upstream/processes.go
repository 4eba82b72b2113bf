package upstream

import (
	"fmt"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// defaultProcesses bounds the processes of all servers that calls have
	// started.
	defaultProcesses = 128
	// restTime is how long an idle process is safe from being ended in favour
	// of another.
	restTime = time.Second
)

// processLimit counts the processes of all servers against their bound. Principals
// share the slots: a principal gets a free slot, or one that it frees by ending
// an idle process.
type processLimit struct {
	most int

	mu  sync.Mutex
	all map[*connLink]struct{}
}

// acquireProcess takes a slot for the process of a link. If the principal has as many
// processes as there are free slots, one has to end first: the process that was
// idle for longest, of the principal with the most processes among those that
// have more than this one, or of this one.
func (p *processLimit) acquireProcess(l *connLink) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := map[string]int{}
	for other := range p.all {
		counts[other.key.principal]++
	}
	free, own := p.most-len(p.all), counts[l.key.principal]
	if own >= free {
		idle := p.idleOf(counts, l.key.principal)
		if idle == nil {
			return &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: fmt.Sprintf(
				"too many processes of MCP servers run: %d of this principal and %d of all, at most %d; try again when a call has ended", own, len(p.all), p.most)}
		}
		delete(p.all, idle)
		go idle.s.pool.closeUnused(idle, nil)
	}
	p.all[l] = struct{}{}
	return nil
}

// idleOf finds the process to end for a principal. The caller holds the lock.
func (p *processLimit) idleOf(counts map[string]int, comes string) (found *connLink) {
	var since time.Time
	for l := range p.all {
		who := l.key.principal
		if who != comes && counts[who] <= counts[comes] {
			continue
		}
		rests, idle := l.restsSince()
		if !idle || time.Since(rests) < restTime {
			continue
		}
		if found == nil || counts[who] > counts[found.key.principal] || counts[who] == counts[found.key.principal] && rests.Before(since) {
			found, since = l, rests
		}
	}
	return found
}

// releaseProcess frees the slot of a link, if it has one.
func (p *processLimit) releaseProcess(l *connLink) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, l)
}

// restsSince returns since when a usable connection has been idle.
func (l *connLink) restsSince() (since time.Time, idle bool) {
	select {
	case <-l.ready:
	default:
		return since, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.idleSince, len(l.calls) == 0 && l.err == nil && !l.idleSince.IsZero()
}
