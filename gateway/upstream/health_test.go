package upstream_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// probe asks a server as the operator's program does, and returns why it is
// unavailable then.
func (g *gate) probe(server string) string {
	g.mounts.Probe(g.t.Context(), server, func(context.Context) { g.discover(server) })
	return g.mounts.Unavailable()[server]
}

// dueServers lists the servers that are to be asked.
func (g *gate) dueServers() string { return strings.Join(g.mounts.Due(g.t.Context()), " ") }

// lists returns the names that a principal sees.
func (g *gate) lists(principal string) (names []string) {
	for _, d := range g.Definitions(&sallyport.Caller{
		Principal: sallyport.Principal{Name: principal}, Personality: "some", Platform: sallyport.PlatformGo, Workspace: g.workspace,
	}) {
		names = append(names, d.Name)
	}
	return names
}

// TestADeadServerIsNotAvailable: once it starts for no principal, its tools
// leave the list, with the reason, and later come back without help.
func TestADeadServerIsNotAvailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, tool("a"))
		s.answer = func(*peer, *question) any { return text("alive") }
		good := newScript(t, tool("echo"))
		good.answer = func(*peer, *question) any { return text("fine") }
		var told atomic.Int64
		g := newGateWith(t, &sallyport.Backends{Process: beside{s, good}}, &upstream.Options{Changed: func() { told.Add(1) }},
			upstream.Server{Name: "test", Command: []string{"scripted"}}, upstream.Server{Name: "other", Command: []string{"other"}})
		if res := g.call("test__a", nil); inside(res) != "alive" || g.dueServers() != "" {
			t.Fatalf("the call = %+v, due %q", res, g.dueServers())
		}
		// No call runs when it dies.
		s.set(func(s *script) { s.dead = true })
		s.kill()
		synctest.Wait()
		if got := g.dueServers(); got != "test" {
			t.Fatalf("after its end due are %q", got)
		}
		const why = "the MCP server test did not start: it ended before it answered"
		if got := g.probe("test"); got != why {
			t.Errorf("why = %q, want %q", got, why)
		}
		if got := g.lists("ann"); !slices.Equal(got, []string{"mcp__other__echo"}) || told.Load() != 1 {
			t.Errorf("the list is %q, and clients were told %d times", got, told.Load())
		}
		starts := s.starts.Load()
		if res := g.call("test__a", nil); res.Code != sallyport.CodeNotAvailable || !strings.HasSuffix(res.Error, "is not currently available: "+why) || s.starts.Load() != starts {
			t.Errorf("a call in between = %+v after %d starts", res, s.starts.Load()-starts)
		}
		g.checkOtherServer("while a server is dead")
		pause := 5 * time.Second
		for range 3 {
			if got := g.dueServers(); got != "" {
				t.Errorf("right after it was asked due are %q", got)
			}
			time.Sleep(pause)
			if got := g.dueServers(); got != "test" {
				t.Errorf("%v later due are %q", pause, got)
			}
			if got := g.probe("test"); got != why || told.Load() != 1 {
				t.Errorf("asked again: %q, clients were told %d times", got, told.Load())
			}
			pause *= 2
		}
		s.set(func(s *script) { s.dead = false })
		time.Sleep(pause)
		if got := g.probe("test"); got != "" || told.Load() != 2 || len(g.lists("ann")) != 2 {
			t.Errorf("alive again: %q, told %d times, list %q", got, told.Load(), g.lists("ann"))
		}
		if res := g.call("test__a", nil); inside(res) != "alive" {
			t.Errorf("a call then = %+v", res)
		}
	})
}

// newMortalScript is a server whose tool "dies" ends its process.
func newMortalScript(t *testing.T) *script {
	s := newScript(t, tool("a"), tool("dies"))
	s.answer = func(p *peer, q *question) any {
		if q.Params.Name == "dies" {
			p.die()
			return nil
		}
		return text("alive")
	}
	return s
}

