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
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/tracing"
)

// endGrace is how long a server may take to end by itself.
const endGrace = 2 * time.Second

// connLink is one connection to a server.
type connLink struct {
	s   *mountedServer // the server that made it
	key connKey
	// ready is closed when the link can be used or err says why not. The fields
	// that it guards do not change afterwards.
	ready   chan struct{}
	err     error
	session *mcp.ClientSession
	wire    *messageWire
	// negotiated is the protocol version; meta is the _meta that each request
	// carries in that version.
	negotiated string
	meta       []byte
	child      sallyport.Child // nil for a remote server
	born       time.Time
	stderr     stderrLog
	idle       *time.Timer
	ended      sync.Once
	// reportEnd tells the gate that the session has ended; nil where the gate does
	// not follow it.
	reportEnd func()
	// hangUp cancels everything that the connection waits for.
	hangUp context.CancelFunc
	// refused is the last request that the grant did not admit.
	refused atomic.Pointer[sallyport.Error]
	// forgotten says that a remote server no longer knows the session.
	forgotten atomic.Bool
	// version is the protocol version that the server chose.
	version atomic.Pointer[string]
	// greeting is the server's first answer.
	greeting rawAnswer
	// limit is the bound that the server reached last.
	limit atomic.Pointer[limitError]
	// idleFlow and workFlow count unsolicited messages of the server.
	idleFlow, workFlow, idleStderr, workStderr rateMeter

	mu    sync.Mutex
	calls map[string]*runningCall // by progress token
	// listedAt is when the last listing began; stale says that the server has
	// announced a change since.
	listedAt      time.Time
	sessionStream sessionStream
	stale         bool
	// relist is the timer of a scheduled listing; the listing that runs holds
	// listing.
	relist  *time.Timer
	listing chan struct{}
	// endCounted says that its end was counted.
	endCounted atomic.Bool
	// floods says that it is being ended because the server sends without end.
	floods atomic.Bool
	// idleSince is when its last call ended.
	idleSince time.Time
	// dropped says that the pool has forgotten it.
	dropped atomic.Bool
}

// runningCall is a call that runs, and its context.
type runningCall struct {
	call *sallyport.Call
	ctx  context.Context
	// request ends with the request that the server works on; nil while there
	// is none.
	request context.Context
	// events holds the progress that the caller has yet to be told; nil until
	// there is any. progressDone is closed when all of it has been told.
	events       chan sallyport.Progress
	progressDone chan struct{}
}

// maxNews bounds the progress events of one call that wait for its caller, and
// maxNewsBytes the text of each: the gate cuts it to a line. If the caller
// reads more slowly than the server sends, it misses events.
const maxNews, maxNewsBytes = 256, 16 << 10

func (s *mountedServer) newLink(k connKey) *connLink {
	l := &connLink{
		s: s, key: k, ready: make(chan struct{}),
		calls: map[string]*runningCall{}, listing: make(chan struct{}, 1), hangUp: func() {},
		stderr:   stderrLog{log: s.m.o.Logger.With("server", s.Name), plain: s.redactText},
		idleFlow: rateMeter{rate: whileIdle}, workFlow: rateMeter{rate: whileWorking},
		idleStderr: rateMeter{rate: idleStderrRate}, workStderr: rateMeter{rate: workStderrRate},
	}
	l.stderr.count = l.countStderr
	return l
}

// abandonedError is the error of a start that its caller gave up.
type abandonedError struct{ error }

func (a *abandonedError) Unwrap() error { return a.error }

func (l *connLink) isAbandoned() bool {
	_, ok := l.err.(*abandonedError)
	return ok
}

// recordLimit records which bound the server reached before it could be used.
func (l *connLink) recordLimit(limit *limitError) {
	select {
	case <-l.ready:
	default:
		l.limit.Store(limit)
	}
}

