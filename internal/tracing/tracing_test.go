package tracing

import (
	"context"
	"fmt"
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

// beginOf begins the call of a client that names a trace.
func beginOf(tracer *Tracer, trace, flags string) *Call {
	p, _ := ParseParent("00-"+trace+"-707269766174652e-"+flags, "")
	return CallOf(tracer.BeginCall(WithRequest(context.Background(), &Request{Parent: p})))
}

// The share of the operator decides, whatever a client says.
func TestClientsDoNotChooseWhatIsSent(t *testing.T) {
	for share, want := range map[float64][2]int{0: {0, 0}, 0.25: {800, 1200}, 1: {4000, 4000}} {
		tracer, sent, ofClients := NewTracer(share, true, func(*Call) {}), 0, 0
		for i := range 4000 {
			if CallOf(tracer.BeginCall(context.Background())).IsSampled() {
				sent++
			}
			// The end of an id is the largest that there is, or the smallest.
			trace := fmt.Sprintf("%016x%s", i+1, []string{"ffffffffffffffff", "0000000000000000"}[i%2])
			is := beginOf(tracer, trace, "01").IsSampled()
			if is {
				ofClients++
			}
			if beginOf(tracer, trace, "00").IsSampled() != is {
				t.Fatalf("share %v: of one trace a call is sent and another is not", share)
			}
		}
		for _, n := range []int{sent, ofClients} {
			if n < want[0] || n > want[1] {
				t.Errorf("share %v: %d of 4000 traces are sent, want %v", share, n, want)
			}
		}
	}
}

// 24 bytes of a client's choice would reach a server that its call may not tell anything.
func TestNothingOfAClientIsPassedOn(t *testing.T) {
	const trace = "7365637265742d6300642d6461746121"
	for _, share := range []float64{0, 1} {
		tracer := NewTracer(share, true, func(*Call) {})
		first, again := beginOf(tracer, trace, "01"), beginOf(tracer, trace, "00")
		out := OutgoingParent(first)
		if _, ok := ParseParent(out, ""); !ok || strings.Contains(out, trace) || strings.Contains(out, "707269766174652e") {
			t.Errorf("share %v: %s is passed on", share, out)
		}
		if TraceOf(out) != TraceOf(OutgoingParent(again)) || TraceOf(out) != TraceOf(OutgoingParent(tracer.BeginCall(first))) {
			t.Errorf("share %v: calls of one trace are passed on in two", share)
		}
		if TraceOf(out) == TraceOf(OutgoingParent(beginOf(NewTracer(share, true, func(*Call) {}), trace, "01"))) {
			t.Errorf("share %v: what is passed on can be known", share)
		}
		if first.TraceID() != trace {
			t.Errorf("share %v: the call is told in %s, want the trace of the client", share, first.TraceID())
		}
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
