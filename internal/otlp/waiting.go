package otlp

import (
	"slices"
	"sync"

	"github.com/sallyport/sallyport/internal/tracing"
)

// waitingCalls holds the calls whose spans wait to be sent, in the order in which they
// ended. Where there are too many, a principal with fewer of them takes the place of the one
// with the most. It is safe for concurrent use.
type waitingCalls struct {
	wake chan struct{} // holds one when a call was added

	mu    sync.Mutex
	list  []exportedCall
	held  map[string]int64 // spans of list by principal
	spans int64            // of list, and of what is being sent
}

// exportedCall is a call that waits, and whose it is.
type exportedCall struct {
	call *tracing.Call
	who  string
}

func newWaitingCalls() *waitingCalls {
	return &waitingCalls{wake: make(chan struct{}, 1), held: map[string]int64{}}
}

// addCall adds a call and returns how many spans, of it or of others, are lost for that.
func (w *waitingCalls) addCall(c *tracing.Call) (lost int64) {
	n, who := int64(c.CountSpans()), principalOf(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.spans+n > maxWaiting {
		most := w.findLargest(who, n)
		if most == who {
			return lost + n
		}
		lost += w.dropOldest(most)
	}
	w.list = append(w.list, exportedCall{c, who})
	w.held[who] += n
	w.spans += n
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return lost
}

// principalOf returns the principal of a call that has ended.
func principalOf(c *tracing.Call) string {
	for i := range c.Root.Attrs {
		if c.Root.Attrs[i].Key == tracing.KeyPrincipal {
			return c.Root.Attrs[i].Text
		}
	}
	return ""
}

// findLargest returns the principal with the most spans, had one of them n more.
func (w *waitingCalls) findLargest(who string, n int64) (most string) {
	most, n = who, n+w.held[who]
	for other, held := range w.held {
		if held > n {
			most, n = other, held
		}
	}
	return most
}

// dropOldest drops the oldest call of a principal that has one.
func (w *waitingCalls) dropOldest(who string) (spans int64) {
	i := slices.IndexFunc(w.list, func(one exportedCall) bool { return one.who == who })
	spans = w.unlistCall(i)
	w.spans -= spans
	return spans
}

// takeCall returns the call that waits for longest; nil when none does. Its spans count
// until they are released.
func (w *waitingCalls) takeCall() *tracing.Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) == 0 {
		return nil
	}
	c := w.list[0].call
	w.unlistCall(0)
	return c
}

// unlistCall removes a call from the list, and returns how many spans it has.
func (w *waitingCalls) unlistCall(i int) (spans int64) {
	one := w.list[i]
	if spans = int64(one.call.CountSpans()); w.held[one.who] == spans {
		delete(w.held, one.who)
	} else {
		w.held[one.who] -= spans
	}
	if i == 0 {
		w.list[0] = exportedCall{}
		w.list = w.list[1:]
	} else {
		w.list = slices.Delete(w.list, i, i+1)
	}
	return spans
}

// releaseSpans makes room for as many spans, which were sent or lost.
func (w *waitingCalls) releaseSpans(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spans -= int64(n)
}

// countSpans returns how many spans wait or are being sent.
func (w *waitingCalls) countSpans() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.spans
}
