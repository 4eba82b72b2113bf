package gateway

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// principalHeader carries a ticket for the authenticated principal from the
// HTTP handler to the protocol's handlers.
const principalHeader = "Sallyport-Principal"

// sessionMeta is the _meta key by which a client of a protocol without
// sessions names its conversation.
const sessionMeta = "sallyport/session"

// sessions gives tickets to principals and a conversation to callers that
// name none: one per principal, replaced after an idle time.
type sessions struct {
	mu         sync.Mutex
	now        func() time.Time
	tickets    map[string]sallyport.Principal
	principals map[string]string // JSON of a principal -> ticket
	idle       map[string]*conversation
}

type conversation struct {
	id   string
	last time.Time
}

func newSessions() *sessions {
	return &sessions{
		now:     time.Now,
		tickets: map[string]sallyport.Principal{}, principals: map[string]string{},
		idle: map[string]*conversation{},
	}
}

// ticket returns an unguessable word for a principal. The set of principals is
// the operator's, so the maps do not grow with requests.
func (s *sessions) ticket(p sallyport.Principal) string {
	// A principal is a name and a list of words: it always marshals.
	text, _ := json.Marshal(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.principals[string(text)]; ok {
		return t
	}
	t := rand.Text()
	s.principals[string(text)], s.tickets[t] = t, p
	return t
}

func (s *sessions) principal(ticket string) (sallyport.Principal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.tickets[ticket]
	return p, ok
}

// current returns the conversation of a caller that named none.
func (s *sessions) current(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	c := s.idle[key]
	if c == nil || now.Sub(c.last) > sessionIdle {
		c = &conversation{id: "mcp-" + rand.Text()}
		s.idle[key] = c
	}
	c.last = now
	return c.id
}

// caller says who is calling: the ticket's principal over HTTP, the local one
// over stdio. The personality is the server's, never the client's choice.
func (s *Server) caller(session *mcp.ServerSession, extra *mcp.RequestExtra, meta mcp.Meta) (*sallyport.Caller, error) {
	c := &sallyport.Caller{
		Principal: s.o.Principal, Personality: s.o.Personality, Platform: sallyport.PlatformMCP,
	}
	if extra != nil && extra.Header != nil {
		p, ok := s.sessions.principal(extra.Header.Get(principalHeader))
		if !ok {
			return nil, errors.New("gateway: a request without a principal")
		}
		c.Principal = p
	}
	switch named, ok := meta[sessionMeta].(string); {
	case ok && named != "" && len(named) <= maxSessionBytes:
		c.Session = named
	case session != nil && session.ID() != "":
		c.Session = session.ID()
	default:
		name, _ := json.Marshal([]string{c.Principal.Name, c.Personality})
		c.Session = s.sessions.current(base64.RawStdEncoding.EncodeToString(name))
	}
	return c, nil
}

// maxSessionBytes bounds a session id that a client chooses.
const maxSessionBytes = 256
