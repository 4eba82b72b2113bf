package upstream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// TestAProcessThatWorksIsNotIdle: it lives for a quarter of an hour after the
// end of a call, however long that took, and no longer.
func TestAProcessThatWorksIsNotIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, tool("works"), tool("echo"))
		s.answer = func(_ *peer, q *question) any {
			if q.Params.Name == "works" {
				time.Sleep(40 * time.Minute)
			}
			return text("fine")
		}
		g := newGateWith(t, &sallyport.Backends{Process: s, Network: &sallyport.NetworkBackend{}}, nil,
			upstream.Server{Name: "test", Command: []string{"scripted"}, Timeout: time.Hour})
		done := make(chan sallyport.Result)
		go func() { done <- g.call("test__works", nil) }()
		time.Sleep(20 * time.Minute)
		if res := g.call("test__echo", nil); !res.OK {
			t.Errorf("a second call = %+v", res)
		}
		if res := <-done; !res.OK {
			t.Errorf("a call of 40 minutes = %+v", res)
		}
		time.Sleep(14 * time.Minute)
		if n := s.alive(); n != 1 || s.starts.Load() != 2 { // one to discover
			t.Errorf("%d processes of %d, want the first to go on", n, s.starts.Load())
		}
		time.Sleep(2 * time.Minute)
		if n := s.alive(); n != 0 {
			t.Errorf("%d processes without calls", n)
		}
	})
}
