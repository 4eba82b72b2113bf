package upstream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// TestAProcessThatIsBeingEndedAnswersNoCall: what starts again is served by a process of
// its own, not by the one that its stop has told to end.
func TestAProcessThatIsBeingEndedAnswersNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, tool("echo"))
		s.answer = func(*peer, *question) any { return text("fine") }
		s.tidies = time.Minute
		g := scripted(t, s, nil)
		if res := g.call("test__echo", nil); !res.OK {
			t.Fatalf("the first call = %+v", res)
		}
		g.stopped.Store(true)
		time.Sleep(260 * time.Millisecond) // what runs is reviewed four times a second
		g.stopped.Store(false)
		before := s.starts.Load()
		if res := g.call("test__echo", nil); !res.OK || s.starts.Load() != before+1 || s.alive() != 1 {
			t.Errorf("the call after the stop = %+v, %d more processes, of which %d run; want another one", res, s.starts.Load()-before, s.alive())
		}
	})
}

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
