package upstream_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
)

// TestB4_AStreamThatIsBrokenOffWithoutEnd is given up although each part brings
// an event.
func TestB4_AStreamThatIsBrokenOffWithoutEnd(t *testing.T) {
	s := newScript(t, tool("a"))
	s.answer = func(p *peer, _ *question) any {
		events(t, p, "id: 0\nretry: 1\ndata:\n\n")
		return nil
	}
	var resumed atomic.Int64
	g := overHTTP(t, s, nil, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "id: %d\nretry: 1\ndata:\n\n", resumed.Add(1))
		return true
	})
	if res := g.call("test__a", nil); res.OK || resumed.Load() > 200 {
		t.Errorf("the call = %+v after %d parts", res, resumed.Load())
	}
}