// dialServer starts a server, or greets a remote one, and asks what it offers. Calls
// never go to a process whose definitions were not checked. The server is
// offered only those client features that its declaration names.
func (l *connLink) dialServer(ctx context.Context, c *sallyport.Call) (n *serverListing, err error) {
	ctx, span := tracing.StartSpan(ctx, "initialize", tracing.KindClient)
	defer func() { l.s.describeStart(span, err) }()
	ctx, e := withCall(ctx, c)
	defer e.releaseAll(l.s.m.memory)
	defer l.greeting.releaseHolding(l.s.m.memory)
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(l.s.m.o.StartWait, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	l.hangUp = func() { cancel(nil) }
	t, err := l.newTransport(ctx, c)
	if err != nil {
		l.hangUp()
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "sallyport", Version: l.s.m.o.Version}, l.clientOptions())
	if l.session, err = client.Connect(ctx, wiredTransport{t, l}, nil); err == nil {
		if hello := l.session.InitializeResult(); hello != nil {
			l.negotiated, l.meta = hello.ProtocolVersion, metaOf(hello.ProtocolVersion, l.s.m.o.Version)
		}
		if n, err = l.listOffers(ctx); err == nil {
			l.endWithPrincipal(c)
			return n, nil
		}
	}
	return nil, l.endFailedStart(ctx, err)
}

// endWithPrincipal ends the session with a remote server when its principal may no
// longer use it. The gate follows a process by itself.
func (l *connLink) endWithPrincipal(c *sallyport.Call) {
	if c.Outlive == nil || l.child != nil || l.key.call != "" {
		return
	}
	l.reportEnd = c.Outlive("session with the MCP server "+l.s.Name, l.s.Shared, func(error) { l.s.pool.closeUnused(l, nil) })
}

// newTransport starts a server on this machine, or returns the way to a remote
// one.
func (l *connLink) newTransport(ctx context.Context, c *sallyport.Call) (mcp.Transport, error) {
	if len(l.s.Command) > 0 {
		return l.spawnProcess(ctx, c)
	}
	if err := l.s.m.o.Start(l.s.Name, ""); err != nil {
		return nil, err
	}
	return l.remoteTransport(), nil
}

// endFailedStart ends a connection that could not be established, and says why.
func (l *connLink) endFailedStart(ctx context.Context, err error) error {
	refused := l.refused.Load()
	if refused != nil && errors.Is(refused, oauth.ErrLogin) {
		l.closeAndWait()
		return refused
	}
	// The gate's short text does not quote the server.
	short, quoted, late := fmt.Sprintf("the MCP server %s did not start", l.s.Name), "", false
	switch limit := l.limit.Load(); {
	case limit != nil:
		short = fmt.Sprintf("%s: %v", short, limit)
	case refused != nil:
		short = fmt.Sprintf("%s: %v", short, refused)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		short, late = fmt.Sprintf("the MCP server %s did not list its tools within %v s", l.s.Name, l.s.m.o.StartWait.Seconds()), true
	case errors.Is(err, mcp.ErrConnectionClosed):
		short += ": it ended before it answered"
	default:
		quoted = fmt.Sprintf(": %v", err)
	}
	why := short + quoted
	if l.child != nil {
		l.child.Stop(0)
	}
	l.closeAndWait()
	if l.child != nil {
		if last := l.stderr.lastLine(); last != "" {
			why += "; it says: " + last
		}
	}
	// Later calls get this error too, and they must not learn the secrets of
	// this call.
	cause := &redactedError{text: l.s.redactText(short), late: late}
	if refused != nil && why == short && reach.IsSecretFailure(refused) {
		cause.secret = refused
	}
	return &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: l.s.redactText(why), Err: cause}
}

