package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/lock"
	"github.com/sallyport/sallyport/gateway/oauth"
)

const (
	// firstPause and longestPause bound how long a server that failed to start
	// is left alone: doubled with each failure.
	firstPause, longestPause = time.Second, 2 * time.Minute
	// idleTime is how long a process lives that nobody calls.
	idleTime = 15 * time.Minute
	// endGrace is how long a server may take to end by itself.
	endGrace = 2 * time.Second
)

// key tells apart who may share a connection: a process is confined to the
// grant of the role that started it, and belongs to one principal. A connection
// that lives as long as one call belongs to that.
type key struct{ principal, personality, workspace, call string }

// lane is the key without the call.
func (k key) lane() key {
	k.call = ""
	return k
}

// failure is why a server could not be started, and when it may be tried
// again.
type failure struct {
	count int
	until time.Time
	err   error
}

// again is the failure for those who come before it may be tried again.
func (f *failure) again() error {
	e := sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: f.err.Error()}
	if was, ok := errors.AsType[*sallyport.Error](f.err); ok {
		e = *was
	}
	e.Detail += "; it is left alone until " + f.until.Format(time.TimeOnly)
	e.Err = f.err
	return &e
}

// link is one connection to a server.
type link struct {
	s   *server
	key key
	// ready is closed when the link can be used or err says why not; what it
	// guards does not change afterwards.
	ready   chan struct{}
	err     error
	session *mcp.ClientSession
	child   sallyport.Child // nil for a remote server
	said    complaints
	idle    *time.Timer
	ended   sync.Once
	// hangUp ends what the connection waits for.
	hangUp context.CancelFunc
	// refused is the last request that the grant did not admit.
	refused atomic.Pointer[sallyport.Error]
	// greeting is what the server answered first.
	greeting answer

	mu      sync.Mutex
	calls   map[string]*running // by progress token
	version string              // of the protocol
	view    view
	// relist is a look that is to come, looking is held by the one that looks.
	relist  *time.Timer
	looking chan struct{}
}

// running is a call that runs, and its context.
type running struct {
	call *sallyport.Call
	ctx  context.Context
}

func (s *server) newLink(k key) *link {
	return &link{
		s: s, key: k, ready: make(chan struct{}),
		calls: map[string]*running{}, looking: make(chan struct{}, 1), hangUp: func() {},
		said: complaints{log: s.m.o.Logger.With("server", s.Name)},
	}
}

// keyOf is the key of the connection that a call may use.
func (s *server) keyOf(c *sallyport.Call) key {
	k := key{principal: c.Principal.Name, personality: c.Personality, workspace: c.Workspace}
	if s.Shared {
		k.principal = ""
	}
	if s.Transport == lock.TransportSSE {
		k.call = c.ID
	}
	return k
}

// lane bounds the calls that one process works on at once.
type lane struct {
	turns chan struct{}
	users int
}

// enter waits for a turn.
func (s *server) enter(ctx context.Context, k key) (leave func(), err error) {
	s.mu.Lock()
	w := s.lanes[k]
	if w == nil {
		w = &lane{turns: make(chan struct{}, s.Concurrency)}
		s.lanes[k] = w
	}
	w.users++
	s.mu.Unlock()
	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.users--; w.users == 0 {
			delete(s.lanes, k)
		}
	}
	select {
	case w.turns <- struct{}{}:
		return func() { <-w.turns; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}

// link returns the connection that a call may use, and makes it when there is
// none.
func (s *server) link(ctx context.Context, c *sallyport.Call) (*link, error) {
	k := s.keyOf(c)
	for {
		l, mine, err := s.reserve(k)
		if err != nil {
			return nil, err
		}
		if mine {
			n, err := l.dial(ctx, c)
			if err == nil {
				s.look(l, n)
			}
			s.settle(l, err, ctx.Err() != nil)
		}
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Whoever was to make it may have gone away.
		if l.err == nil || mine || ctx.Err() != nil || !l.abandoned() {
			return l, l.err
		}
	}
}

// reserve returns the link of a key; mine says that the caller has to make it.
func (s *server) reserve(k key) (l *link, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, sallyport.Err("the runtime is stopping", "").Err()
	}
	if l, ok := s.links[k]; ok {
		return l, false, nil
	}
	if f := s.failures[k.lane()]; time.Now().Before(f.until) {
		return nil, false, f.again()
	}
	l = s.newLink(k)
	s.links[k] = l
	return l, true, nil
}

// settle tells those who wait for a link how it went. A start that its caller
// gave up says nothing about the server.
func (s *server) settle(l *link, err error, gaveUp bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(l.ready)
	if l.err = err; err != nil {
		delete(s.links, l.key)
		if gaveUp {
			l.err = &abandoned{err}
			return
		}
		if _, ok := loginNeeded(err); ok {
			return // it is for a person to say when it may be tried again
		}
		f := s.failures[l.key.lane()]
		pause := min(firstPause<<min(f.count, 10), longestPause)
		s.failures[l.key.lane()] = failure{f.count + 1, time.Now().Add(pause), err}
		return
	}
	delete(s.failures, l.key.lane())
	l.idle = time.AfterFunc(idleTime, func() { s.drop(l) })
	go func() {
		_ = l.session.Wait()
		s.drop(l)
	}()
}

