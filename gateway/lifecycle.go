package gateway

//lint:file-ignore SA1019 protocols with sessions have levels for messages, later ones do not; only this file offers them

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// offered returns the capabilities of the server. It offers every kind of list even
// when the list is empty now: the offer can change at any time, and a client asks
// for capabilities only once.
func offered(rounds bool) *mcp.ServerCapabilities {
	all := &mcp.ServerCapabilities{
		Tools:       &mcp.ToolCapabilities{ListChanged: true},
		Prompts:     &mcp.PromptCapabilities{ListChanged: true},
		Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Completions: &mcp.CompletionCapabilities{},
	}
	if rounds {
		all.Extensions = map[string]any{wire.TasksExtension: struct{}{}}
	} else {
		all.Logging = &mcp.LoggingCapabilities{}
	}
	return all
}

// initialize begins a session. The server answers with the version that the client
// asks for, or with its newest one that has sessions.
func (c *core) initialize(_ context.Context, r *request, out []byte) ([]byte, error) {
	if r.Params == nil {
		return out, wire.Invalid("initialize needs params")
	}
	version, err := r.In.Text("protocolVersion")
	if err != nil {
		return out, err
	}
	able := wire.Abilities{}
	if declared := r.In.Value("capabilities"); declared != nil && declared[0] != 'n' {
		if able, err = wire.ReadAbilities(declared); err != nil {
			return out, wire.Invalid("capabilities: " + err.Error())
		}
	}
	if !r.session.begin(able) {
		return out, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: `duplicate "initialize" received`}
	}
	if version >= statelessSince || !slices.Contains(spokenVersions, version) {
		version = spokenVersions[1]
	}
	return wire.AppendJSON(out, &mcp.InitializeResult{
		Capabilities: offered(r.rounds), ProtocolVersion: version, ServerInfo: c.implementation(),
	})
}

func (*core) answerPing(_ context.Context, _ *request, out []byte) ([]byte, error) {
	return append(out, `{}`...), nil
}

// discover answers what the server offers to a client without a session.
func (c *core) discover(_ context.Context, r *request, out []byte) ([]byte, error) {
	return c.appendObject(out, r, &mcp.DiscoverResult{
		Cacheable: listCache, SupportedVersions: spokenVersions, Capabilities: offered(r.rounds),
	})
}

// messageLevel is the level of what a tool tells the user.
const messageLevel mcp.LoggingLevel = "info"

// levels are the levels of messages, the least important first.
var levels = []string{"debug", string(messageLevel), "notice", "warning", "error", "critical", "alert", "emergency"}

// setLevel accepts the log level that the client of a session sets. What tools tell
// the user is of [messageLevel].
func (*core) setLevel(_ context.Context, r *request, out []byte) ([]byte, error) {
	level, err := r.In.Text("level")
	if err != nil {
		return out, err
	}
	i := slices.Index(levels, level)
	if i < 0 {
		last := len(levels) - 1
		return out, wire.Invalid("expected a level of " + strings.Join(levels[:last], ", ") + " or " + levels[last])
	}
	r.session.wantMessages(i <= slices.Index(levels, string(messageLevel)))
	return append(out, `{}`...), nil
}
