package registry

import (
	"context"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/schema"
)

// Live is the registry in force, which [Live.Replace] exchanges while calls
// run. A call ends in the registry in which it began, and the next call uses
// the new one. It answers what a registry answers, so that the servers of
// packages gateway and httpapi take either of them. It is safe for concurrent
// use.
//
// The callers that its methods are given may have been authenticated under an
// earlier registry: see [Options.Refresh].
type Live struct {
	mu  sync.Mutex
	now *servedRegistry
}

// servedRegistry is a registry that is or was in force.
type servedRegistry struct {
	*Registry
	// users counts the acquisitions that were not released. replaced is true
	// when another registry is in force. idle is closed when the registry is
	// replaced and has no users.
	users    int
	replaced bool
	idle     chan struct{}
}

func newServed(r *Registry) *servedRegistry {
	return &servedRegistry{Registry: r, idle: make(chan struct{})}
}

// NewLive puts a first registry in force, which must not be nil.
func NewLive(r *Registry) *Live { return &Live{now: newServed(r)} }

// Acquire returns the registry in force and the function that releases it. The
// registry is not idle, in the sense of [Live.Replace], until release was
// called. A second release does nothing.
func (l *Live) Acquire() (r *Registry, release func()) {
	s := l.acquire()
	return s.Registry, sync.OnceFunc(func() { l.release(s) })
}

func (l *Live) acquire() *servedRegistry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.users++
	return l.now
}

func (l *Live) release(s *servedRegistry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.users--
	s.closeIdle()
}

// closeIdle closes idle when the registry is replaced and unused. The caller
// holds the lock.
func (s *servedRegistry) closeIdle() {
	if s.replaced && s.users == 0 {
		close(s.idle)
	}
}

// Replace puts another registry in force, which must not be nil. It returns
// the previous one and a channel that closes when the previous registry has no
// users: the last call in it has ended, and every acquisition is released. The
// caller closes the previous registry then. Replace itself does not wait.
//
// The function commit, unless nil, runs in the same step. It puts in force what
// belongs to the new registry, such as its principals: a caller that
// authenticates as one of them finds the new registry. It must not use l.
func (l *Live) Replace(next *Registry, commit func()) (previous *Registry, idle <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.now
	l.now = newServed(next)
	if commit != nil {
		commit()
	}
	was.replaced = true
	was.closeIdle()
	return was.Registry, was.idle
}

// refresh returns a caller with the rights that it has now.
func (s *servedRegistry) refresh(ctx context.Context, caller *sallyport.Caller) *sallyport.Caller {
	if s.o.Refresh == nil || caller == nil {
		return caller
	}
	return s.o.Refresh(ctx, caller)
}

// serve asks the registry in force, which is not idle before it has answered.
func serve[T any](l *Live, ask func(s *servedRegistry) T) T {
	s := l.acquire()
	defer l.release(s)
	return ask(s)
}

// serveCaller is serve for a question about what a caller may see.
func serveCaller[T any](l *Live, caller *sallyport.Caller, ask func(*Registry, *sallyport.Caller) T) T {
	return serve(l, func(s *servedRegistry) T { return ask(s.Registry, s.refresh(context.Background(), caller)) })
}

// Call decides and makes one call: see [Registry.Call].
func (l *Live) Call(ctx context.Context, caller *sallyport.Caller, q sallyport.Request) sallyport.Result {
	return serve(l, func(s *servedRegistry) sallyport.Result { return s.Registry.Call(ctx, s.refresh(ctx, caller), q) })
}

// Batch decides and makes several calls: see [Registry.Batch].
func (l *Live) Batch(ctx context.Context, caller *sallyport.Caller, requests []sallyport.Request) []sallyport.Result {
	return serve(l, func(s *servedRegistry) []sallyport.Result {
		return s.Registry.Batch(ctx, s.refresh(ctx, caller), requests)
	})
}

// Reject records a call that did not arrive complete: see [Registry.Reject].
func (l *Live) Reject(ctx context.Context, caller *sallyport.Caller, q sallyport.Request, why string) sallyport.Result {
	return serve(l, func(s *servedRegistry) sallyport.Result { return s.Registry.Reject(ctx, caller, q, why) })
}

// Definitions returns the tools that a caller sees: see
// [Registry.Definitions].
func (l *Live) Definitions(caller *sallyport.Caller) []Definition {
	return serveCaller(l, caller, (*Registry).Definitions)
}

// List returns the tools that a caller sees as they were declared: see
// [Registry.List].
func (l *Live) List(caller *sallyport.Caller) []sallyport.Tool {
	return serveCaller(l, caller, (*Registry).List)
}

// Explain returns the decision about a tool before its arguments count: see
// [Registry.Explain].
func (l *Live) Explain(caller *sallyport.Caller, tool string) (Explanation, error) {
	s := l.acquire()
	defer l.release(s)
	return s.Registry.Explain(s.refresh(context.Background(), caller), tool)
}

// Prompts returns the prompts that a caller sees: see [Registry.Prompts].
func (l *Live) Prompts(caller *sallyport.Caller) []Definition {
	return serveCaller(l, caller, (*Registry).Prompts)
}

// Resources returns the resources that a caller sees: see
// [Registry.Resources].
func (l *Live) Resources(caller *sallyport.Caller) []sallyport.Resource {
	return serveCaller(l, caller, (*Registry).Resources)
}

// Reader returns the ID of the tool that reads a URI: see [Registry.Reader].
func (l *Live) Reader(caller *sallyport.Caller, uri string) (id string, ok bool) {
	s := l.acquire()
	defer l.release(s)
	return s.Registry.Reader(s.refresh(context.Background(), caller), uri)
}

// Asks reports whether a call is held for a human: see [Registry.Asks].
func (l *Live) Asks(caller *sallyport.Caller, id string) bool {
	return serveCaller(l, caller, func(r *Registry, c *sallyport.Caller) bool { return r.Asks(c, id) })
}

// Headers returns the arguments that clients repeat in HTTP headers: see
// [Registry.Headers].
func (l *Live) Headers(caller *sallyport.Caller, tool string) []schema.Header {
	return serveCaller(l, caller, func(r *Registry, c *sallyport.Caller) []schema.Header { return r.Headers(c, tool) })
}

// FileArguments returns the arguments of a tool that take files: see
// [Registry.FileArguments].
func (l *Live) FileArguments(caller *sallyport.Caller, tool string) []attached.Argument {
	return serveCaller(l, caller, func(r *Registry, c *sallyport.Caller) []attached.Argument { return r.FileArguments(c, tool) })
}

// Inquires reports whether a tool declares that it asks its caller: see
// [Registry.Inquires].
func (l *Live) Inquires(id string) bool {
	return serve(l, func(s *servedRegistry) bool { return s.Registry.Inquires(id) })
}

// Tasks returns what a tool declares about tasks: see [Registry.Tasks].
func (l *Live) Tasks(id string) sallyport.TaskSupport {
	return serve(l, func(s *servedRegistry) sallyport.TaskSupport { return s.Registry.Tasks(id) })
}

// Stands reports whether a caller may still get the result of a call that it
// made: see [Registry.Stands].
func (l *Live) Stands(ctx context.Context, caller *sallyport.Caller, tool string, since time.Time) bool {
	return serve(l, func(s *servedRegistry) bool { return s.Registry.Stands(ctx, caller, tool, since) })
}
