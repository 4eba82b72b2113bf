package upstream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// firstPause and longestPause bound how long calls leave a server alone
	// after a failed start. The pause doubles with each failure.
	firstPause, longestPause = time.Second, 4 * time.Second
	// idleTime is how long a process without calls lives.
	idleTime = 15 * time.Minute
	// freshTime is the least time that a process lives even if the folders that
	// it was shown are replaced. So it is restarted for them at most six times
	// a minute.
	freshTime = 10 * time.Second
	// maxBroken is how many calls in a row may end with a broken connection or
	// a timeout before the server is left alone like one that fails to start.
	maxBroken = 3
)

// connKey identifies who may share a connection: a process is confined to the grant
// of the role that started it, and belongs to one principal. A connection that
// lasts for one call has that call in its key. The grant is the value of
// [Options.Grant].
type connKey struct{ principal, personality, workspace, grant, call string }

func (k connKey) withoutCall() connKey {
	k.call = ""
	return k
}

// processSlots bounds the calls that one process works on at once.
type processSlots struct {
	busy  chan struct{}
	users int
}

// connPool holds the connections to one server. Mounts of consecutive
// configurations share it while the server is declared in the same way.
type connPool struct {
	mu       sync.Mutex
	users    map[*mountedServer]bool
	links    map[connKey]*connLink
	slots    map[connKey]*processSlots
	failures map[connKey]startFailure
	// ailing is the number of failures.
	ailing atomic.Int64
}

func newPool() *connPool {
	return &connPool{users: map[*mountedServer]bool{}, links: map[connKey]*connLink{}, slots: map[connKey]*processSlots{}, failures: map[connKey]startFailure{}}
}

func (p *connPool) addServer(s *mountedServer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users[s] = true
}

// removeServer removes a server from the pool. It ends the connections that no
// remaining server may use, and waits until they are gone.
func (p *connPool) removeServer(s *mountedServer) {
	p.mu.Lock()
	delete(p.users, s)
	var ending sync.WaitGroup
	for k, l := range p.links {
		if p.isKeyUsed(k) {
			continue
		}
		ending.Go(func() {
			<-l.ready
			p.closeUnused(l, s)
		})
	}
	p.mu.Unlock()
	ending.Wait()
}

// isKeyUsed reports whether some server may use a link of a key. The caller holds
// the lock.
func (p *connPool) isKeyUsed(k connKey) bool {
	for s := range p.users {
		if s.grantIn(k.personality) == k.grant {
			return true
		}
	}
	return false
}

func (p *connPool) listServers() []*mountedServer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.users))
}

// keyOf returns the key of the connection that a call may use.
func (s *mountedServer) keyOf(c *sallyport.Call) connKey {
	k := connKey{
		principal: c.Principal.Name, personality: c.Personality, workspace: c.Workspace, grant: s.grantIn(c.Personality),
	}
	if s.Shared {
		k.principal = ""
	}
	if s.Transport == TransportSSE {
		k.call = c.ID
	}
	return k
}

// grantIn returns the value that identifies the grant of the server in a role.
func (s *mountedServer) grantIn(personality string) string {
	if s.m.o.Grant == nil {
		return ""
	}
	if known, ok := s.grants.Load(personality); ok {
		return known.(string)
	}
	grant := s.m.o.Grant(s.Name, personality)
	s.grants.Store(personality, grant)
	return grant
}

