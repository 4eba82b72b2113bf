// Package tracing notes what a call of the gate did and for how long, as spans in the
// sense of OpenTelemetry. It knows nothing of how they are sent.
//
// Start with [Tracer.BeginCall], which returns a context; [StartSpan] begins a span below the
// one of a context. A nil tracer, and a context without a call, cost next to nothing.
// names.go has every name, and the version of the conventions that they follow.
package tracing

import (
	"context"
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"sync"
	"time"
)

// maxSpans bounds the spans below one call.
const maxSpans = 64

// Tracer begins the spans of calls. It is safe for concurrent use. A nil one begins none.
type Tracer struct {
	export func(*Call)
	key    [32]byte // from which comes what the ids of clients stand for
	least  uint64   // traces whose random bits are less are left out
	passes bool
}

// NewTracer returns a tracer of a share of all traces, 0 to 1, that gives the calls to export
// once they have ended. export must not block. passes says that [OutgoingParent] names spans to
// others.
func NewTracer(share float64, passes bool, export func(*Call)) *Tracer {
	t := &Tracer{export: export, passes: passes, least: uint64((1 - min(max(share, 0), 1)) * (1 << randomBits))}
	_, _ = crand.Read(t.key[:]) // never fails
	return t
}

// randomBits is how many bits at the end of the id of a trace decide.
const randomBits = 56

// isSampled decides by the id of a trace that a client did not choose.
func (t *Tracer) isSampled(own *[16]byte) bool {
	return binary.BigEndian.Uint64(own[8:])&(1<<randomBits-1) >= t.least
}

// deriveTrace returns the id that stands for a client's trace: the same for all of its calls,
// and no choice of the client's. It decides whether calls are exported, and is what other
// systems are told.
func (t *Tracer) deriveTrace(of *[16]byte) (own [16]byte) {
	mac := hmac.New(sha256.New, t.key[:])
	_, _ = mac.Write(of[:])
	copy(own[:], mac.Sum(nil))
	return own
}

// Request is what an edge knows of the request that makes a call.
type Request struct {
	// Parent is the span in which the client made the request, Link that of the
	// transport beneath it.
	Parent, Link Parent
	// Method, Protocol, Session and ID are those of MCP; Transport is how it came.
	Method, Protocol, Session, ID, Transport string
}

type requestKey struct{}

// WithRequest returns a context with what an edge knows of its request.
func WithRequest(ctx context.Context, q *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, q)
}

// RequestOf returns what an edge knows of the request of a context; nil when it said
// nothing.
func RequestOf(ctx context.Context) *Request {
	q, _ := ctx.Value(requestKey{}).(*Request)
	return q
}

// Call is the spans of one call. It is the context in which the call is made.
type Call struct {
	context.Context
	tracer *Tracer
	// Root is the span of the call itself.
	Root Span
	// Request is what the edge said; nil when it said nothing.
	Request *Request
	sampled bool
	own     [16]byte // the trace as other systems are told of it

	mu    sync.Mutex
	below []*Span
	lost  int
	ended bool
}

type callKey struct{}

// Value implements context.Context.
func (c *Call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// BeginCall begins the span of a call. A call that is not exported, and whose client names no
// trace, has none.
func (t *Tracer) BeginCall(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	c := &Call{Context: ctx, tracer: t, Root: Span{ID: newSpanID(), Start: time.Now()}}
	if above := CallOf(ctx); above != nil { // a call that a call makes
		c.Root.Trace, c.Root.Parent, c.Root.State = above.Root.Trace, above.currentSpan(ctx).ID, above.Root.State
		c.own, c.sampled = above.own, above.sampled
		return c
	}
	if c.Request = RequestOf(ctx); c.Request != nil && !c.Request.Parent.IsZero() {
		p := &c.Request.Parent
		c.Root.Trace, c.Root.Parent, c.Root.State = p.Trace, p.Span, p.State
		c.own = t.deriveTrace(&p.Trace)
	} else {
		c.Root.Trace = newTraceID()
		c.own = c.Root.Trace
	}
	if c.sampled = t.isSampled(&c.own); !c.sampled && c.Root.Parent == [8]byte{} {
		return ctx
	}
	return c
}

// currentSpan returns the span of the call that a context belongs to.
func (c *Call) currentSpan(ctx context.Context) *Span {
	if s, _ := ctx.Value(spanKey{}).(*Span); s != nil && s.call == c {
		return s
	}
	return &c.Root
}

// CallOf returns the call of a context; nil when it has none.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// TraceID returns the id of the trace in hex; empty for a nil call.
func (c *Call) TraceID() string {
	if c == nil {
		return ""
	}
	return hex.EncodeToString(c.Root.Trace[:])
}

// IsSampled reports whether the call will be exported; false for a nil call.
func (c *Call) IsSampled() bool { return c != nil && c.sampled }

// EndCall ends the span of the call and exports what it holds. What ends later is lost. A
// second end does nothing.
func (c *Call) EndCall() {
	if !c.IsSampled() {
		return
	}
	c.mu.Lock()
	again := c.ended
	c.ended = true
	c.mu.Unlock()
	if again {
		return
	}
	c.Root.End = time.Now()
	c.tracer.export(c)
}

// Spans returns the spans of a call that has ended, its own first.
func (c *Call) Spans() []*Span { return append([]*Span{&c.Root}, c.below...) }

// CountSpans returns how many spans a call has that has ended.
func (c *Call) CountSpans() int { return 1 + len(c.below) }

// CountLost returns how many spans below it did not fit.
func (c *Call) CountLost() int { return c.lost }

func newTraceID() (id [16]byte) {
	for id == [16]byte{} {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

func newSpanID() (id [8]byte) {
	for id == [8]byte{} {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
