package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// maxSessions bounds the protocol sessions that are open at once, and
// maxOwnSessions those of one principal. A session ends after sessionIdle, or
// earlier if it is idle, its principal has the most sessions, and another principal
// needs room.
const maxSessions, maxOwnSessions = 1000, 500

// sessionSet holds the protocol sessions of HTTP.
type sessionSet struct {
	mu   sync.Mutex
	open map[string]*httpSession
}

// httpSession is one protocol session. The lock of the set guards its mutable
// fields.
type httpSession struct {
	session
	all       *sessionSet
	principal sallyport.Principal // as of its last request
	posts     int                 // requests that are being answered
	streaming bool                // the client is told of changes
	last      time.Time
	timer     *time.Timer
	waiting   map[any]context.CancelFunc // requests without an answer, by id
}

// newHTTPSession returns a session that its first request is about to begin.
func (a *sessionSet) newHTTPSession(principal sallyport.Principal) *httpSession {
	s := &httpSession{all: a, principal: principal, waiting: map[any]context.CancelFunc{}}
	s.id, s.gone, s.who = newSession(), make(chan struct{}), s.latestPrincipal
	return s
}

// addSession adds a session that has begun. It makes room for it if it has to, and
// reports whether there is any.
func (a *sessionSet) addSession(s *httpSession) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := a.countLocked()
	if counts[s.principal.Name] >= maxOwnSessions || len(a.open) >= maxSessions && !a.makeRoomLocked(counts, s.principal.Name) {
		return false
	}
	s.last = time.Now()
	s.timer = time.AfterFunc(sessionIdle, s.endIfIdle)
	a.open[s.id] = s
	return true
}

// findSession returns the session with this id, which must belong to the principal,
// or the status that says why there is none.
func (a *sessionSet) findSession(id string, principal sallyport.Principal) (s *httpSession, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.findLocked(id, principal)
}

func (a *sessionSet) findLocked(id string, principal sallyport.Principal) (s *httpSession, status int) {
	switch s = a.open[id]; {
	case s == nil:
		return nil, http.StatusNotFound
	case !isSameCaller(&s.principal, &principal):
		return nil, http.StatusForbidden
	default:
		return s, 0
	}
}

// sessionRefusal returns the text for a status of findSession.
func sessionRefusal(status int) string {
	if status == http.StatusForbidden {
		return "session user mismatch"
	}
	return "session not found"
}

// useSession is findSession for a request. The session does not count as idle until
// releaseUse.
func (a *sessionSet) useSession(id string, principal sallyport.Principal) (s *httpSession, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, status = a.findLocked(id, principal); status != 0 {
		return nil, status
	}
	s.principal = principal
	if s.posts++; s.posts == 1 {
		s.timer.Stop()
	}
	return s, 0
}

// countLocked counts the sessions of each principal.
func (a *sessionSet) countLocked() map[string]int {
	counts := map[string]int{}
	for _, s := range a.open {
		counts[s.principal.Name]++
	}
	return counts
}

// makeRoomLocked closes one session so that the principal named comes can open one.
// It chooses the principal with the most sessions, if that has more than comes
// will have, and closes its session that was idle for longest. It reports
// whether it closed one.
func (a *sessionSet) makeRoomLocked(counts map[string]int, comes string) bool {
	var oldest *httpSession
	for _, s := range a.open {
		n := counts[s.principal.Name]
		if s.posts > 0 || n <= counts[comes]+1 {
			continue
		}
		if oldest == nil || n > counts[oldest.principal.Name] || n == counts[oldest.principal.Name] && s.last.Before(oldest.last) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	oldest.endLocked()
	return true
}

func (a *sessionSet) closeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.open {
		s.endLocked()
	}
}

// latestPrincipal returns the principal as of the last request of the session. ok is
// false when the session has ended.
func (s *httpSession) latestPrincipal() (p sallyport.Principal, ok bool) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	return s.principal, s.all.open[s.id] == s
}

func (s *httpSession) releaseUse() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.posts--; s.posts == 0 && s.all.open[s.id] == s {
		s.last = time.Now()
		s.timer.Reset(sessionIdle)
	}
}

func (s *httpSession) end() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.endLocked()
}

func (s *httpSession) endLocked() {
	if s.all.open[s.id] == s {
		s.timer.Stop()
		delete(s.all.open, s.id)
		close(s.gone)
	}
}

// endIfIdle ends a session that was idle for too long. It checks again, because
// the timer may have fired while a request took the session.
func (s *httpSession) endIfIdle() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.posts == 0 && time.Since(s.last) >= sessionIdle {
		s.endLocked()
	}
}

// beginStream records that the client is told of changes. It returns false when it
// is told already: a session has one such stream.
func (s *httpSession) beginStream() bool {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.streaming {
		return false
	}
	s.streaming = true
	return true
}

func (s *httpSession) endStream() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.streaming = false
}

// beginRequest records a request and the function that cancels it. It returns
// false when another request with that id is still pending.
func (s *httpSession) beginRequest(key any, cancel context.CancelFunc) bool {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if _, taken := s.waiting[key]; taken {
		return false
	}
	s.waiting[key] = cancel
	return true
}

// endRequest frees an id. It runs before the answer is written, because the client
// may use the id again as soon as it reads the answer.
func (s *httpSession) endRequest(key any) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	delete(s.waiting, key)
}

func (s *httpSession) cancelRequest(key any) {
	s.all.mu.Lock()
	cancel := s.waiting[key]
	s.all.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
