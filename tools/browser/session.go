package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxBrowsers and maxPerPrincipal bound the browsers that run: each takes some
	// hundred MiB.
	maxBrowsers, maxPerPrincipal = 8, 4
	// idleTime is how long a browser lives without a call.
	idleTime = 10 * time.Minute
)

// browserSession is the browser of one session in one role, as long as it is known: while
// it runs, and until its end was told.
type browserSession struct {
	principal string
	// turn is held by the call that uses the browser.
	turn chan struct{}

	// b is nil where none runs, policy the hosts that it was started with. The call
	// that has the turn reads them; they change under the lock of the table, by that
	// call, or by another while no call has the turn.
	b      *chromium
	policy string

	// Guarded by the lock of the table.
	users    int // calls that have the turn or wait for it
	lastUsed time.Time
	idle     *time.Timer
	running  bool
	// gone is why the last browser ended, until a call was told.
	gone string
}

// sessionTable is the browsers of all sessions.
type sessionTable struct {
	mu     sync.Mutex
	closed bool
	all    map[string]*browserSession
}

func keyOf(c *sallyport.Call) string { return c.SessionKey + "\x00" + c.Personality }

// enterSession takes the turn in the session of a call. The caller calls leave.
func (t *sessionTable) enterSession(ctx context.Context, c *sallyport.Call) (s *browserSession, leave func(), err error) {
	key := keyOf(c)
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, nil, newFailure("no browser can be used any more: the runtime is stopping", nil)
	}
	s = t.all[key]
	if s == nil {
		s = &browserSession{principal: c.Principal.Name, turn: make(chan struct{}, 1)}
		t.all[key] = s
	}
	s.users++
	t.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		return s, func() { <-s.turn; t.leaveSession(key, s) }, nil
	case <-ctx.Done():
		t.leaveSession(key, s)
		return nil, nil, ctx.Err()
	}
}

// leaveSession ends what enter began. A session without a browser is forgotten.
func (t *sessionTable) leaveSession(key string, s *browserSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.users--
	s.lastUsed = time.Now()
	if s.users > 0 {
		return
	}
	if !s.running && s.gone == "" {
		delete(t.all, key)
		return
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	s.idle = time.AfterFunc(idleTime, func() { t.closeIdle(key, s) })
}

// closeIdle ends the browser of a session that no call uses, and forgets the session when
// it has none.
func (t *sessionTable) closeIdle(key string, s *browserSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.users > 0 || t.all[key] != s {
		return
	}
	if !s.running {
		delete(t.all, key)
		return
	}
	t.evictBrowser(s, "no call used it for "+text.CountOf(int(idleTime.Minutes()), "minute"))
	s.idle = time.AfterFunc(idleTime, func() { t.closeIdle(key, s) })
}

// evictBrowser ends the browser of a session that no call uses. It is called under the lock.
func (t *sessionTable) evictBrowser(s *browserSession, why string) {
	b := s.b // No call has the turn or waits for it.
	s.b, s.running, s.gone = nil, false, why
	go b.stopBrowser()
}

// reserveBrowser makes room for one more browser: the one of the same principal that is idle
// for longest gives way.
func (t *sessionTable) reserveBrowser(s *browserSession) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, own := 0, 0
	var oldest *browserSession
	for _, other := range t.all {
		if !other.running {
			continue
		}
		all++
		if other.principal != s.principal {
			continue
		}
		own++
		if other.users == 0 && (oldest == nil || other.lastUsed.Before(oldest.lastUsed)) {
			oldest = other
		}
	}
	switch {
	case t.closed:
		return newFailure("no browser can be started any more: the runtime is stopping", nil)
	case own < maxPerPrincipal && all < maxBrowsers:
	case oldest != nil:
		t.evictBrowser(oldest, "another session of the same principal needed a browser")
	case own >= maxPerPrincipal:
		return newFailure(fmt.Sprintf("%d browsers of this principal are in use, the most there may be", own), nil)
	default:
		return newFailure(fmt.Sprintf("%d browsers are running, the most there may be; one ends when no call uses it for %d minutes", all, int(idleTime.Minutes())), nil)
	}
	s.running = true
	return nil
}

// dropBrowser ends the browser of the session that has the turn.
func (t *sessionTable) dropBrowser(s *browserSession, why string) {
	if s.b != nil {
		s.b.stopBrowser()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.b, s.running, s.gone = nil, false, why
}

// takeGone returns why the last browser of the session ended, once.
func (t *sessionTable) takeGone(s *browserSession) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	why := s.gone
	s.gone = ""
	return why
}

// keepGone keeps why the last browser of the session ended, for the next call.
func (t *sessionTable) keepGone(s *browserSession, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.gone = why
}

// current returns the running browser of the session that has the turn; nil when there is
// none.
func (t *sessionTable) current(s *browserSession) *chromium {
	if s.b == nil {
		return nil
	}
	if err := s.b.whyEnded(); err != nil {
		t.dropBrowser(s, detailOf(err))
	}
	return s.b
}

// openBrowser returns the browser of the session, and starts one when there is none, or when the
// hosts of the role are others than those that it was started with.
func (t *sessionTable) openBrowser(ctx context.Context, c *sallyport.Call, s *browserSession, wait *patience) (*chromium, error) {
	policy, err := json.Marshal(c.NetworkPolicy)
	if err != nil {
		return nil, err
	}
	if b := t.current(s); b != nil && s.policy != string(policy) {
		t.dropBrowser(s, "the hosts that this role may reach have changed")
	}
	if s.b != nil {
		return s.b, nil
	}
	if err := t.reserveBrowser(s); err != nil {
		return nil, err
	}
	c.Emit(sallyport.Progress{Message: "starting a browser"})
	b, err := startChromium(ctx, c, wait)
	if err != nil {
		t.mu.Lock()
		s.running = false
		t.mu.Unlock()
		return nil, err
	}
	t.mu.Lock()
	s.b, s.policy = b, string(policy)
	closed := t.closed
	t.mu.Unlock()
	if closed {
		t.dropBrowser(s, "the runtime is stopping")
		return nil, newFailure("the browser was ended: the runtime is stopping", nil)
	}
	return b, nil
}

// close ends all browsers and waits for them, and for the calls that use them, which fail.
func (t *sessionTable) close() {
	t.mu.Lock()
	t.closed = true
	var all []*browserSession
	var running []*chromium
	for _, s := range t.all {
		if s.idle != nil {
			s.idle.Stop()
		}
		all = append(all, s)
		if s.b != nil {
			running = append(running, s.b)
		}
	}
	t.mu.Unlock()
	for _, b := range running {
		b.stopBrowser()
	}
	for _, s := range all {
		s.turn <- struct{}{}
		t.dropBrowser(s, "the runtime is stopping")
		<-s.turn
	}
}
