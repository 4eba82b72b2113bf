package upstream

import (
	"context"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
)

// RunnerTool returns a tool of a server for another tool that calls it with arguments of
// its own, such as one that hands work to a sub-agent. It has the declaration of the
// server's tools, and is there before the server was asked what it offers: it is available
// while the server offers exactly the definition that is mounted. ok is false when no such
// server is mounted.
func (m *Mounts) RunnerTool(server, tool string) (t sallyport.Tool, ok bool) {
	s := m.findServer(server)
	if s == nil {
		return t, false
	}
	key := definitionKey{KindTool, tool}
	t = s.newTool(tool)
	t.Does, t.Destinations = s.Effects[tool].Does, s.Effects[tool].Destinations
	t.IsAvailable = func() bool { return s.findMounted(key) != nil && s.isAnyAvailable(key) }
	t.WhyNot = func() string {
		if s.findMounted(key) != nil {
			return s.unavailableReason()
		}
		return fmt.Sprintf("the MCP server %s does not offer the tool %s, or has not been asked yet", s.Name, text.Clip(tool, 64))
	}
	t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		d := s.findMounted(key)
		if d == nil {
			return sallyport.Result{}, &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: t.WhyNot()}
		}
		headers, err := schema.Headers(d.tree["inputSchema"])
		if err != nil {
			return sallyport.Result{}, err
		}
		return s.callTool(ctx, c, d, headers)
	}
	return t, true
}

// findMounted returns a definition that is mounted; nil when it is not.
func (s *mountedServer) findMounted(key definitionKey) *offering {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mounted[key]
}
