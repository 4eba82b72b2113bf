// Package gateway speaks the Model Context Protocol for the gate: it lists and
// calls the registry's tools over stdio and over streamable HTTP.
//
// Start with [New], then [Server.Stdio] or [Server.Handler], and end with
// [Server.Shutdown]. The package promises that every listing and every call
// asks the registry, that only the principal that opened a protocol session can
// use it, that only progress meant for the user is sent to the client, and that
// a client's cancellation reaches the tool. Package auth authenticates requests
// before they arrive here.
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
)

const (
	// maxMessageBytes bounds one message. The arguments may take 8 MiB, and the
	// envelope is small.
	maxMessageBytes = 9 << 20
	// sessionIdle is how long a protocol session may be idle before it is
	// closed.
	sessionIdle = 30 * time.Minute
	// stopWait bounds how long the server waits for cancelled calls. The gate
	// answers after one second for a tool that ignores the cancellation.
	stopWait = 5 * time.Second
)

// statelessSince is the first protocol version without sessions. Versions are
// dates and compare as text.
const statelessSince = "2026-07-28"

// Server serves one gate. It is safe for concurrent use.
type Server struct {
	gate          Gate
	o             Options
	conversations conversationSet
	overHTTP      *running.Set // calls
	posts         *running.Set // requests that are being read and answered
	questions     *running.Set // questions that wait over sessions
	listens       *running.Set // streams of changes over HTTP without sessions
	sessions      sessionSet   // sessions of HTTP
	lists         pageCache
	followed      followedResources
	early         precomputedResults // held results of direct calls over HTTP
	seal          *stateSeal         // encrypts the state that clients keep between two rounds
	parked        pendingCalls
	tasks         taskSet
	answers       answerBuffers
	identity      []byte // the server's identity in each result
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
		conversations: conversationSet{idle: map[string]*currentConversation{}},
		sessions:      sessionSet{open: map[string]*httpSession{}},
		tasks:         newTasks(),
		followed:      followedResources{by: map[string]map[string]struct{}{}},
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
	s.mcp = s.newLibraryServer(identity)
	if err = registerTasks(s.mcp); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return s, nil
}

// newLibraryServer returns the protocol library's server. It offers every kind of list
// even when the list is empty now: the offer can change at any time, and a
// client asks for capabilities only once.
func (s *Server) newLibraryServer(identity *mcp.Implementation) *mcp.Server {
	l := mcp.NewServer(identity, &mcp.ServerOptions{
		Logger: s.o.Logger,
		Capabilities: withMessages(&mcp.ServerCapabilities{
			Tools:       &mcp.ToolCapabilities{ListChanged: true},
			Prompts:     &mcp.PromptCapabilities{ListChanged: true},
			Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
			Completions: &mcp.CompletionCapabilities{},
			Extensions:  map[string]any{tasksExtension: struct{}{}},
		}),
		CompletionHandler:  s.completeArgument,
		SubscribeHandler:   s.subscribeResource,
		UnsubscribeHandler: s.unsubscribeResource,
		SetCacheable: func(_ context.Context, r mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = listTTL, listScope
			if _, ok := r.(*mcp.ReadResourceRequest); ok {
				c.TTLMs = 0 // the content behind a URI may differ next time
			}
		},
	})
	s.registerWithLibrary(l)
	l.AddReceivingMiddleware(s.routeRequest, s.acceptLevels)
	return l
}

// Shutdown ends the sessions of HTTP. It withdraws unanswered questions,
// cancels the tasks, waits for running calls until ctx ends, cancels the rest,
// and closes the streams on which clients listen. Calls that arrive during the
// shutdown are decided and recorded, and cancelled. The error is the context's
// when calls had to be cancelled.
func (s *Server) Shutdown(ctx context.Context) error {
	s.questions.Stop()
	s.tasks.stopAll()
	err := s.overHTTP.Wait(ctx)
	s.overHTTP.Stop()
	s.listens.Stop()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	err = errors.Join(err, s.overHTTP.Wait(stop))
	// A call is over before its answer is written. Closing the session now
	// would drop the answer.
	err = errors.Join(err, s.posts.Wait(stop), s.listens.Wait(stop))
	var closing sync.WaitGroup
	for session := range s.mcp.Sessions() {
		if session.ID() != "" {
			// The error says that the client has gone already.
			closing.Go(func() { _ = session.Close() })
		}
	}
	closing.Wait()
	s.sessions.closeAll()
	return err
}
