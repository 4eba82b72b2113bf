package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// sessionSet holds the protocol sessions of HTTP. The library has them too, but
// does not show its table, and direct requests bypass it. So their idle times
// and the ids of pending direct requests are kept here.
type sessionSet struct {
	mu   sync.Mutex
	open map[string]*httpSession
}

// httpSession is one protocol session. The lock of the set guards its mutable
// fields.
type httpSession struct {
	all       *sessionSet
	library   *mcp.ServerSession
	id        string
	principal sallyport.Principal // as of its last request
	older     bool                // the client asked for a protocol with sessions
	elicits   bool                // the client shows questions to a person
	messages  atomic.Bool         // the client set a log level
	posts     int                 // requests that are being answered
	last      time.Time
	timer     *time.Timer
	waiting   map[any]context.CancelFunc // pending direct requests, by id
}

// addSession records a session that its first request has just opened.
func (a *sessionSet) addSession(library *mcp.ServerSession, principal sallyport.Principal, begun *mcp.InitializeParams) {
	s := &httpSession{
		all: a, library: library, id: library.ID(), principal: principal, older: begun.ProtocolVersion < statelessSince,
		elicits: canElicit(begun.Capabilities),
		last:    time.Now(), waiting: map[any]context.CancelFunc{},
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s.timer = time.AfterFunc(sessionIdle, s.closeIfIdle)
	a.open[s.id] = s
}

// useSession returns the session with this id if it belongs to the principal, else
// nil; the library then explains the error. The session does not count as idle
// until release.
func (a *sessionSet) useSession(id string, principal sallyport.Principal) *httpSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.open[id]
	if s == nil || s.principal.Name != principal.Name {
		return nil
	}
	s.principal = principal
	if s.posts++; s.posts == 1 {
		s.timer.Stop()
	}
	return s
}

// latestPrincipal returns the principal of a session as of its last request.
func (a *sessionSet) latestPrincipal(id string) (p sallyport.Principal, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.open[id]; s != nil {
		return s.principal, true
	}
	return p, false
}

// countOf counts the sessions of a principal.
func (a *sessionSet) countOf(principal string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.open {
		if s.principal.Name == principal {
			n++
		}
	}
	return n
}

// makeRoom closes one session so that the principal named comes can open one.
// It chooses the principal with the most sessions, if that has more than comes
// will have, and closes its session that was idle for longest. It reports
// whether it closed one.
func (a *sessionSet) makeRoom(comes string) bool {
	a.mu.Lock()
	counts := map[string]int{}
	for _, s := range a.open {
		counts[s.principal.Name]++
	}
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
	if oldest != nil {
		oldest.timer.Stop()
		delete(a.open, oldest.id)
	}
	a.mu.Unlock()
	if oldest == nil {
		return false
	}
	// The error says that the client has gone already.
	_ = oldest.library.Close()
	return true
}

// releaseUse ends a use. It does nothing to a nil session.
func (s *httpSession) releaseUse() {
	if s == nil {
		return
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.posts--; s.posts == 0 && s.all.open[s.id] == s {
		s.last = time.Now()
		s.timer.Reset(sessionIdle)
	}
}

// closeIfIdle closes a session that was idle for too long. It checks again, because
// the timer may have fired while a request took the session.
func (s *httpSession) closeIfIdle() {
	s.all.mu.Lock()
	over := s.posts == 0 && s.all.open[s.id] == s && time.Since(s.last) >= sessionIdle
	if over {
		delete(s.all.open, s.id)
	}
	s.all.mu.Unlock()
	if over {
		// The error says that the client has gone already.
		_ = s.library.Close()
	}
}

// wantMessages records that the client of a session wants log messages.
func (a *sessionSet) wantMessages(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.open[id]; s != nil {
		s.messages.Store(true)
	}
}

// wantsMessages reports whether the client of a session wants log messages.
func (a *sessionSet) wantsMessages(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.open[id]
	return s != nil && s.messages.Load()
}

// removeSession removes a session that the library has closed.
func (a *sessionSet) removeSession(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.open[id]; s != nil {
		s.timer.Stop()
		delete(a.open, id)
	}
}

// closeAll forgets every session.
func (a *sessionSet) closeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range a.open {
		s.timer.Stop()
		delete(a.open, id)
	}
}

// beginRequest records a direct request and the function that cancels it. It returns
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

// isInFlight reports whether a direct request with that id is still pending.
func (s *httpSession) isInFlight(key any) bool {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	_, taken := s.waiting[key]
	return taken
}

// endRequest frees an id. It runs before the answer is written, because the client
// may use the id again as soon as it reads the answer.
func (s *httpSession) endRequest(key any) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	delete(s.waiting, key)
}

// cancelRequest cancels a direct request.
func (s *httpSession) cancelRequest(key any) {
	s.all.mu.Lock()
	cancel := s.waiting[key]
	s.all.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
