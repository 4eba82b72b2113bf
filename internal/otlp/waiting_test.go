package otlp

import (
	"testing"

	"github.com/sallyport/sallyport/internal/tracing"
)

// endedCall returns the call of a principal that has ended, with two spans.
func endedCall(t *testing.T, who string) (ended *tracing.Call) {
	t.Helper()
	ctx := tracing.NewTracer(1, false, func(c *tracing.Call) { ended = c }).BeginCall(t.Context())
	_, s := tracing.StartSpan(ctx, "below", tracing.KindInternal)
	s.EndSpan()
	tracing.CallOf(ctx).Root.SetText(tracing.KeyPrincipal, who)
	tracing.CallOf(ctx).EndCall()
	return ended
}

// TestOnePrincipalTakesNoSpansOfOthers: who has the most spans waiting loses them, so that a
// flood of one principal is no loss of another.
func TestOnePrincipalTakesNoSpansOfOthers(t *testing.T) {
	t.Parallel()
	w := newWaitingCalls()
	noisy, quiet := endedCall(t, "noisy"), endedCall(t, "quiet")
	const full, calls = maxWaiting / 2, 100
	for i := range full {
		if lost := w.addCall(noisy); lost != 0 {
			t.Fatalf("call %d: %d spans are lost before it is full", i, lost)
		}
	}
	for range calls {
		if lost := w.addCall(noisy); lost != 2 {
			t.Fatalf("a call beyond the bound: %d spans are lost, want its own", lost)
		}
		if lost := w.addCall(quiet); lost != 2 {
			t.Fatalf("a call of another: %d spans are lost, want those of one call of the first", lost)
		}
	}
	if n := w.countSpans(); n != maxWaiting {
		t.Errorf("%d spans wait, want %d", n, maxWaiting)
	}
	took := map[*tracing.Call]int{}
	for c := w.takeCall(); c != nil; c = w.takeCall() {
		if took[c]++; c == noisy && took[quiet] > 0 {
			t.Error("a call that came first is sent later")
		}
	}
	if took[noisy] != full-calls || took[quiet] != calls || len(w.held) != 0 {
		t.Errorf("%d calls of the first and %d of the other were sent, want %d and %d; %v are held", took[noisy], took[quiet], full-calls, calls, w.held)
	}
	// What is being sent makes no room until it was.
	if lost := w.addCall(quiet); lost != 2 {
		t.Errorf("%d spans are lost beside a full request", lost)
	}
	w.releaseSpans(maxWaiting)
	if lost := w.addCall(quiet); lost != 0 || w.countSpans() != 2 {
		t.Errorf("%d spans are lost, and %d wait, when all was sent", lost, w.countSpans())
	}
}
