package egress

import (
	"net/http"
	"sync"
	"testing"
)

// An upstream server is called by many at once, again and again: their
// connections are kept, so that no second dial is needed.
func TestConnectionsOfManyCallersAreKept(t *testing.T) {
	t.Parallel()
	const callers = 16
	var arrived sync.WaitGroup
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait() // so that no two share a connection
		ok(rw, r)
	})
	c := bind(w.client(t, allow("a.example"), Options{}), nil)
	for round := range 2 {
		arrived.Add(callers)
		var calling sync.WaitGroup
		for range callers {
			calling.Go(func() {
				if _, err := get(c, "http://a.example/"); err != nil {
					t.Error(err)
				}
			})
		}
		calling.Wait()
		if n := len(w.dials()); n != callers {
			t.Errorf("after round %d there were %d dials, want %d", round+1, n, callers)
		}
	}
}
