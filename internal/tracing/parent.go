package tracing

import (
	"encoding/hex"
	"net/http"
	"strings"
)

// Bounds of what others say of a trace (W3C Trace Context, level 1).
const (
	parentBytes = 55 // of a traceparent of version 00
	maxParent   = 512
	maxState    = 512
	maxEntries  = 32
)

// The names under which requests carry a trace, as headers and in MCP's _meta.
const (
	HeaderParent, HeaderState = "Traceparent", "Tracestate"
	MetaParent, MetaState     = "traceparent", "tracestate"
)

// Parent is the span of a client's trace in which a request was made. It gives no
// right and decides nothing: it is repeated in what is exported. The zero value is none.
type Parent struct {
	// Trace is the id of the trace.
	Trace [16]byte
	// Span is the id of the span in it.
	Span [8]byte
	// State is the tracestate, empty for none.
	State string
}

// IsZero reports whether there is no parent.
func (p *Parent) IsZero() bool { return p.Trace == [16]byte{} }

// ParseParent reads a traceparent and a tracestate strictly. ok is false for a traceparent
// that is none; a tracestate that is none is left out, as the specification asks.
func ParseParent(parent, state string) (p Parent, ok bool) {
	if len(parent) < parentBytes || len(parent) > maxParent || !isLowerHex(parent[:2]) || parent[:2] == "ff" {
		return Parent{}, false
	}
	if len(parent) > parentBytes && (parent[:2] == "00" || parent[parentBytes] != '-') {
		return Parent{}, false // only a later version may go on
	}
	trace, span, flags := parent[3:35], parent[36:52], parent[53:55]
	if parent[2] != '-' || parent[35] != '-' || parent[52] != '-' || !isLowerHex(trace) || !isLowerHex(span) || !isLowerHex(flags) {
		return Parent{}, false
	}
	// Both are hex digits of the right number.
	_, _ = hex.Decode(p.Trace[:], []byte(trace))
	_, _ = hex.Decode(p.Span[:], []byte(span))
	if p.Trace == [16]byte{} || p.Span == [8]byte{} {
		return Parent{}, false
	}
	if isState(state) {
		p.State = state
	}
	return p, true
}

// FromHeader returns the parent that the headers of a request name. Two of one kind name
// none.
func FromHeader(h http.Header) Parent {
	parents := h[HeaderParent]
	if len(parents) != 1 {
		return Parent{}
	}
	states := h[HeaderState]
	state := ""
	if len(states) <= maxEntries {
		state = strings.Join(states, ",")
	}
	p, _ := ParseParent(parents[0], state)
	return p
}

// isLowerHex reports whether a text is hex digits in lower case.
func isLowerHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// isState reports whether a text is a tracestate: at most 32 pairs of a key and printable
// text.
func isState(s string) bool {
	if s == "" || len(s) > maxState || strings.Count(s, ",") >= maxEntries {
		return false
	}
	for entry := range strings.SplitSeq(s, ",") {
		key, value, ok := strings.Cut(strings.Trim(entry, " \t"), "=")
		if !ok || key == "" || value == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_-*/@") != "" {
			return false
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' || r == '=' }) {
			return false
		}
	}
	return true
}

// appendParent appends the traceparent of a span.
func appendParent(b []byte, trace [16]byte, span [8]byte, sampled bool) []byte {
	b = hex.AppendEncode(append(b, "00-"...), trace[:])
	b = hex.AppendEncode(append(b, '-'), span[:])
	if sampled {
		return append(b, "-01"...)
	}
	return append(b, "-00"...)
}

// TraceOf returns the id of the trace in what [OutgoingParent] returned.
func TraceOf(parent string) string {
	if len(parent) != parentBytes {
		return ""
	}
	return parent[3:35]
}