// clientOptions are those of a client that offers a server nothing. A server on this
// machine may announce that a list changes. A remote one would have to be asked
// outside a call. Notifications are handled by the wire.
func (l *connLink) clientOptions() *mcp.ClientOptions {
	o := &mcp.ClientOptions{
		Logger: l.s.m.o.Logger, Capabilities: l.s.clientCapabilities(),
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	if len(l.s.Command) > 0 {
		o.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {}
		o.PromptListChangedHandler = func(context.Context, *mcp.PromptListChangedRequest) {}
		o.ResourceListChangedHandler = func(context.Context, *mcp.ResourceListChangedRequest) {}
	}
	return o
}

// refusalNoter is an accessor of processes that has the record of its call say which
// hosts a process is refused that an earlier call may have started.
type refusalNoter interface {
	NoteRefusals(child sallyport.Child, sinceStart bool) (done func())
}

// noteRefusals has the record of a call say which hosts the process of the server is
// refused until done is called, and with sinceStart since it was started.
func (l *connLink) noteRefusals(c *sallyport.Call, sinceStart bool) (done func()) {
	if notes, ok := c.Process.(refusalNoter); ok && l.child != nil {
		return notes.NoteRefusals(l.child, sinceStart)
	}
	return func() {}
}

// closeAndWait closes the connection and returns when the process is gone.
func (l *connLink) closeAndWait() {
	l.ended.Do(func() {
		if l.idle != nil {
			l.idle.Stop()
		}
		l.mu.Lock()
		if l.relist != nil {
			l.relist.Stop()
		}
		l.mu.Unlock()
		// A server learns from the end of its input that it is over: node, as
		// the first process of its namespace, ignores signals.
		if l.session != nil {
			l.wire.finishCalls()
			// The error says that the other side has gone already.
			_ = l.session.Close()
		}
		if l.child != nil {
			l.child.Stop(endGrace)
		}
		l.hangUp()
		l.s.m.processes.releaseProcess(l)
		if l.reportEnd != nil {
			l.reportEnd()
		}
	})
}

// beginCall relays the progress of a call to its caller, under the id of the call.
func (l *connLink) beginCall(ctx context.Context, c *sallyport.Call) *runningCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &runningCall{call: c, ctx: ctx}
	l.calls[c.ID] = r
	return r
}

// trackRequest sets the context that ends when the server stops working on a request
// of a call.
func (l *connLink) trackRequest(id string, request context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.calls[id]; r != nil {
		r.request = request
	}
}

// hasCalls reports whether a call runs. The connection is idle after the last one.
func (l *connLink) hasCalls() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls) > 0
}

// endCall ends the relay of progress once the caller has been told everything.
// No progress may follow the answer.
func (l *connLink) endCall(ctx context.Context, r *runningCall) {
	l.mu.Lock()
	if l.calls[r.call.ID] == r {
		delete(l.calls, r.call.ID)
	}
	if l.sessionStream.by == r {
		l.sessionStream.endOfCall()
	}
	if r.events != nil {
		close(r.events)
	}
	if len(l.calls) == 0 && !l.dropped.Load() {
		l.idle.Reset(idleTime)
	}
	if len(l.calls) == 0 {
		l.idleSince = time.Now()
	}
	l.mu.Unlock()
	if r.progressDone == nil {
		return
	}
	select {
	case <-r.progressDone:
	case <-ctx.Done():
	}
}

// contextOfCall returns the context of a running call, for sending a message that no
// call asked for: all calls of a link have the same grant. Without a running
// call it returns ctx.
func (l *connLink) contextOfCall(ctx context.Context) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.calls {
		return r.ctx
	}
	return ctx
}

func (l *connLink) relayProgress(said *mcp.ProgressNotificationParams) {
	token, _ := said.ProgressToken.(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.calls[token]
	if !ok {
		return
	}
	p := sallyport.Progress{Message: said.Message, Audience: sallyport.AudienceUser}
	if len(p.Message) > maxNewsBytes {
		p.Message = "" // too long to read; it would occupy memory while it waits
	}
	if said.Total > 0 {
		percent := min(max(100*said.Progress/said.Total, 0), 100)
		p.Percent = &percent
	}
	if r.events == nil {
		r.events, r.progressDone = make(chan sallyport.Progress, maxNews), make(chan struct{})
		go func() {
			defer close(r.progressDone)
			for p := range r.events {
				r.call.Emit(p)
			}
		}()
	}
	// A caller that does not listen must not delay the answers of other calls.
	select {
	case r.events <- p:
	default:
	}
}
