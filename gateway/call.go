package gateway

import (
	"context"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
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
			res, err := next(ctx, method, req)
			list, ok := res.(*mcp.ListToolsResult)
			if err != nil || !ok {
				return res, err
			}
			caller, err := s.caller(r.Session, r.Extra, nil)
			if err != nil {
				return nil, err
			}
			list.Tools = listed(s.gate.Definitions(caller))
			return list, nil
		case *mcp.CallToolRequest:
			ctx = context.WithValue(ctx, nameKey{}, r.Params.Name)
			own, params := *r, *r.Params
			params.Name = dispatch
			own.Params = &params
			return next(ctx, method, &own)
		default:
			return next(ctx, method, req)
		}
	}
}

// listed turns definitions into the protocol's form.
func listed(defs []registry.Definition) []*mcp.Tool {
	out := make([]*mcp.Tool, len(defs))
	for i := range defs {
		d := &defs[i]
		out[i] = &mcp.Tool{
			Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.Schema,
			Annotations: &mcp.ToolAnnotations{
				Title: d.Title, ReadOnlyHint: d.ReadOnly, IdempotentHint: d.Idempotent,
				DestructiveHint: &d.Destructive, OpenWorldHint: &d.OpenWorld,
			},
		}
		if d.Returns != nil {
			out[i].OutputSchema = d.Returns
		}
	}
	return out
}

// call makes one call through the gate. A failure of the tool or a refusal is
// a result with isError, never a protocol error, so that the model reads it.
func (s *Server) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	caller, err := s.caller(r.Session, r.Extra, r.Params.Meta)
	if err != nil {
		return nil, err
	}
	caller.Progress = relay(ctx, r)
	name, _ := ctx.Value(nameKey{}).(string)
	res := s.gate.Call(ctx, caller, sallyport.Request{Tool: name, Args: r.Params.Arguments})
	out := &mcp.CallToolResult{
		Meta:    mcp.Meta{"sallyport/call": res.CallID},
		Content: []mcp.Content{&mcp.TextContent{Text: res.Value}},
	}
	if res.Structured != nil {
		out.StructuredContent = res.Structured
	}
	if !res.OK {
		out.IsError = true
		out.Meta["sallyport/code"] = string(res.Code)
		out.Content = []mcp.Content{&mcp.TextContent{Text: coded(res)}}
	}
	return out, nil
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

// relay sends progress that is meant for the user to the client, when it
// asked for it. Progress must grow: an event without a percentage counts on.
func relay(ctx context.Context, r *mcp.CallToolRequest) func(sallyport.Progress) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	var mu sync.Mutex
	var sent float64
	return func(p sallyport.Progress) {
		if p.VisibleTo() != sallyport.AudienceUser {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		n := &mcp.ProgressNotificationParams{ProgressToken: token, Message: p.Message}
		switch {
		case p.Percent != nil && *p.Percent > sent:
			sent, n.Total = *p.Percent, 100
		case p.Percent != nil:
			n.Total = 100
		default:
			sent++
		}
		n.Progress = sent
		// A client that is gone cannot be told; its call goes on until it is
		// cancelled.
		_ = r.Session.NotifyProgress(ctx, n)
	}
}
