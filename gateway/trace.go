package gateway

import (
	"context"
	"encoding/json"

	"github.com/sallyport/sallyport/internal/tracing"
)

// traceRequest returns a context with what a request says of its trace, for the span of
// the call. The trace that _meta names is the caller's; the one of the HTTP request that
// brought it is linked then, since one such request may belong to another trace.
func traceRequest(ctx context.Context, r *request) context.Context {
	q := &tracing.Request{Method: r.Method, Protocol: r.Version, ID: idText(r.ID), Transport: tracing.TransportTCP}
	if r.local {
		q.Transport = tracing.TransportPipe
	}
	if r.session != nil && !r.rounds {
		q.Session = r.session.id
	}
	if under := tracing.RequestOf(ctx); under != nil {
		q.Parent = under.Parent
	}
	if p, ok := tracing.ParseParent(metaText(r, tracing.MetaParent), metaText(r, tracing.MetaState)); ok {
		q.Parent, q.Link = p, q.Parent
	}
	return tracing.WithRequest(ctx, q)
}

// metaText returns a text of _meta; empty when it is none.
func metaText(r *request, key string) (text string) {
	v := r.Meta.Value(key)
	if len(v) == 0 || len(v) > maxTraceText || json.Unmarshal(v, &text) != nil {
		return ""
	}
	return text
}

// maxTraceText bounds a text about a trace in JSON.
const maxTraceText = 4 << 10

// idText returns the id of a request as it is told to people.
func idText(id json.RawMessage) (text string) {
	if len(id) > maxTraceText || json.Unmarshal(id, &text) != nil {
		return string(id)
	}
	return text
}
