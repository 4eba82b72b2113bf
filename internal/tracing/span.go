package tracing

import (
	"context"
	"strings"
	"time"
)

// Kind is the kind of a span, numbered as in OTLP.
type Kind int32

// The kinds.
const (
	KindInternal Kind = 1
	KindServer   Kind = 2
	KindClient   Kind = 3
)

// maxText bounds the value of an attribute, in bytes.
const maxText = 256

// Attr is one attribute of a span: a text, or a number when the text is empty.
type Attr struct {
	// Key is one of names.go.
	Key string
	// Text is the value; empty for a number.
	Text string
	// Number is the value where there is no text.
	Number int64
}

// Span is one thing that was done. The fields are written by the goroutine that began
// it, until its end.
type Span struct {
	// Trace is the id of the trace.
	Trace [16]byte
	// ID is its own id, and Parent that of the span above; zero for none.
	ID, Parent [8]byte
	// State is the tracestate of the client; empty for none.
	State string
	// Name says what was done, in few different words.
	Name string
	// Kind says on which side of an exchange it is.
	Kind Kind
	// Start and End are when it was done.
	Start, End time.Time
	// Attrs say more of it.
	Attrs []Attr
	// Failed says that the status of the span is an error.
	Failed bool

	call *Call
}

type spanKey struct{}

// StartSpan begins a span below the one of a context, and returns the context for what is
// done in it. Without a call that is exported the span is nil, which does nothing.
func StartSpan(ctx context.Context, name string, kind Kind) (context.Context, *Span) {
	c := CallOf(ctx)
	if !c.IsSampled() {
		return ctx, nil
	}
	s := &Span{Trace: c.Root.Trace, ID: newSpanID(), Parent: c.currentSpan(ctx).ID, State: c.Root.State, Name: clipText(name), Kind: kind, Start: time.Now(), call: c}
	return context.WithValue(ctx, spanKey{}, s), s
}

// SetText adds an attribute; an empty text adds none.
func (s *Span) SetText(key, text string) {
	if s != nil && text != "" {
		s.Attrs = append(s.Attrs, Attr{Key: key, Text: clipText(text)})
	}
}

// SetNumber adds an attribute.
func (s *Span) SetNumber(key string, n int64) {
	if s != nil {
		s.Attrs = append(s.Attrs, Attr{Key: key, Number: n})
	}
}

// FailWith says that what the span stands for failed, with a class of few values.
func (s *Span) FailWith(class string) {
	if s != nil {
		s.Failed = true
		s.SetText(KeyErrorType, class)
	}
}

// EndSpan ends the span and adds it to its call, unless that has ended before.
func (s *Span) EndSpan() {
	if s == nil {
		return
	}
	s.End = time.Now()
	c := s.call
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
	case len(c.below) >= maxSpans:
		c.lost++
	default:
		c.below = append(c.below, s)
	}
}

// OutgoingParent returns the traceparent that a request to another system carries; empty when
// it carries none. Nothing in it is the client's: what a client writes as the id of its trace
// would leave for a system that it may not reach.
func OutgoingParent(ctx context.Context) string {
	c := CallOf(ctx)
	if c == nil || !c.tracer.passes {
		return ""
	}
	return string(appendParent(make([]byte, 0, parentBytes), c.own, c.currentSpan(ctx).ID, c.sampled))
}

// clipText bounds a text, in valid UTF-8: a collector refuses all spans with one that is
// not.
func clipText(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}
