package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/running"
)

// dispatch is the only tool and the only prompt that the protocol library
// knows, and dispatchURI its only resource. Calls of every name are redirected
// to them. So the registry alone decides which names exist, and a call of an
// unknown name is decided and recorded like any other.
const (
	dispatch    = "dispatch"
	dispatchURI = "sallyport:dispatch"
)

type nameKey struct{}

// routeRequest answers listings from the registry and redirects calls to dispatch.
func (s *Server) routeRequest(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.CallToolRequest:
			ctx = context.WithValue(ctx, nameKey{}, r.Params.Name)
			own, params := *r, *r.Params
			own.Params, params.Name = &params, dispatch
			var handle *taskResult
			res, err := next(context.WithValue(ctx, handleKey{}, &handle), method, &own)
			if err == nil && handle != nil {
				return handle, nil
			}
			return res, err
		case *taskRequest:
			return s.answerTask(ctx, method, r)
		case *mcp.GetPromptRequest:
			ctx = context.WithValue(ctx, nameKey{}, r.Params.Name)
			own, params := *r, *r.Params
			own.Params, params.Name = &params, dispatch
			return next(ctx, method, &own)
		case *mcp.ReadResourceRequest:
			ctx = context.WithValue(ctx, nameKey{}, r.Params.URI)
			own, params := *r, *r.Params
			own.Params, params.URI = &params, dispatchURI
			return next(ctx, method, &own)
		case *mcp.SubscribeRequest:
			return s.followResources(ctx, next, method, req)
		case *mcp.SubscriptionsListenRequest:
			if r.ProtocolVersion() < statelessSince {
				// The library would let the request wait without ever ending
				// it.
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "a session is told of changes without asking"}
			}
			return s.followResources(ctx, next, method, req)
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			res, err := next(ctx, method, req)
			withoutTasks(res)
			if p, ok := boundPrincipal(r.Extra); ok && err == nil && r.Session.ID() != "" {
				s.sessions.addSession(r.Session, p, r.Params)
			}
			return res, err
		default:
			if res, err := s.answerListing(ctx, req); res != nil || err != nil {
				return res, err
			}
			return next(ctx, method, req)
		}
	}
}

// answerListing answers a listing. It returns nil for any other request.
func (s *Server) answerListing(ctx context.Context, req mcp.Request) (mcp.Result, error) {
	switch r := req.(type) {
	case *mcp.ListToolsRequest:
		if r.Params == nil {
			r.Params = &mcp.ListToolsParams{}
		}
		caller, err := s.callerOf(ctx, r)
		if err != nil {
			return nil, err
		}
		return toolsPage(s.gate.Definitions(caller), r.Params.Cursor)
	case *mcp.ListPromptsRequest:
		if r.Params == nil {
			r.Params = &mcp.ListPromptsParams{}
		}
		return s.listPrompts(ctx, r)
	case *mcp.ListResourcesRequest:
		if r.Params == nil {
			r.Params = &mcp.ListResourcesParams{}
		}
		return s.listResources(ctx, r)
	case *mcp.ListResourceTemplatesRequest:
		if r.Params == nil {
			r.Params = &mcp.ListResourceTemplatesParams{}
		}
		return s.listTemplates(ctx, r)
	default:
		return nil, nil
	}
}

// callTool makes one call through the gate. A refusal or a failure of the tool is a
// result with isError, never a protocol error, so that the model reads it.
func (s *Server) callTool(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, _ := ctx.Value(nameKey{}).(string)
	q := sallyport.Request{Tool: name, Args: r.Params.Arguments}
	res, asked, err := s.callThroughGate(ctx, r, q, roundInput{r.Params.InputResponses, r.Params.RequestState})
	switch {
	case err != nil:
		return nil, err
	case asked != nil && asked.task != nil:
		if handle, ok := ctx.Value(handleKey{}).(**taskResult); ok {
			*handle = asked.task.newHandle()
		}
		return &mcp.CallToolResult{}, nil
	case asked != nil:
		return &mcp.CallToolResult{Meta: asked.resultMeta(&res), InputRequests: asked.requests, RequestState: asked.state}, nil
	}
	return toolResult(res), nil
}

