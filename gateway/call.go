package gateway

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/running"
)

// dispatch is the one tool that the protocol library knows. Calls of every
// name are sent to it, so that the registry alone says which tools exist, and
// an unknown name is decided and recorded like any other call.
const dispatch = "dispatch"

type nameKey struct{}

// receive answers listings from the registry and sends calls to dispatch.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			if r.Params == nil {
				r.Params = &mcp.ListToolsParams{}
			}
			caller, err := s.caller(ctx, r)
			if err != nil {
				return nil, err
			}
			return page(s.gate.Definitions(caller), r.Params.Cursor)
		case *mcp.CallToolRequest:
			ctx = context.WithValue(ctx, nameKey{}, r.Params.Name)
			own, params := *r, *r.Params
			params.Name = dispatch
			own.Params = &params
			return next(ctx, method, &own)
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			res, err := next(ctx, method, req)
			if p, ok := bound(r.Extra); ok && err == nil && r.Session.ID() != "" {
				s.sessions.add(r.Session, p.Name, r.Params.ProtocolVersion)
			}
			return res, err
		default:
			return next(ctx, method, req)
		}
	}
}

// call makes one call through the gate. A failure of the tool or a refusal is
// a result with isError, never a protocol error, so that the model reads it.
func (s *Server) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	caller, err := s.caller(ctx, r)
	if err != nil {
		return nil, err
	}
	ctx, done, _ := s.calls(ctx).Begin(ctx, "")
	defer done()
	if relay := newRelay(r); relay != nil {
		caller.Progress = func(p sallyport.Progress) { relay.send(ctx, p) }
		defer relay.close()
	}
	name, _ := ctx.Value(nameKey{}).(string)
	return result(s.gate.Call(ctx, caller, sallyport.Request{Tool: name, Args: r.Params.Arguments})), nil
}

// calls returns the set that a call belongs to: its stream's, or the server's
// over HTTP.
func (s *Server) calls(ctx context.Context) *running.Set {
	if c := connectionFrom(ctx); c != nil {
		return c.calls
	}
	return s.overHTTP
}

// result turns the gate's result into the protocol's form. What the protocol
// has no place for travels in _meta.
func result(res sallyport.Result) *mcp.CallToolResult {
	text := res.Value
	meta := mcp.Meta{"sallyport/call": res.CallID}
	if !res.OK {
		text = coded(res)
		meta["sallyport/code"] = string(res.Code)
	}
	if res.CostUSD != 0 {
		meta["sallyport/cost_usd"] = res.CostUSD
	}
	if res.Code == sallyport.CodeRateLimited {
		meta["sallyport/retry_after_ms"] = res.RetryAfter.Milliseconds()
	}
	if res.ApprovalID != "" {
		meta["sallyport/approval_id"] = res.ApprovalID
	}
	if !res.ExpiresAt.IsZero() {
		meta["sallyport/expires_at"] = res.ExpiresAt
	}
	out := &mcp.CallToolResult{
		Meta: meta, IsError: !res.OK, Content: []mcp.Content{&mcp.TextContent{Text: text}},
	}
	if res.Structured != nil {
		out.StructuredContent = res.Structured
	}
	return out
}

// coded is the text of a failure with its code in front. A text that already
// begins with an accessor's code, and the plain failure of a tool, stay as
// they are.
func coded(res sallyport.Result) string {
	if res.Code == sallyport.CodeExecutionFailed || strings.HasPrefix(res.Error, string(res.Code)+":") {
		return res.Error
	}
	return string(res.Code) + ": " + res.Error
}