// acquireSlot waits for a free slot of the key.
func (s *mountedServer) acquireSlot(ctx context.Context, k connKey) (leave func(), err error) {
	p := s.pool
	p.mu.Lock()
	w := p.slots[k]
	if w == nil {
		w = &processSlots{busy: make(chan struct{}, s.Concurrency)}
		p.slots[k] = w
	}
	w.users++
	p.mu.Unlock()
	forget := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if w.users--; w.users == 0 {
			delete(p.slots, k)
		}
	}
	select {
	case w.busy <- struct{}{}:
		return func() { <-w.busy; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}

// connect returns the connection that a call may use, and makes it when there is
// none.
func (s *mountedServer) connect(ctx context.Context, c *sallyport.Call) (*connLink, error) {
	k := s.keyOf(c)
	for {
		l, mine, err := s.reserveLink(k)
		if err != nil {
			return nil, err
		}
		if mine {
			n, err := l.dialServer(ctx, c)
			l.noteRefusals(c, true)()
			if err == nil {
				s.pool.compareAll(l, n)
			}
			s.pool.finishStart(l, err, context.Cause(ctx))
		}
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if l.err == nil && !mine && (s.awaitEnd(l) || s.endOutdated(l)) {
			continue
		}
		// The call that was to make it may have been cancelled.
		if l.err == nil || mine || ctx.Err() != nil || !l.isAbandoned() {
			return l, l.err
		}
	}
}

// awaitEnd waits for the end of a process that the gate has told to end, since who used
// it was stopped or may do less. It may answer until then, or end at work.
func (s *mountedServer) awaitEnd(l *connLink) bool {
	e, ok := l.child.(interface{ IsEnding() bool })
	if !ok || !e.IsEnding() {
		return false
	}
	s.pool.dropLink(l)
	return true
}

// endOutdated ends a process whose folders were replaced by other processes, so
// that the next process is shown the current ones. It does not end a process
// that works on calls, nor one that has just started, because a folder may be
// replaced again and again.
func (s *mountedServer) endOutdated(l *connLink) bool {
	p, ok := l.child.(sallyport.Placed)
	if !ok || time.Since(l.born) < s.m.fresh || l.hasCalls() {
		return false
	}
	path := p.Exchanged()
	if path == "" {
		return false
	}
	s.m.o.Logger.Info("MCP server is started anew: another folder lies in its reach", "server", s.Name, "path", path)
	s.pool.closeUnused(l, s)
	return true
}

// reserveLink returns the link of a key; mine says that the caller has to make it.
func (s *mountedServer) reserveLink(k connKey) (l *connLink, mine bool, err error) {
	why := s.unavailableReason()
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.users[s] {
		return nil, false, sallyport.Err("the runtime is stopping", "").Err()
	}
	if l, ok := p.links[k]; ok {
		return l, false, nil
	}
	if why != "" {
		return nil, false, &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: why}
	}
	if f := p.failures[k.withoutCall()]; time.Now().Before(f.until) {
		return nil, false, f.errorUntilRetry()
	}
	l = s.newLink(k)
	if len(s.Command) > 0 {
		if err := s.m.processes.acquireProcess(l); err != nil {
			return nil, false, err
		}
	}
	p.links[k] = l
	return l, true, nil
}

// finishStart tells the calls that wait for a link whether it was made. A start that
// its caller gave up says nothing about the server, unless the time of the call
// was over.
func (p *connPool) finishStart(l *connLink, err, gaveUp error) {
	defer close(l.ready)
	key := l.key.withoutCall()
	if l.err = err; err == nil {
		p.watchLink(l)
		return
	}
	p.mu.Lock()
	delete(p.links, l.key)
	p.mu.Unlock()
	l.s.m.processes.releaseProcess(l)
	if gaveUp != nil {
		l.err = &abandonedError{err}
		if errors.Is(gaveUp, context.DeadlineExceeded) {
			p.recordBrokenCall(l, false)
		}
		return
	}
	if _, ok := loginNeeded(err); !ok { // else a login ends the wait
		p.recordFailure(key, err)
	}
}

func (p *connPool) watchLink(l *connLink) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.failures[l.key.withoutCall()]; ok {
		// A successful start does not prove that the process answers calls.
		if f.err, f.until = nil, (time.Time{}); f.broken == 0 {
			p.forgetFailures(l.key.withoutCall())
		} else {
			p.failures[l.key.withoutCall()] = f
		}
	}
	l.idle = time.AfterFunc(idleTime, func() {
		if !l.hasCalls() {
			p.closeUnused(l, nil)
		}
	})
	go func() {
		_ = l.session.Wait()
		p.dropLink(l)
	}()
}

// compareAll tells every server that uses the pool what a connection offers now.
func (p *connPool) compareAll(l *connLink, n *serverListing) {
	l.mu.Lock()
	l.listedAt = time.Now()
	l.mu.Unlock()
	for _, s := range p.listServers() {
		s.compareOffers(l, n)
	}
}

// closeUnused ends a link that is no longer used. The server by, one of the users of
// the pool, tells the upstream server; nil means any user.
func (p *connPool) closeUnused(l *connLink, by *mountedServer) {
	p.mu.Lock()
	if p.links[l.key] == l {
		delete(p.links, l.key)
	}
	for s := range p.users {
		if by == nil {
			by = s
		}
	}
	p.mu.Unlock()
	if by != nil {
		by.closeSession(l)
	}
	p.dropLink(l)
}

// dropLink forgets a link and ends it. If a process that was in use has ended by
// itself, the server is probed.
func (p *connPool) dropLink(l *connLink) {
	p.mu.Lock()
	used := p.links[l.key] == l
	if used {
		delete(p.links, l.key)
	}
	p.mu.Unlock()
	if used && l.hasEnded() {
		p.doubtServers()
	}
	l.closeAndWait()
	l.dropped.Store(true)
	for _, s := range p.listServers() {
		s.forgetConnection(l)
	}
}

func (l *connLink) hasEnded() bool {
	if l.child == nil {
		return false
	}
	select {
	case <-l.child.Done():
		return true
	default:
		return false
	}
}
