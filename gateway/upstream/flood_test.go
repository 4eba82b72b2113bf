package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// endless writes lines until the other side is gone, and returns their number.
func endless(w io.Writer, line string) (n int64) {
	for n < 1_000_000 {
		if _, err := io.WriteString(w, line); err != nil {
			return n
		}
		n++
	}
	return n
}

// TestB4_AnIdleServerThatFloodsIsEnded: whatever the server sends without end,
// the gate reads a few thousand messages at most and lists the server as not
// available, with the reason. The server is used again when it starts and
// answers.
func TestB4_AnIdleServerThatFloodsIsEnded(t *testing.T) {
	t.Parallel()
	const messages = "it sends without end while it has no call"
	long := strings.Repeat("x", 64<<10)
	for name, tt := range map[string]struct {
		line string
		errs bool
		most int64
		why  string
	}{
		"log messages":   {`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n", false, 5000, messages},
		"long messages":  {`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + long + `"}}` + "\n", false, 1000, messages},
		"progress":       {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}` + "\n", false, 5000, messages},
		"changes":        {`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n", false, 5000, messages},
		"pings":          {`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", false, 5000, "while it has no call"},
		"answers":        {`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", false, 5000, messages},
		"later answers":  {`{"jsonrpc":"2.0","id":1000000000,"result":{}}` + "\n", false, 5000, messages},
		"standard error": {"it complains\n", true, 500_000, "it writes to standard error without end while it has no call"},
		"a long line":    {long, true, 2000, "it writes to standard error without end while it has no call"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, tool("a"))
				s.answer = func(*peer, *question) any { return text("fine") }
				g := scripted(t, s, nil)
				if res := g.call("test__a", nil); !res.OK {
					t.Fatal(res)
				}
				var sent atomic.Int64
				s.set(func(s *script) {
					for p := range s.peers {
						go func() {
							to := p.w
							if tt.errs {
								to = p.errs
								for s.alive() > 0 && sent.Load() < 1_000_000 {
									_, _ = io.WriteString(to, tt.line)
									sent.Add(1)
								}
								return
							}
							sent.Add(endless(to, tt.line))
						}()
						go func() { // it reads the answers
							for range p.heard {
							}
						}()
						t.Cleanup(func() { close(p.heard) })
					}
				})
				synctest.Wait()
				if n := sent.Load(); s.alive() != 0 || n > tt.most {
					t.Errorf("%d processes run, and %d messages were read, want none and at most %d", s.alive(), n, tt.most)
				}
				why := g.mounts.Unavailable()["test"]
				if !strings.HasPrefix(why, "the MCP server test was ended: ") || !strings.Contains(why, tt.why) {
					t.Errorf("why = %q, want %q", why, tt.why)
				}
				if res := g.call("test__a", nil); res.OK || !strings.Contains(res.Error, why) {
					t.Errorf("a call = %+v, want the reason", res)
				}
				time.Sleep(4 * time.Second)
				if got := g.dueServers(); got != "test" {
					t.Errorf("due are %q", got)
				}
				if got := g.probe("test"); got != "" {
					t.Errorf("after a probe: %q", got)
				}
				if res := g.call("test__a", nil); inside(res) != "fine" {
					t.Errorf("a call then = %+v", res)
				}
			})
		})
	}
}

// TestB4_AFloodBesideOthers makes the server unavailable only to its own
// principal.
func TestB4_AFloodBesideOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, tool("a"))
		s.answer = func(*peer, *question) any { return text("fine") }
		g := scripted(t, s, nil)
		for _, who := range []string{"ann", "bob"} {
			if res := g.callAs(t.Context(), who, "some", "test__a", object{}); !res.OK {
				t.Fatal(res)
			}
		}
		s.set(func(s *script) {
			for p := range s.peers {
				if p.number == 2 { // the process of ann
					go endless(p.w, `{"jsonrpc":"2.0","method":"notifications/x"}`+"\n")
				}
			}
		})
		synctest.Wait()
		if why := g.mounts.Unavailable(); len(why) != 0 {
			t.Errorf("not available: %q", why)
		}
		if res := g.call("test__a", nil); res.OK || !strings.Contains(res.Error, "it sends without end while it has no call") || !strings.Contains(res.Error, "left alone until") {
			t.Errorf("a call of its principal = %+v", res)
		}
		if res := g.callAs(t.Context(), "bob", "some", "test__a", object{}); inside(res) != "fine" {
			t.Errorf("a call of another = %+v", res)
		}
		time.Sleep(2 * time.Second)
		if res := g.call("test__a", nil); inside(res) != "fine" {
			t.Errorf("a call of its principal later = %+v", res)
		}
	})
}

// TestB4_AFloodDuringACall is bounded too: messages of a server on this
// machine, events and empty streams of a remote one.
func TestB4_AFloodDuringACall(t *testing.T) {
	t.Parallel()
	note := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`
	for name, line := range map[string]string{
		"here": note + "\n", "events": "data: " + note + "\n\n", "comments": ": x\n\n", "other events": "event: x\ndata: y\n\n",
	} {
		flood := func(t *testing.T) {
			s := newScript(t, tool("floods"), tool("a"))
			var sent atomic.Int64
			s.answer = func(p *peer, q *question) any {
				if q.Params.Name != "floods" {
					return text("fine")
				}
				if w, ok := p.w.(http.ResponseWriter); ok {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				sent.Store(endless(p.w, line))
				return nil
			}
			var g *gate
			if name == "here" {
				g = scripted(t, s, nil)
			} else {
				g = overHTTP(t, s, nil, nil)
			}
			if res := g.call("test__floods", nil); res.OK || !strings.Contains(res.Error, "without end") {
				t.Errorf("the call = %+v", res)
			}
			// What was sent and not read lies in the buffers of the connection, too.
			if n := sent.Load(); n > 2_000_000 {
				t.Errorf("%d messages were sent", n)
			}
			if res := g.call("test__a", nil); inside(res) != "fine" {
				t.Errorf("the next call = %+v", res)
			}
		}
		t.Run(name, func(t *testing.T) {
			if name == "here" { // no time passes, however slowly it is read
				synctest.Test(t, flood)
				return
			}
			flood(t)
		})
	}
}

// TestB4_AStreamThatIsBrokenOffWithoutEnd is given up although each part brings
// an event.
func TestB4_AStreamThatIsBrokenOffWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(p *peer, _ *question) any {
		sendEvents(t, p, "id: 0\nretry: 1\ndata:\n\n")
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
