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
// The files go one way. A transport (http.go, stdio.go) reads messages and bounds
// them, dispatch.go hands each request to the handler of its method, a handler
// (one file for each kind: call.go, prompts.go and so on) is a function of a
// decoded request, and call.go makes the calls of the gate. Package wire, at the
// bottom, knows the form of messages.
//
// The register of promises is docs/guarantees.md: G-DECIDE, G-SESSION.
package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Server serves one gate. It is safe for concurrent use.
type Server struct {
	core *core
	http *httpSurface
}

// New returns a server over a gate.
func New(gate Gate, o *Options) (*Server, error) {
	if gate == nil {
		return nil, errors.New("gateway: the gate is nil")
	}
	c, err := newCore(gate, o)
	if err != nil {
		return nil, err
	}
	return &Server{core: c, http: newHTTPSurface(c)}, nil
}

// Handler serves streamable HTTP. Both generations of the protocol answer on
// one URL: requests of 2026-07-28 and later have no session, earlier ones do.
// It must stand behind an auth.Guard, which names the principal and has checked
// Host and Origin; a request without a principal is answered 401.
func (s *Server) Handler() http.Handler { return s.http }

// Stdio serves one client over a pair of streams, one message per line, until
// the input ends or the context is cancelled. It answers a line that is not a
// message with an error and goes on with the next one. When the input ends,
// running calls are finished; when the context is cancelled, they are
// cancelled. The caller must not write anything else to out. Stdio closes both
// streams at the end.
func (s *Server) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return serveStdio(ctx, s.core, in, out)
}

// ListChanged tells every client that its lists of tools, prompts and resources
// may have changed, and tells clients that follow resources that these may have
// changed. Calls in quick succession make one notification of each kind. Call
// it after you put another registry behind the gate or other tools into it.
func (s *Server) ListChanged() { s.core.changes.announceChange() }

// Shutdown ends the sessions of HTTP. It withdraws unanswered questions,
// cancels the tasks, waits for running calls until ctx ends, cancels the rest,
// and closes the streams on which clients listen. Calls that arrive during the
// shutdown are decided and recorded, and cancelled. The error is the context's
// when calls had to be cancelled.
func (s *Server) Shutdown(ctx context.Context) error {
	s.core.questions.Stop()
	s.core.tasks.stopAll()
	return s.http.shutdown(ctx)
}