// TestOnePrincipalsCrashes: other principals keep the tools, and the server is
// not probed without end.
func TestOnePrincipalsCrashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMortalScript(t)
		var told atomic.Int64
		g := scripted(t, s, &upstream.Options{Changed: func() { told.Add(1) }})
		crash := func() {
			for range 3 {
				if res := g.call("test__dies", nil); res.Code != sallyport.CodeExecutionFailed {
					t.Errorf("a call that ends its process = %+v", res)
				}
			}
		}
		crash()
		starts := s.starts.Load()
		res := g.call("test__a", nil)
		if res.Code != sallyport.CodeNotAvailable || !strings.Contains(res.Error, "did not answer 3 calls in a row; it is left alone until") || s.starts.Load() != starts {
			t.Errorf("the next call = %+v after %d starts", res, s.starts.Load()-starts)
		}
		if res := g.callAs(t.Context(), "bob", "some", "test__a", object{}); inside(res) != "alive" {
			t.Errorf("another principal = %+v", res)
		}
		synctest.Wait()
		if got := g.dueServers(); got != "test" {
			t.Errorf("due are %q", got)
		}
		if got := g.probe("test"); got != "" || told.Load() != 0 || len(g.lists("bob")) != 2 {
			t.Errorf("why = %q, clients were told %d times, list %q", got, told.Load(), g.lists("bob"))
		}
		time.Sleep(30 * time.Second)
		if res := g.call("test__a", nil); inside(res) != "alive" {
			t.Errorf("the principal later = %+v", res)
		}
		crash()
		synctest.Wait()
		if got := g.dueServers(); got != "" {
			t.Errorf("half a minute after it answered due are %q", got)
		}
		time.Sleep(31 * time.Second)
		if got := g.dueServers(); got != "test" {
			t.Errorf("a minute after it answered due are %q", got)
		}
	})
}

// TestAServerThatStartsSlowly lists its tools just before its time is over, then just
// after that.
func TestAServerThatStartsSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, tool("a"))
		takes := 29 * time.Second
		s.onStart = func(*peer) { time.Sleep(takes) }
		g := newGateWith(t, &sallyport.Backends{Process: s, Network: &sallyport.NetworkBackend{}}, &upstream.Options{StartWait: 30 * time.Second},
			upstream.Server{Name: "test", Command: []string{"scripted"}})
		if len(g.left) > 0 || g.mounts.WasLate("test") {
			t.Errorf("a second before its time is over: %q", g.left)
		}
		takes += 2 * time.Second
		if res := g.discover("test"); res.OK || !strings.Contains(res.Error, "the MCP server test did not list its tools within 30 s") || !g.mounts.WasLate("test") {
			t.Errorf("a second after its time is over = %+v", res)
		}
		takes = 0
		if res := g.discover("test"); !res.OK || g.mounts.WasLate("test") {
			t.Errorf("at once = %+v", res)
		}
	})
}

// TestAProcessThatEndsInACall: the server is probed, because it may not start
// again. A process that the gate ends causes no probe.
func TestAProcessThatEndsInACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMortalScript(t)
		g := scripted(t, s, nil)
		g.call("test__a", nil)
		time.Sleep(20 * time.Minute)
		if got := g.dueServers(); got != "" || s.alive() != 0 {
			t.Errorf("after a process without calls was ended due are %q, %d run", got, s.alive())
		}
		g.call("test__dies", nil)
		if got := g.dueServers(); got != "test" {
			t.Errorf("after a call in which its process ended due are %q", got)
		}
	})
}

// TestAServerThatHangs is ended after three unanswered calls in a row. An
// answered call in between starts the count anew.
func TestAServerThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, tool("a"), tool("hangs"))
		s.answer = func(_ *peer, q *question) any {
			if q.Params.Name == "hangs" {
				return nil
			}
			return text("alive")
		}
		g := newGateWith(t, &sallyport.Backends{Process: s}, nil, upstream.Server{Name: "test", Command: []string{"scripted"}, Timeout: 2 * time.Second})
		hang := func(times int) {
			for range times {
				if res := g.call("test__hangs", nil); res.OK {
					t.Errorf("a call without an answer = %+v", res)
				}
			}
		}
		hang(2)
		if res := g.call("test__a", nil); inside(res) != "alive" {
			t.Errorf("a call in between = %+v", res)
		}
		hang(2)
		synctest.Wait()
		if n := s.alive(); n != 1 {
			t.Errorf("%d processes after two calls in a row, want it to go on", n)
		}
		hang(1)
		synctest.Wait()
		if n := s.alive(); n != 0 {
			t.Errorf("%d processes after three calls in a row", n)
		}
		if res := g.call("test__a", nil); res.Code != sallyport.CodeNotAvailable {
			t.Errorf("the next call = %+v", res)
		}
		time.Sleep(2 * time.Second)
		if res := g.call("test__a", nil); inside(res) != "alive" || g.dueServers() != "test" {
			t.Errorf("a call later = %+v, due %q", res, g.dueServers())
		}
	})
}

