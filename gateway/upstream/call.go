package upstream

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/schema"
)

// resultLimits bound an answer. An answer may be as large as a message.
var resultLimits = schema.Limits{Bytes: maxMessage}

func (s *mountedServer) callTool(ctx context.Context, c *sallyport.Call, d *offering, headers []schema.Header) (sallyport.Result, error) {
	r, err := toolCall(d.key, c.Args, headers)
	if err != nil {
		return sallyport.Result{}, err
	}
	tree, err := s.sendRequest(ctx, c, r, d.definitionKey)
	if err != nil {
		return sallyport.Result{}, err
	}
	return resultOf(tree), nil
}

// sendRequest sends the server one request and returns its answer. It refuses unless
// the server still offers every definition in needs.
func (s *mountedServer) sendRequest(ctx context.Context, c *sallyport.Call, r *serverRequest, needs ...definitionKey) (map[string]any, error) {
	leave, err := s.acquireSlot(ctx, s.keyOf(c).withoutCall())
	if err != nil {
		return nil, err
	}
	defer leave()
	l, err := s.connect(ctx, c)
	if err != nil {
		return nil, err
	}
	if l.key.call != "" {
		defer s.pool.dropLink(l)
	}
	defer l.noteRefusals(c, false)()
	ctx, e := withCall(ctx, c)
	defer e.releaseAll(s.m.memory)
	defer l.endCall(ctx, l.beginCall(ctx, c))
	if err := l.ensureCurrent(ctx, s); err != nil {
		return nil, s.explainLostCall(ctx, l, s.URL != "", "list", err)
	}
	if err := s.refuseRequest(l, c.Tool, needs); err != nil {
		return nil, err
	}
	r.able = s.capabilitiesOfCall(c)
	l.wire.awaitListening(ctx)
	for round := 0; ; round++ {
		tree, err := s.traceExchange(ctx, l, c, r)
		if err != nil || tree["resultType"] != "input_required" {
			return tree, err
		}
		if round == sallyport.MaxAsks {
			return nil, requestFailed(r.method, errors.New("the server asks without end"))
		}
		if err := s.answerInputRequests(ctx, c, r, tree); err != nil {
			return nil, err
		}
	}
}

func (s *mountedServer) exchangeMessages(ctx context.Context, l *connLink, c *sallyport.Call, r *serverRequest) (map[string]any, error) {
	raw, err := l.wire.exchangeRequest(ctx, r, c.ID)
	if err != nil {
		if refused := s.refuseMissingCapability(ctx, c, err); refused != nil {
			return nil, refused
		}
		return nil, s.explainLostCall(ctx, l, true, r.method, err)
	}
	s.pool.resetBrokenCalls(l.key.withoutCall())
	v, err := schema.Decode(raw, &resultLimits)
	if err != nil {
		return nil, requestFailed(r.method, err)
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, requestFailed(r.method, errors.New("the answer is not an object"))
	}
	return tree, nil
}

// redactText cleans text that a server caused, for people and the log. It removes
// the secrets that the server may have been sent, including its tokens.
func (s *mountedServer) redactText(text string) string {
	text = string(s.m.o.Cleaner.Text(text))
	if s.authority == nil {
		return text
	}
	known, err := s.m.o.Tokens.Known(context.Background())
	cleaner, bad := output.New(&output.Options{Secrets: known})
	if err != nil || bad != nil {
		return "what it says cannot be cleaned of its tokens"
	}
	return string(cleaner.Text(text))
}

// explainLostCall says why a call has no answer. An error that the server itself answered
// is the tool's failure. A broken connection ends the process, and the next
// call starts another.
func (s *mountedServer) explainLostCall(ctx context.Context, l *connLink, owned bool, method string, err error) error {
	key := l.key.withoutCall()
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) && s.pool.recordBrokenCall(l, false) {
			s.pool.dropLink(l)
		}
		return err
	}
	if e, ok := loginNeeded(err); ok {
		return e
	}
	if limit := limitOf(err); limit != nil {
		return s.endOverLimit(l, limit)
	}
	e, refused := errors.AsType[*sallyport.Error](err)
	if _, spoken := errors.AsType[*jsonrpc.Error](err); spoken && !refused && owned {
		if l.forgotten.Load() {
			s.pool.dropLink(l)
		}
		if serverError(err) != nil {
			s.pool.resetBrokenCalls(key)
		} else {
			s.pool.recordBrokenCall(l, false) // an HTTP status that is not an answer
		}
		return requestFailed(method, err)
	}
	s.pool.recordBrokenCall(l, true)
	if !refused {
		l.wire.failPending(err)
	}
	s.pool.dropLink(l)
	if refused {
		return e
	}
	s.m.o.Logger.Warn("MCP server lost", "server", s.Name, "error", s.redactText(err.Error()))
	return sallyport.Err("the MCP server "+s.Name+" ended while it worked", "").Err()
}

// endOverLimit says which bound a server has reached. Over HTTP this affects only
// the call of that answer; from a process nothing more can be read.
func (s *mountedServer) endOverLimit(l *connLink, limit *limitError) error {
	switch {
	case limit.floods:
		l.endFlood(limit)
	case s.usesPosts():
		s.pool.resetBrokenCalls(l.key.withoutCall())
	default:
		if limit != errNoRoom {
			s.pool.recordBrokenCall(l, true)
		}
		s.pool.dropLink(l)
	}
	return &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: "the MCP server " + s.Name + ": " + limit.text, Err: limit}
}
