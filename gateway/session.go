package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/running"
)

// sessionMeta is the _meta key by which a client of a protocol without sessions
// names its conversation.
const sessionMeta = "sallyport/session"

// maxSessionBytes bounds a session id that a client chooses.
const maxSessionBytes = 256

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

// conversationSet assigns sessions to callers of a protocol without sessions that
// name none. Each principal and personality has one session, which is replaced
// after an idle time.
type conversationSet struct {
	mu   sync.Mutex
	idle map[string]*currentConversation
}

type currentConversation struct {
	id   string
	last time.Time
}

// currentSession returns the conversation of a key. It starts a new one when the last
// call is too long ago.
func (c *conversationSet) currentSession(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	v := c.idle[key]
	if v == nil || now.Sub(v.last) > sessionIdle {
		c.pruneExpired(now)
		v = &currentConversation{id: newSession()}
		c.idle[key] = v
	}
	v.last = now
	return v.id
}

// pruneExpired forgets conversations that are over, so that the map holds only the
// principals of the last half hour.
func (c *conversationSet) pruneExpired(now time.Time) {
	for key, v := range c.idle {
		if now.Sub(v.last) > sessionIdle {
			delete(c.idle, key)
		}
	}
}

func newSession() string { return "mcp-" + rand.Text() }

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

// namedSession returns the conversation that a request names, or "" for none.
// It refuses an invalid name, because replacing the name could join two
// conversations.
func namedSession(meta map[string]any) (string, error) {
	v, ok := meta[sessionMeta]
	if !ok {
		return "", nil
	}
	name, ok := v.(string)
	if !ok || name == "" || len(name) > maxSessionBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: "_meta " + sessionMeta + ": expected a text of 1 to 256 bytes without control characters",
		}
	}
	return name, nil
}
