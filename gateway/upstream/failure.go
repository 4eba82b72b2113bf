package upstream

import (
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
)

// startFailure is why a server could not be started or used, and when to try again.
type startFailure struct {
	// count is the number of failures in a row, broken the number of calls in a
	// row without an answer.
	count, broken int
	until         time.Time
	err           error
}

// errorUntilRetry returns the failure for calls that arrive before the next attempt.
func (f *startFailure) errorUntilRetry() error {
	e := sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: f.err.Error()}
	if was, ok := errors.AsType[*sallyport.Error](f.err); ok {
		e = *was
	}
	if e.Code == sallyport.CodeExecutionFailed {
		e.Code = sallyport.CodeNotAvailable
	}
	e.Detail += "; it is left alone until " + f.until.Format(time.TimeOnly)
	e.Err = f.err
	return &e
}

// recordFailure makes calls under a key leave the server alone for a while. A failure during that
// time does not extend it.
func (p *connPool) recordFailure(key connKey, err error) {
	p.mu.Lock()
	f := p.failures[key]
	if now := time.Now(); !now.Before(f.until) {
		f.until = now.Add(min(firstPause<<min(f.count, 10), longestPause))
		f.count++
	}
	f.err = err
	p.failures[key] = f
	p.ailing.Store(int64(len(p.failures)))
	p.mu.Unlock()
	p.doubtServers()
}

// recordFlood handles a server that sends without end. If that happens during a
// call, it counts like a broken connection. If the server is idle, calls under
// the key of the connection leave it alone. When it serves no other principal, all
// calls do, until a probe finds that it answers.
func (p *connPool) recordFlood(l *connLink, limit *limitError) {
	if !limit.idle {
		p.recordBrokenCall(l, true)
		return
	}
	text := "the MCP server " + l.s.Name + " was ended: " + limit.text
	p.recordFailure(l.key.withoutCall(), &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: text})
	if p.servesOthers(l) {
		return
	}
	for _, s := range p.listServers() {
		s.markUnavailable(text)
	}
}

// servesOthers reports whether a principal other than that of a link has a
// connection.
func (p *connPool) servesOthers(l *connLink) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		if k.principal != l.key.principal {
			return true
		}
	}
	return false
}

// doubtServers tells every server that uses the pool that a connection failed or a
// process ended by itself.
func (p *connPool) doubtServers() {
	for _, s := range p.listServers() {
		s.mu.Lock()
		s.health.suspect = true
		s.mu.Unlock()
	}
}

// recordBrokenCall counts a call that had no answer. Calls that end together with their
// connection count once. Too many in a row count as a failed start and make the
// connection useless.
func (p *connPool) recordBrokenCall(l *connLink, gone bool) (useless bool) {
	s, key := l.s, l.key.withoutCall()
	if gone && !l.endCounted.CompareAndSwap(false, true) {
		return false
	}
	p.mu.Lock()
	f := p.failures[key]
	f.broken++
	p.failures[key] = f
	p.ailing.Store(int64(len(p.failures)))
	p.mu.Unlock()
	if f.broken < maxBroken {
		return false
	}
	text := fmt.Sprintf("the MCP server %s did not answer %d calls in a row", s.Name, f.broken)
	p.recordFailure(key, &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: text})
	return true
}

func (p *connPool) resetBrokenCalls(key connKey) {
	if p.ailing.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetFailures(key)
}

// forgetFailures forgets the failures of a key. The caller holds the lock.
func (p *connPool) forgetFailures(key connKey) {
	delete(p.failures, key)
	p.ailing.Store(int64(len(p.failures)))
}

// forgetAllFailures forgets all failures: the server was unusable for every principal and
// works again.
func (p *connPool) forgetAllFailures() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.failures)
	p.ailing.Store(0)
}
