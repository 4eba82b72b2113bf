// Package gateway speaks the Model Context Protocol for the gate: it lists and
// calls the registry's tools over stdio and over streamable HTTP.
//
// Start with [New], then [Server.Stdio] or [Server.Handler], and end with
// [Server.Shutdown]. It promises that every listing and every call asks the
// registry, that a protocol session answers to the principal that opened it
// and to nobody else, that progress for others than the user stays inside, and
// that a client's cancellation reaches the tool. Authentication happens before
// it, in package auth.
//
// The register of promises is docs/guarantees.md: G-DECIDE, G-SESSION.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/running"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

const (
	// maxMessageBytes bounds one message: the arguments' own bound is 8 MiB,
	// and the envelope is small.
	maxMessageBytes = 9 << 20
	// sessionIdle is how long a protocol session may be idle before it is
	// closed.
	sessionIdle = 30 * time.Minute
	// stopWait bounds how long calls that were cancelled are waited for. The
	// gate answers for a tool that does not listen after one second.
	stopWait = 5 * time.Second
)

// statelessSince is the first protocol version without sessions. Versions are
// dates and compare as text.
const statelessSince = "2026-07-28"

// Gate is what the server needs of a registry. It must be safe for concurrent
// use.
type Gate interface {
	// Definitions returns the tools that the caller sees, sorted by name.
	Definitions(caller *sallyport.Caller) []registry.Definition
	// Prompts returns the prompts that the caller sees, sorted by their bare
	// names. A call is of "prompt:" and the name.
	Prompts(caller *sallyport.Caller) []registry.Definition
	// Resources returns what the caller sees, sorted by URI or template.
	Resources(caller *sallyport.Caller) []sallyport.Resource
	// Reader returns what to call for what is behind a URI; ok is false when
	// the caller sees nothing that reads it.
	Reader(caller *sallyport.Caller, uri string) (id string, ok bool)
	// Asks reports whether a call is held for a human, who may be the one
	// behind the caller's client.
	Asks(caller *sallyport.Caller, id string) bool
	// Headers returns the arguments of a tool that clients repeat in headers of
	// HTTP: none when the caller does not see the tool.
	Headers(caller *sallyport.Caller, tool string) []schema.Header
	// Inquires reports whether a tool declares that it asks whoever called.
	Inquires(id string) bool
	// Tasks returns what a tool declares about tasks.
	Tasks(id string) sallyport.TaskSupport
	// Stands reports whether a caller that made a call of a tool at a moment may
	// still hear of it.
	Stands(ctx context.Context, caller *sallyport.Caller, tool string, since time.Time) bool
	// Call decides and makes one call.
	Call(ctx context.Context, caller *sallyport.Caller, q sallyport.Request) sallyport.Result
}

// Options configure a server. The zero value is usable.
type Options struct {
	// Personality is the role of every caller that may take it; others get
	// the first of their principal's.
	Personality string
	// Principal returns the principal of stdio, where nobody authenticates:
	// the local user. It is asked at each call, so that what the principal may
	// do is what it may do now. nil means sallyport.LocalPrincipal, a person
	// without permissions.
	Principal func() sallyport.Principal
	// Version is reported to clients; empty means "dev".
	Version string
	// Desk records what the person behind a client says to a call that is held
	// for a human. nil means that nobody is asked over the protocol.
	Desk sallyport.ApprovalDesk
	// Logger receives the protocol's own events; nil discards them.
	Logger *slog.Logger
}

// Server serves one gate. It is safe for concurrent use.
type Server struct {
	gate          Gate
	o             Options
	conversations conversations
	overHTTP      *running.Set // calls
	posts         *running.Set // requests that are read and answered
	questions     *running.Set // that wait over sessions
	listens       *running.Set // streams of changes over HTTP without sessions
	sessions      sessions     // of HTTP
	lists         lists
	followed      followed
	early         early // of direct calls over HTTP that are held
	seal          *seal // of what clients keep between two rounds of a call
	parked        parking
	tasks         tasks
	answers       answers
	identity      []byte // what the server says about itself in each result
	viaLibrary    bool   // nothing is answered directly; tests compare the two
	writeWait     time.Duration
	mcp           *mcp.Server
}