// callThroughGate makes one call of any form through the gate. When a person has to be
// asked first and the protocol asks in another round, it returns the question
// instead of a result.
func (s *Server) callThroughGate(ctx context.Context, req mcp.Request, q sallyport.Request, in roundInput) (sallyport.Result, *clientQuestion, error) {
	caller, err := s.callerOf(ctx, req)
	if err != nil {
		return sallyport.Result{}, nil, err
	}
	if _, ok := req.(*mcp.CallToolRequest); ok {
		caller.Exclude = excludedNonTools(q.Tool)
	}
	ctx, done, _ := s.callSet(ctx).Begin(ctx, "")
	defer done()
	relay := s.newRelay(ctx, req)
	if relay != nil {
		caller.Progress = func(p sallyport.Progress) { relay.sendProgress(ctx, p) }
		defer relay.closeRelay()
	}
	first, made := s.precomputedResult(ctx, req)
	c := s.clientOf(req, caller, q)
	if c == nil {
		if made {
			return first, nil, nil
		}
		return s.gate.Call(ctx, caller, q), nil, nil
	}
	try, id, err := c.chooseAttempt(ctx, in, relay)
	if err != nil {
		return sallyport.Result{}, nil, err
	}
	switch h := c.newHeld(try); {
	case made && h != nil:
		return h.askPerson(ctx, first)
	case made:
		return first, nil, nil
	case h != nil && !isParked(id):
		return h.makeCall(ctx, in, id)
	}
	return try(ctx)
}

// precomputedResult returns the result of a call that was made directly and is held.
func (s *Server) precomputedResult(ctx context.Context, req mcp.Request) (sallyport.Result, bool) {
	if c := connectionFrom(ctx); c != nil {
		return c.early.resultOfRequest(req)
	}
	return s.early.resultOfRequest(req)
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

// callSet returns the set that a call belongs to: that of its stream, or the
// server's over HTTP.
func (s *Server) callSet(ctx context.Context) *running.Set {
	if c := connectionFrom(ctx); c != nil {
		return c.calls
	}
	return s.overHTTP
}

// toolResult converts the gate's result into the protocol's form.
func toolResult(res sallyport.Result) *mcp.CallToolResult {
	text := res.Value
	if !res.OK {
		text = codedText(res)
	}
	out := &mcp.CallToolResult{Meta: resultMeta(&res), IsError: !res.OK, Content: contentsOf(text, res.Parts)}
	if res.Structured != nil {
		out.StructuredContent = res.Structured
	}
	return out
}

// resultMeta returns the facts about a result for which the protocol has no field.
func resultMeta(res *sallyport.Result) mcp.Meta {
	m := mcp.Meta{"sallyport/call": res.CallID}
	if !res.OK {
		m["sallyport/code"] = string(res.Code)
	}
	if res.CostUSD != 0 {
		m["sallyport/cost_usd"] = res.CostUSD
	}
	if res.Code == sallyport.CodeRateLimited {
		m["sallyport/retry_after_ms"] = res.RetryAfter.Milliseconds()
	}
	if res.ApprovalID != "" {
		m["sallyport/approval_id"] = res.ApprovalID
	}
	if !res.ExpiresAt.IsZero() {
		m["sallyport/expires_at"] = res.ExpiresAt
	}
	return m
}

// failureError converts a failure into a protocol error, for methods whose results
// cannot express one. A code of 0 means the code that fits the failure.
func failureError(res *sallyport.Result, code int64) error {
	if code == 0 {
		code = jsonrpc.CodeInternalError
		if res.Code == sallyport.CodeInputInvalid {
			code = jsonrpc.CodeInvalidParams
		}
	}
	// The gate's results always marshal.
	data, _ := json.Marshal(resultMeta(res))
	return &jsonrpc.Error{Code: code, Message: codedText(*res), Data: data}
}

// codedText returns the text of a failure with its code in front. It leaves a plain
// tool failure and a text that already begins with an accessor's code
// unchanged.
func codedText(res sallyport.Result) string {
	if res.Code == sallyport.CodeExecutionFailed || strings.HasPrefix(res.Error, string(res.Code)+":") {
		return res.Error
	}
	return string(res.Code) + ": " + res.Error
}
