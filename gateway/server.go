// Package gateway speaks the Model Context Protocol for the gate: it lists and
// calls the registry's tools over stdio and over streamable HTTP.
//
// Start with [New], then [Server.Stdio] or [Server.Handler]. It promises that
// every listing and every call asks the registry, that progress for others
// than the user stays inside, and that a client's cancellation reaches the
// tool. Authentication happens before it, in package auth.
package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/registry"
)

// maxRequestBytes bounds one message: the arguments' own bound is 8 MiB, and
// the envelope is small.
const maxRequestBytes = 9 << 20

// sessionIdle is how long a protocol session may be idle before it is closed.
const sessionIdle = 30 * time.Minute

// Gate is what the server needs of a registry. It must be safe for concurrent
// use.
type Gate interface {
	// Definitions returns the tools that the caller sees.
	Definitions(caller *sallyport.Caller) []registry.Definition
	// Call decides and makes one call.
	Call(ctx context.Context, caller *sallyport.Caller, q sallyport.Request) sallyport.Result
}

// Options configure a server. The zero value is usable.
type Options struct {
	// Personality is the role of every caller.
	Personality string
	// Principal is the principal of stdio, where nobody authenticates: the
	// local user. Empty means sallyport.LocalPrincipal without permissions.
	Principal sallyport.Principal
	// Version is reported to clients; empty means "dev".
	Version string
	// Logger receives the protocol's own events; nil discards them.
	Logger *slog.Logger
}

// Server serves one gate. It is safe for concurrent use.
type Server struct {
	gate     Gate
	o        Options
	sessions *sessions
	mcp      *mcp.Server
}

// New returns a server over a gate.
func New(gate Gate, o *Options) (*Server, error) {
	if gate == nil {
		return nil, errors.New("gateway: the gate is nil")
	}
	s := &Server{gate: gate, sessions: newSessions()}
	if o != nil {
		s.o = *o
	}
	if s.o.Principal.Name == "" {
		s.o.Principal.Name = sallyport.LocalPrincipal
	}
	if s.o.Version == "" {
		s.o.Version = "dev"
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "sallyport", Title: "Sallyport", Version: s.o.Version}, &mcp.ServerOptions{
		Logger:       s.o.Logger,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.mcp.AddTool(&mcp.Tool{Name: dispatch, InputSchema: map[string]any{"type": "object"}}, s.call)
	s.mcp.AddReceivingMiddleware(s.receive)
	return s, nil
}

// Stdio serves one client over a pair of streams until the input ends or the
// context is cancelled. Nothing else may write to out.
func (s *Server) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// Handler serves streamable HTTP. Both generations of the protocol answer on
// one URL: requests of 2026-07-28 and later have no session, earlier ones do.
// It must stand behind an auth.Guard, which names the principal; a request
// without one is answered 401.
func (s *Server) Handler() http.Handler {
	server := func(*http.Request) *mcp.Server { return s.mcp }
	// The guard has checked Host and Origin against the server's own names;
	// the SDK's check of its own would refuse names that the operator added.
	common := mcp.StreamableHTTPOptions{
		Logger: s.o.Logger, MaxRequestBodyBytes: maxRequestBytes, DisableLocalhostProtection: true,
	}
	stateless, stateful := common, common
	stateless.Stateless, stateless.PropagateRequestCancellation = true, true
	stateful.SessionTimeout = sessionIdle
	newer := mcp.NewStreamableHTTPHandler(server, &stateless)
	older := mcp.NewStreamableHTTPHandler(server, &stateful)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := auth.PrincipalFrom(r.Context())
		if !ok {
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		// The library hands headers, not the request's context, to its
		// handlers. Set replaces whatever the client put here.
		r.Header.Set(principalHeader, s.sessions.ticket(p))
		if r.Header.Get("Mcp-Protocol-Version") >= statelessSince {
			newer.ServeHTTP(w, r)
			return
		}
		older.ServeHTTP(w, r)
	})
}

// statelessSince is the first protocol version without sessions. Versions are
// dates and compare as text.
const statelessSince = "2026-07-28"