// New returns a server over a gate.
func New(gate Gate, o *Options) (*Server, error) {
	if gate == nil {
		return nil, errors.New("gateway: the gate is nil")
	}
	s := &Server{
		writeWait: writeWait,
		gate:      gate, overHTTP: running.New(0, 0), posts: running.New(maxPosts, maxOwnPosts),
		listens:       running.NewYielding(maxListens, maxOwnListens),
		questions:     running.New(maxQuestions, maxOwnQuestions),
		conversations: conversations{idle: map[string]*conversation{}},
		sessions:      sessions{open: map[string]*session{}},
		tasks:         newTasks(),
		followed:      followed{by: map[string]map[string]struct{}{}},
	}
	if o != nil {
		s.o = *o
	}
	if s.o.Principal == nil {
		s.o.Principal = func() sallyport.Principal { return sallyport.Principal{Name: sallyport.LocalPrincipal, Person: true} }
	}
	if s.o.Version == "" {
		s.o.Version = "dev"
	}
	if s.o.Logger == nil {
		s.o.Logger = slog.New(slog.DiscardHandler)
	}
	identity := &mcp.Implementation{Name: "sallyport", Title: "Sallyport", Version: s.o.Version}
	var err error
	if s.identity, err = json.Marshal(identity); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if s.seal, err = newSeal(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	s.mcp = s.library(identity)
	if err = registerTasks(s.mcp); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return s, nil
}

// library returns the protocol library's server. Lists may be empty: what is
// offered can change at any time, and a client asks once what there can be.
func (s *Server) library(identity *mcp.Implementation) *mcp.Server {
	l := mcp.NewServer(identity, &mcp.ServerOptions{
		Logger: s.o.Logger,
		Capabilities: withMessages(&mcp.ServerCapabilities{
			Tools:       &mcp.ToolCapabilities{ListChanged: true},
			Prompts:     &mcp.PromptCapabilities{ListChanged: true},
			Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
			Completions: &mcp.CompletionCapabilities{},
			Extensions:  map[string]any{tasksExtension: struct{}{}},
		}),
		CompletionHandler:  s.complete,
		SubscribeHandler:   s.subscribe,
		UnsubscribeHandler: s.unsubscribe,
		SetCacheable: func(_ context.Context, r mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = listTTL, listScope
			if _, ok := r.(*mcp.ReadResourceRequest); ok {
				c.TTLMs = 0 // what is behind a URI may be another thing next time
			}
		},
	})
	s.register(l)
	l.AddReceivingMiddleware(s.receive, s.levels)
	return l
}

// Shutdown ends the sessions of HTTP: it takes back the questions that nobody
// has answered, cancels the tasks, waits for calls that run until the context ends, cancels the
// rest, and closes what clients still listen to.
// Calls that arrive meanwhile are decided and recorded, and cancelled. The
// error is the context's when calls had to be cancelled.
func (s *Server) Shutdown(ctx context.Context) error {
	s.questions.Stop()
	s.tasks.stop()
	err := s.overHTTP.Wait(ctx)
	s.overHTTP.Stop()
	s.listens.Stop()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	err = errors.Join(err, s.overHTTP.Wait(stop))
	// A call is over before its answer is written; a session that closes
	// would drop the answer.
	err = errors.Join(err, s.posts.Wait(stop), s.listens.Wait(stop))
	var closing sync.WaitGroup
	for session := range s.mcp.Sessions() {
		if session.ID() != "" {
			// The error says that the client is gone already.
			closing.Go(func() { _ = session.Close() })
		}
	}
	closing.Wait()
	s.sessions.close()
	return err
}