// abandoned is the error of a start that its caller gave up.
type abandoned struct{ error }

func (a *abandoned) Unwrap() error { return a.error }

func (l *link) abandoned() bool {
	_, ok := l.err.(*abandoned)
	return ok
}

// dial starts a server, or greets a remote one, and asks what it offers: no
// call goes to a process whose definitions nobody has looked at. Nothing is
// offered that a server could use to reach back: no sampling, no roots, no
// elicitation.
func (l *link) dial(ctx context.Context, c *sallyport.Call) (n *listing, err error) {
	ctx, cancel := context.WithCancelCause(withCall(ctx, c))
	late := time.AfterFunc(startWait, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	l.hangUp = func() { cancel(nil) }
	t, err := l.transport(ctx, c)
	if err != nil {
		l.hangUp()
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "sallyport", Version: l.s.m.o.Version}, l.options())
	if l.session, err = client.Connect(ctx, wired{t, l}, nil); err == nil {
		if n, err = l.list(ctx); err == nil {
			return n, nil
		}
	}
	return nil, l.stillborn(ctx, err)
}

// transport starts a server here, or says how a remote one is reached.
func (l *link) transport(ctx context.Context, c *sallyport.Call) (mcp.Transport, error) {
	if len(l.s.Command) > 0 {
		return l.spawn(ctx, c)
	}
	if err := l.s.m.o.Start(l.s.Name, ""); err != nil {
		return nil, err
	}
	return l.remote(), nil
}

// stillborn ends a connection that came to nothing, and says why it did.
func (l *link) stillborn(ctx context.Context, err error) error {
	refused := l.refused.Load()
	if refused != nil && errors.Is(refused, oauth.ErrLogin) {
		l.end()
		return refused
	}
	why := fmt.Sprintf("the MCP server %s did not start: %v", l.s.Name, err)
	switch {
	case refused != nil:
		why = fmt.Sprintf("the MCP server %s did not start: %v", l.s.Name, refused)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		why = fmt.Sprintf("the MCP server %s did not answer in time", l.s.Name)
	case errors.Is(err, mcp.ErrConnectionClosed):
		why = fmt.Sprintf("the MCP server %s did not start: it ended before it answered", l.s.Name)
	}
	if l.child != nil {
		l.child.Stop(0)
	}
	l.end()
	if l.child != nil {
		if last := l.said.lastLine(); last != "" {
			why += "; it says: " + last
		}
	}
	return sallyport.Err(why, "").Err()
}

// options are those of a client that can do nothing for a server. Of a server
// here it asks to be told when a list changes; a remote one would have to be
// asked outside a call. The notifications are heard on the wire.
func (l *link) options() *mcp.ClientOptions {
	o := &mcp.ClientOptions{
		Logger: l.s.m.o.Logger, Capabilities: &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	if len(l.s.Command) > 0 {
		o.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {}
		o.PromptListChangedHandler = func(context.Context, *mcp.PromptListChangedRequest) {}
		o.ResourceListChangedHandler = func(context.Context, *mcp.ResourceListChangedRequest) {}
	}
	return o
}

// drop forgets a link and ends it.
func (s *server) drop(l *link) {
	s.mu.Lock()
	if s.links[l.key] == l {
		delete(s.links, l.key)
	}
	s.mu.Unlock()
	l.end()
	s.forget(l)
}

// end closes the connection and returns when the process is gone.
func (l *link) end() {
	l.ended.Do(func() {
		if l.idle != nil {
			l.idle.Stop()
		}
		l.mu.Lock()
		if l.relist != nil {
			l.relist.Stop()
		}
		l.mu.Unlock()
		if l.child != nil {
			l.child.Stop(endGrace)
		}
		if l.session != nil {
			// Its error says that the other side is gone already.
			_ = l.session.Close()
		}
		l.hangUp()
	})
}

// listen has the progress of a call go to its caller, under the id of the call.
func (l *link) listen(ctx context.Context, c *sallyport.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[c.ID] = &running{c, withCall(ctx, c)}
}

func (l *link) unlisten(c *sallyport.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.ID)
}

// during is the context of a call that runs, under which something may be sent
// that none of them asked for: all calls of a link have one grant. Without a
// call it is what is given.
func (l *link) during(ctx context.Context) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.calls {
		return r.ctx
	}
	return ctx
}

// progress relays what a server says of a call that runs.
func (l *link) progress(said *mcp.ProgressNotificationParams) {
	token, _ := said.ProgressToken.(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.calls[token]
	if !ok {
		return
	}
	p := sallyport.Progress{Message: said.Message, Audience: sallyport.AudienceUser}
	if said.Total > 0 {
		percent := min(max(100*said.Progress/said.Total, 0), 100)
		p.Percent = &percent
	}
	// Under the lock, so that nothing follows the answer of the call.
	r.call.Emit(p)
}
