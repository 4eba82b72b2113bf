package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// endless writes lines until the other side is gone, and counts them.
func endless(w io.Writer, line string) (n int64) {
	for n < 1_000_000 {
		if _, err := io.WriteString(w, line); err != nil {
			return n
		}
		n++
	}
	return n
}

// TestB4_AFloodDuringACall is bounded too: of messages here.
func TestB4_AFloodDuringACall(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`
	for name, line := range map[string]string{
		"here": note + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, tool("floods"), tool("a"))
			var sent atomic.Int64
			s.answer = func(p *peer, q *question) any {
				if q.Params.Name != "floods" {
					return text("fine")
				}
				sent.Store(endless(p.w, line))
				return nil
			}
			g := scripted(t, s, nil)
			if res := g.call("test__floods", nil); res.OK || !strings.Contains(res.Error, "without end") {
				t.Errorf("the call = %+v", res)
			}
			if n := sent.Load(); n > 500_000 {
				t.Errorf("%d messages were read", n)
			}
			if res := g.call("test__a", nil); inside(res) != "fine" {
				t.Errorf("the next call = %+v", res)
			}
		})
	}
}

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