// TestAServerThatIsTooSlowToStart within the time of its calls is given up like
// one that does not start.
func TestAServerThatIsTooSlowToStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, tool("a"))
		list := s.lists["tools/list"]
		s.answer = func(_ *peer, q *question) any {
			time.Sleep(3 * time.Second)
			return list
		}
		g := newGateWith(t, &sallyport.Backends{Process: s}, nil, upstream.Server{Name: "test", Command: []string{"scripted"}, Timeout: time.Second})
		s.set(func(s *script) { delete(s.lists, "tools/list") })
		for range 3 {
			g.call("test__a", nil)
		}
		starts := s.starts.Load()
		if res := g.call("test__a", nil); res.Code != sallyport.CodeNotAvailable || s.starts.Load() != starts || g.dueServers() != "test" {
			t.Errorf("the fourth call = %+v after %d starts, due %q", res, s.starts.Load()-starts, g.dueServers())
		}
		if got := g.probe("test"); got != "" {
			t.Errorf("a server that starts within its time: %q", got)
		}
	})
}

// TestARemoteServerThatIsGone is not available. A server that only fails calls
// stays available, and its callers get the errors.
func TestARemoteServerThatIsGone(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(*peer, *question) any { return text("fine") }
	far := s.listen(t, http.Header{})
	g := newGateWith(t, &sallyport.Backends{Network: far.network()}, nil, upstream.Server{Name: "test", URL: "http://mcp.example/mcp"})
	if res := g.call("test__a", nil); !res.OK {
		t.Fatal(res.Error)
	}
	far.busy.Store("tools/call")
	for range 3 {
		if res := g.call("test__a", nil); res.Code != sallyport.CodeExecutionFailed {
			t.Errorf("a call of a busy server = %+v", res)
		}
	}
	if got := g.dueServers(); got != "test" {
		t.Errorf("due are %q", got)
	}
	if got := g.probe("test"); got != "" {
		t.Errorf("a server that can be greeted: %q", got)
	}
	far.busy.Store("initialize")
	if got := g.probe("test"); got != "the MCP server test did not start" {
		t.Errorf("a server that gives no greeting: %q", got)
	}
	far.busy.Store("")
	if got := g.probe("test"); got != "" {
		t.Errorf("a server that is back: %q", got)
	}
	if res := g.call("test__a", nil); !res.OK {
		t.Errorf("a call of a server that is back = %+v", res)
	}
	far.Close()
	if got := g.probe("test"); !strings.HasPrefix(got, "the MCP server test did not start: ") {
		t.Errorf("a server that is gone: %q", got)
	}
	if res := g.call("test__a", nil); res.Code != sallyport.CodeNotAvailable || len(g.lists("ann")) != 0 {
		t.Errorf("a call = %+v, list %q", res, g.lists("ann"))
	}
}

// TestAProbeThatDoesNotComeToAnEnd changes nothing.
func TestAProbeThatDoesNotComeToAnEnd(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	g := scripted(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s.set(func(s *script) { s.onStart = func(*peer) { cancel(); <-ctx.Done() } })
	g.mounts.Probe(ctx, "test", func(ctx context.Context) {
		g.finder.Call(ctx, &sallyport.Caller{
			Principal: sallyport.Principal{Name: "local"}, Personality: "some", Platform: sallyport.PlatformGo, Workspace: g.workspace,
		}, sallyport.Request{Tool: upstream.DiscoveryName("test")})
	})
	if got := g.mounts.Unavailable()["test"]; got != "" {
		t.Errorf("a probe that was given up: %q", got)
	}
}

// TestOneProbeOfAServerAtATime: a second probe of the same server does nothing
// and does not wait; a probe of another server runs.
func TestOneProbeOfAServerAtATime(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	g := besideAnother(t, s)
	asked := map[string]int{}
	g.mounts.Probe(t.Context(), "test", func(ctx context.Context) {
		asked["test"]++
		g.mounts.Probe(ctx, "test", func(context.Context) { asked["test"]++ })
		g.mounts.Probe(ctx, "other", func(context.Context) { asked["other"]++ })
	})
	g.mounts.Probe(t.Context(), "test", func(context.Context) { asked["test"]++ })
	if asked["test"] != 2 || asked["other"] != 1 {
		t.Errorf("asked %v, want each once, and test once more", asked)
	}
}
