package tracing

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParentsAreReadStrictly(t *testing.T) {
	for _, bad := range []string{
		"", parent[1:], parent + "0", parent + "-00", parent + " ", strings.ToUpper(parent), strings.Replace(parent, "-", "_", 1),
		"ff" + parent[2:], "0x" + parent[2:], "01" + parent[2:] + "0", strings.Replace(parent, "4bf92f3577b34da6a3ce929d0e0e4736", strings.Repeat("0", 32), 1),
		strings.Replace(parent, "00f067aa0ba902b7", strings.Repeat("0", 16), 1), strings.Replace(parent, "4bf9", "4bg9", 1),
		"01" + parent[2:] + "-" + strings.Repeat("a", 600),
	} {
		if p, ok := ParseParent(bad, ""); ok || !p.IsZero() {
			t.Errorf("ParseParent(%q) = %v, want none", bad, p)
		}
	}
	for _, good := range []string{parent, "01" + parent[2:], "01" + parent[2:] + "-more", parent[:53] + "ff"} {
		if p, ok := ParseParent(good, ""); !ok || string(appendParent(nil, p.Trace, p.Span, true)) != parent {
			t.Errorf("ParseParent(%q) = %v %v", good, p, ok)
		}
	}
	for state, want := range map[string]string{
		"rojo=1,congo=t61rcWkgMzE": "rojo=1,congo=t61rcWkgMzE", "a@b=1": "a@b=1", "a": "", "A=1": "", "a=1\n": "", "a=é": "", "a=b=c": "",
		strings.Repeat("a=1,", 32) + "a=1": "", "a=" + strings.Repeat("x", 600): "",
	} {
		if p, ok := ParseParent(parent, state); !ok || p.State != want {
			t.Errorf("the state %.40q is read as %q, want %q", state, p.State, want)
		}
	}
	if p := FromHeader(http.Header{"Traceparent": {parent, parent}}); !p.IsZero() {
		t.Error("two parents name one")
	}
}

func TestNothingIsNotedWithoutATracer(t *testing.T) {
	var none *Tracer
	ctx := WithRequest(t.Context(), &Request{})
	if none.BeginCall(ctx) != ctx {
		t.Error("a nil tracer begins a call")
	}
	during, span := StartSpan(ctx, "x", KindClient)
	span.SetText(KeyTool, "x")
	span.FailWith("x")
	span.EndSpan()
	if during != ctx || span != nil || OutgoingParent(ctx) != "" || CallOf(ctx).TraceID() != "" {
		t.Error("there is a span without a call")
	}
	if n := testing.AllocsPerRun(100, func() {
		_, s := StartSpan(none.BeginCall(ctx), "x", KindClient)
		s.EndSpan()
	}); n != 0 {
		t.Errorf("what is off takes memory %v times", n)
	}
}

// The share of the operator decides by the id of the trace, whatever a client says.
func TestClientsDoNotChooseWhatIsSent(t *testing.T) {
	begin := func(share float64, flags string) *Call {
		p, _ := ParseParent(parent[:53]+flags, "")
		return CallOf(NewTracer(share, true, func(*Call) {}).BeginCall(WithRequest(t.Context(), &Request{Parent: p})))
	}
	for share, want := range map[float64]bool{0: false, 0.1: false, 0.95: true, 1: true} {
		for _, flags := range []string{"00", "01"} {
			// The last 56 bits of the id stand at 0.81 of their range.
			c := begin(share, flags)
			if c.IsSampled() != want {
				t.Errorf("share %v, flags %s: sent %v, want %v", share, flags, c.IsSampled(), want)
			}
			if got := OutgoingParent(c); !want && got != parent[:53]+"00" {
				t.Errorf("what is not sent is passed on as %s", got)
			}
		}
	}
	sent := 0
	tracer := NewTracer(0.25, true, func(*Call) {})
	for range 4000 {
		if CallOf(tracer.BeginCall(context.Background())).IsSampled() {
			sent++
		}
	}
	if sent < 800 || sent > 1200 {
		t.Errorf("%d of 4000 traces are sent, want about 1000", sent)
	}
}

func TestSpansOfACallAreBounded(t *testing.T) {
	var got *Call
	ctx := NewTracer(1, false, func(c *Call) { got = c }).BeginCall(t.Context())
	above, first := StartSpan(ctx, "first", KindClient)
	_, second := StartSpan(above, strings.Repeat("é", 200)+"\xff", KindInternal)
	second.SetText("key", strings.Repeat("x", 1000)+"\xff")
	second.EndSpan()
	first.EndSpan()
	for range 100 {
		_, s := StartSpan(ctx, "more", KindInternal)
		s.EndSpan()
	}
	_, late := StartSpan(ctx, "late", KindInternal)
	CallOf(ctx).EndCall()
	CallOf(ctx).EndCall()
	late.EndSpan()
	if got.CountSpans() != maxSpans+1 || got.CountLost() != 38 || len(got.Spans()) != maxSpans+1 {
		t.Errorf("%d spans, %d lost", got.CountSpans(), got.CountLost())
	}
	if second.Parent != first.ID || first.Parent != got.Root.ID || second.Trace != got.Root.Trace {
		t.Error("a span is not below the one in which it began")
	}
	if len(second.Name) > maxText || len(second.Attrs[0].Text) > maxText || strings.ToValidUTF8(second.Name, "") != second.Name {
		t.Errorf("texts are not bounded: %q", second.Name)
	}
	if OutgoingParent(ctx) != "" {
		t.Error("a trace is passed on that must not be")
	}
}

func FuzzParent(f *testing.F) {
	f.Add(parent, "a=1")
	f.Fuzz(func(t *testing.T, text, state string) {
		p, ok := ParseParent(text, state)
		if ok == p.IsZero() || len(p.State) > maxState || strings.ToValidUTF8(p.State, "") != p.State {
			t.Errorf("ParseParent(%q, %q) = %v %v", text, state, p, ok)
		}
	})
}
