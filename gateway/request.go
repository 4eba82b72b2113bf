package gateway

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/running"
	"github.com/sallyport/sallyport/internal/turn"
)

// statelessSince is the first protocol version without sessions. Versions are
// dates and compare as text.
const statelessSince = "2026-07-28"

// spokenVersions are the versions of the protocol that the server speaks, newest
// first.
var spokenVersions = []string{statelessSince, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// smallBytes is the length of a message that needs no place among the long ones. A
// longer one is forgotten with its request.
const smallBytes = 256 << 10

// carrier is the transport's side of one request.
type carrier interface {
	// send sends a notification or a question that belongs to the request. The
	// error is that the client has gone. It is safe for concurrent use.
	send(text []byte) error
}

// request is one decoded request, with who sent it and the way back to them.
type request struct {
	wire.Message
	carrier
	rounds    bool                // the protocol has no sessions: questions are asked in another round
	principal sallyport.Principal // unused on stdio, where [Options.Principal] says who it is
	session   *session            // nil in a protocol without sessions over HTTP
	able      wire.Abilities      // what the client declares
	calls     *running.Set        // the set that its calls belong to
	streams   bool                // events belong to the answer, which is a stream for that reason
	local     bool                // it came over stdio
	said      turn.Context        // what its header says of the turn
}

// readClient reads what a request says about its client. A protocol without
// sessions requires the client's capabilities in each request.
func (r *request) readClient() error {
	if !r.rounds {
		open, able, _ := r.session.state()
		if r.able = able; !open && needsSession(r.Method) {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("method %q is invalid during session initialization", r.Method)}
		}
		return nil
	}
	err := wire.CheckClient(r.Meta.Value(mcp.MetaKeyClientInfo))
	if err != nil {
		return wire.Invalid(fmt.Sprintf("invalid _meta field %q", mcp.MetaKeyClientInfo))
	}
	if r.able, err = wire.ReadAbilities(r.Meta.Value(mcp.MetaKeyClientCapabilities)); err != nil {
		return wire.Invalid(fmt.Sprintf("missing or invalid _meta field %q", mcp.MetaKeyClientCapabilities))
	}
	if r.Version != statelessSince {
		return unsupportedVersion(r.Version)
	}
	if r.session != nil {
		r.session.markOpen()
	}
	return nil
}

// unsupportedVersion returns the answer to a request of a version that the server
// does not speak.
func unsupportedVersion(version string) *jsonrpc.Error {
	// Strings always marshal.
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: spokenVersions, Requested: version})
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
}

func (r *request) notify(method string, params any) error {
	text, err := wire.AppendCall(nil, 0, method, params)
	if err != nil {
		return err
	}
	return r.send(text)
}

// newCaller returns the caller for a principal that calls a tool outside any session.
// The personality is the server's, or the principal's first one when the principal
// may not take the server's. The client never chooses it.
func (c *core) newCaller(p sallyport.Principal, tool string) *sallyport.Caller {
	return &sallyport.Caller{
		Principal: p, Platform: sallyport.PlatformMCP, Personality: p.Role("", c.o.Personality), Exclude: excludedNonTools(tool),
	}
}

// isSameCaller reports whether two principals are the same one, or the same sub-agent of
// it: neither of the two uses what the other one opened.
func isSameCaller(a, b *sallyport.Principal) bool {
	return a.Name == b.Name && a.Delegation == b.Delegation
}

// callerOf returns the caller of a request: the authenticated principal over HTTP,
// the local one on a stream. tool is empty for anything but the call of a tool.
func (c *core) callerOf(r *request, tool string) (*sallyport.Caller, error) {
	p := r.principal
	if r.local {
		p = c.o.Principal()
	}
	caller := c.newCaller(p, tool)
	var err error
	if caller.Task, err = namedTask(r.Meta); err != nil {
		return nil, err
	}
	said, err := namedTurn(r.Meta, r.said)
	if err != nil {
		return nil, err
	}
	said.Fill(caller)
	if !r.rounds {
		caller.Session = r.session.id
		return caller, nil
	}
	if caller.Session, err = namedSession(r.Meta); caller.Session == "" && err == nil {
		caller.Session = c.conversations.currentSession(sallyport.SessionKey(caller.Principal.Name, caller.Personality))
	}
	return caller, err
}

// excludedNonTools returns a list with the name of a prompt or a resource, and nil for the
// name of a tool, which never has a colon. A person chooses prompts and
// resources, and a model does not see them.
func excludedNonTools(name string) []string {
	if strings.IndexByte(name, ':') < 0 {
		return nil
	}
	return []string{name}
}
