package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ViaLibrary makes the protocol library answer everything, as if there were no
// direct way. It must be called before the server serves.
func (s *Server) ViaLibrary() { s.viaLibrary = true }

// Pace has clients read at once. It must be called before the server serves.
func (s *Server) Pace(wait time.Duration) { s.writeWait = wait }

// Seen counts the calls and listings that the library sees from now on. It must
// be called before the server serves.
func (s *Server) Seen() *atomic.Int64 {
	var n atomic.Int64
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" || method == "tools/list" {
				n.Add(1)
			}
			return next(ctx, method, req)
		}
	})
	return &n
}

// Parked is how many calls wait for another round.
func (s *Server) Parked() int {
	s.parked.mu.Lock()
	defer s.parked.mu.Unlock()
	return len(s.parked.waiting)
}

// BoundTasks has fewer tasks, and what they keep be less. It must be called before
// the server serves.
func (s *Server) BoundTasks(most, each, mostBytes, eachBytes int) {
	s.tasks.most, s.tasks.each, s.tasks.mostBytes, s.tasks.eachBytes = most, each, mostBytes, eachBytes
}

// TaskBounds returns the bounds, in the same order.
func (s *Server) TaskBounds() [4]int {
	return [4]int{s.tasks.most, s.tasks.each, s.tasks.mostBytes, s.tasks.eachBytes}
}

// KeptTasks is how many tasks run or are kept.
func (s *Server) KeptTasks() int {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	return len(s.tasks.byID)
}

// SessionsOf is how many sessions of HTTP a principal has, OpenSessions how many
// there are.
func (s *Server) SessionsOf(principal string) int { return s.sessions.of(principal) }

// OpenSessions is how many sessions of HTTP the library has.
func (s *Server) OpenSessions() (n int) {
	for session := range s.mcp.Sessions() {
		if session.ID() != "" {
			n++
		}
	}
	return n
}
