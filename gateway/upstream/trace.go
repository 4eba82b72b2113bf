package upstream

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/tracing"
)

// traceExchange exchanges messages with the server in a span of their own, which the
// server is told.
func (s *mountedServer) traceExchange(ctx context.Context, l *connLink, c *sallyport.Call, r *serverRequest) (map[string]any, error) {
	name := r.method
	if r.method != "resources/read" { // a URI may have anything in it
		name += " " + r.name
	}
	ctx, span := tracing.StartSpan(ctx, name, tracing.KindClient)
	defer span.EndSpan()
	r.trace = tracing.OutgoingParent(ctx)
	tree, err := s.exchangeMessages(ctx, l, c, r)
	if span != nil {
		span.SetText(tracing.KeyUpstreamTrace, tracing.TraceOf(r.trace))
		s.describeExchange(span, l, r, tree, err)
	}
	return tree, err
}

// describeExchange says in a span what was asked of which server, and how it ended.
func (s *mountedServer) describeExchange(span *tracing.Span, l *connLink, r *serverRequest, tree map[string]any, err error) {
	span.SetText(tracing.KeyMethod, r.method)
	span.SetText(tracing.KeyUpstream, s.Name)
	span.SetText(tracing.KeyProtocol, l.negotiated)
	switch r.method {
	case "tools/call":
		span.SetText(tracing.KeyOperation, tracing.OperationExecute)
		span.SetText(tracing.KeyTool, r.name)
	case "prompts/get":
		span.SetText(tracing.KeyPrompt, r.name)
	}
	s.describeWay(span)
	said, spoken := errors.AsType[*jsonrpc.Error](err)
	switch {
	case spoken:
		span.FailWith(strconv.FormatInt(said.Code, 10))
	case err != nil:
		span.FailWith(tracing.ErrorOther)
	case tree["isError"] == true:
		span.FailWith(tracing.ErrorTool)
	}
}

// describeStart ends the span of a connection that a call makes, with how it went.
func (s *mountedServer) describeStart(span *tracing.Span, err error) {
	if span == nil {
		return
	}
	span.SetText(tracing.KeyMethod, "initialize")
	span.SetText(tracing.KeyUpstream, s.Name)
	s.describeWay(span)
	if err != nil {
		span.FailWith(tracing.ErrorOther)
	}
	span.EndSpan()
}

// describeWay says in a span how the server is reached.
func (s *mountedServer) describeWay(span *tracing.Span) {
	if at, err := url.Parse(s.URL); s.URL == "" || err != nil {
		span.SetText(tracing.KeyTransport, tracing.TransportPipe)
	} else {
		span.SetText(tracing.KeyTransport, tracing.TransportTCP)
		span.SetText(tracing.KeyServerAddress, at.Hostname())
	}
}
