package gateway

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/running"
)

// streamConnection is the state that all calls of one stdio stream share. A handler
// finds it in its context; over HTTP there is none.
type streamConnection struct {
	session  string
	calls    *running.Set
	messages atomic.Bool        // the client set a log level
	early    precomputedResults // results of direct calls that are held
}

type connectionKey struct{}

func connectionFrom(ctx context.Context) *streamConnection {
	c, _ := ctx.Value(connectionKey{}).(*streamConnection)
	return c
}

// callerOf returns the caller of a request: the authenticated principal over
// HTTP, the local one on a stream. The personality is the server's, or the
// principal's first one when the principal may not take the server's. The
// client never chooses it.
func (s *Server) callerOf(ctx context.Context, req mcp.Request) (*sallyport.Caller, error) {
	c := &sallyport.Caller{Platform: sallyport.PlatformMCP}
	stream := connectionFrom(ctx)
	if stream != nil {
		c.Principal = s.o.Principal()
	} else {
		p, ok := boundPrincipal(req.GetExtra())
		if !ok {
			return nil, errors.New("gateway: a request without a principal")
		}
		c.Principal = p
	}
	c.Personality = c.Principal.Role("", s.o.Personality)
	meta := req.GetParams().GetMeta()
	if v, _ := meta[mcp.MetaKeyProtocolVersion].(string); v >= statelessSince {
		named, err := namedSession(meta)
		if c.Session = named; named == "" && err == nil {
			c.Session = s.conversations.currentSession(sallyport.SessionKey(c.Principal.Name, c.Personality))
		}
		return c, err
	}
	if stream != nil {
		c.Session = stream.session
		return c, nil
	}
	c.Session = req.GetSession().ID()
	return c, nil
}
