package gateway

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// askableClient is the sender of a request, which may be able to answer questions.
type askableClient struct {
	*Server
	session *mcp.ServerSession
	able    *mcp.ClientCapabilities
	rounds  bool // the protocol asks questions in another round
	caller  *sallyport.Caller
	q       sallyport.Request
}

// clientOf returns the client of a request. It returns nil for a request that
// does not describe its client.
func (s *Server) clientOf(req mcp.Request, caller *sallyport.Caller, q sallyport.Request) *askableClient {
	r, ok := req.(interface {
		ClientCapabilities() *mcp.ClientCapabilities
		ProtocolVersion() string
	})
	session, known := req.GetSession().(*mcp.ServerSession)
	if !ok || !known {
		return nil
	}
	able, rounds := r.ClientCapabilities(), r.ProtocolVersion() >= statelessSince
	if begun := session.InitializeParams(); !rounds && begun != nil {
		able = begun.Capabilities // they do not change within a session
	}
	return &askableClient{Server: s, session: session, able: able, rounds: rounds, caller: caller, q: q}
}

// boundWords returns the words that the state between two rounds is bound to: the
// principal, its role, the tool and the arguments.
func (c *askableClient) boundWords() []string {
	return []string{c.caller.Principal.Name, c.caller.Personality, c.q.Tool, argsOf(c.q.Args)}
}

// roundInput is what a client sends along when it answers the questions of a call.
type roundInput struct {
	responses mcp.InputResponseMap
	state     string
}

// clientQuestion is the result of a round that did not end the call: either the
// client has to answer requests in the next round, or the call became a task.
type clientQuestion struct {
	requests mcp.InputRequestMap
	state    string
	task     *callTask // nil when the client has to answer
}

// resultMeta returns the _meta of a call that was answered with a question. It
// returns nil when the call has not ended.
func (q *clientQuestion) resultMeta(res *sallyport.Result) mcp.Meta {
	if res.CallID == "" {
		return nil
	}
	return resultMeta(res)
}

// canElicit reports whether a client shows forms to a person. A client that names
// neither forms nor addresses supports forms.
func canElicit(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// stillAuthorized reports whether an answer that came while the call waited counts: the
// principal must still have the rights that it had when it asked.
func (c *askableClient) stillAuthorized(ctx context.Context) bool {
	p, ok := c.sessions.latestPrincipal(c.session.ID())
	if connectionFrom(ctx) != nil {
		p, ok = c.o.Principal(), true
	}
	return ok && samePrincipal(&p, &c.caller.Principal)
}

// samePrincipal reports whether two requests came from the same principal with the
// same rights.
func samePrincipal(p, q *sallyport.Principal) bool {
	return p.Name == q.Name && p.Person == q.Person && slices.Equal(p.Permissions, q.Permissions) &&
		(p.Personalities == nil) == (q.Personalities == nil) && slices.Equal(p.Personalities, q.Personalities)
}
