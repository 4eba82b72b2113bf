package upstream_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/needs"
)

const tooLong = "the MCP server test: its answer has more than 16 MiB"

// writeEndlessJSON writes that many MiB of a JSON text without an end.
func writeEndlessJSON(w io.Writer, mib int) {
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range mib {
		if _, err := w.Write(piece); err != nil {
			return // the client has enough
		}
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// TestB3_AnAnswerBeyondTheBoundEndsItsCallAtOnce, with the reason, in every
// form of answer, even if the server stops sending without ending the answer.
// The connection serves the next call.
func TestB3_AnAnswerBeyondTheBoundEndsItsCallAtOnce(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	const start = `{"jsonrpc":"2.0","id":1000000000,"result":{"content":[{"type":"text","text":"`
	for name, answer := range map[string]func(w http.ResponseWriter){
		"JSON": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, start)
			writeEndlessJSON(w, 63)
		},
		"an announced length": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(17<<20))
			_, _ = io.WriteString(w, start)
			w.(http.Flusher).Flush()
		},
		"gzip": func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			writeEndlessJSON(z, 63)
			_ = z.Flush()
		},
		"blanks": func(w http.ResponseWriter) {
			for range 17 {
				_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
			}
			w.(http.Flusher).Flush()
		},
		"an error": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(17<<20))
			w.WriteHeader(http.StatusBadRequest)
			w.(http.Flusher).Flush()
		},
		"one line of an event": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			writeEndlessJSON(w, 17)
		},
		"many lines of an event": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 17 << 10 {
				_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 1024)+"\n")
			}
			w.(http.Flusher).Flush()
		},
		"comments": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 17 << 10 {
				_, _ = io.WriteString(w, ": "+strings.Repeat("x", 1024)+"\r\n")
			}
			w.(http.Flusher).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, tool("large"), tool("echo"))
			s.answer = func(p *peer, q *question) any {
				if q.Params.Name == "echo" {
					return text("fine")
				}
				w := p.w.(http.ResponseWriter)
				w.Header().Set("Content-Type", "application/json")
				answer(w)
				<-p.gone
				return nil
			}
			g := overHTTP(t, s, nil, nil)
			for range 4 { // more often than a server may fail in a row
				if res := g.call("test__large", nil); res.OK || inside(res) != tooLong {
					t.Errorf("the call = %.300v, want %q", res, tooLong)
				}
			}
			if res := g.call("test__echo", nil); inside(res) != "fine" || s.count("initialize") != 2 {
				t.Errorf("the next call = %.300v on connection %d", res, s.count("initialize"))
			}
			if held := g.mounts.Held(); held != 0 {
				t.Errorf("%d bytes are held after the calls", held)
			}
		})
	}
}

// TestB3_EncodingsThatNobodyAskedFor are refused and not read.
func TestB3_EncodingsThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"br", "deflate", "gzip, gzip"} {
		s := newScript(t, tool("large"))
		s.answer = func(p *peer, _ *question) any {
			w := p.w.(http.ResponseWriter)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", coding)
			writeEndlessJSON(w, 1)
			<-p.gone
			return nil
		}
		if res := overHTTP(t, s, nil, nil).call("test__large", nil); !strings.Contains(res.Error, "compressed in a way that was not asked for") {
			t.Errorf("%s: the call = %.300v", coding, res)
		}
	}
}

// TestB3_LongListsAndGreetings end the start of a server, with the reason.
func TestB3_LongListsAndGreetings(t *testing.T) {
	t.Parallel()
	for _, remote := range []bool{false, true} {
		for name, tt := range map[string]struct {
			change func(s *script)
			want   string
		}{
			"a list": {func(s *script) {
				s.lists["tools/list"] = object{"tools": []any{}, "junk": strings.Repeat("x", 17<<20)}
			}, "its answer has more than 16 MiB"},
			"a greeting": {func(s *script) { s.says["instructions"] = strings.Repeat("x", 2<<20) }, "its first answer has more than 1024 KiB"},
		} {
			s := newScript(t, tool("a"))
			tt.change(s)
			var g *gate
			if remote {
				g = overHTTP(t, s, nil, nil)
			} else {
				g = scripted(t, s, &upstream.Options{StartWait: patience})
			}
			if left := strings.Join(g.left, " "); !strings.Contains(left, "the MCP server test did not start: "+tt.want) {
				t.Errorf("%s, remote %v: left out %.300q", name, remote, left)
			}
			if held := g.mounts.Held(); held != 0 {
				t.Errorf("%s, remote %v: %d bytes are held", name, remote, held)
			}
		}
	}
}

// TestB3_ManySmallDefinitions in one message are not decoded one and all: the list is left
// out at its bound. Over HTTP, where the library decodes the message, so is the server.
func TestB3_ManySmallDefinitions(t *testing.T) {
	t.Parallel()
	for remote, want := range map[bool]string{false: "the server offers more than 500 tools", true: "did not start: its answer has more than 1000000 values"} {
		s := newScript(t)
		s.lists["tools/list"] = object{"tools": rawJSON("[" + strings.Repeat("0,", 1_000_000) + "0]")}
		var g *gate
		if remote {
			g = overHTTP(t, s, nil, nil)
		} else {
			g = scripted(t, s, &upstream.Options{StartWait: patience})
		}
		if left := strings.Join(g.left, " "); !strings.Contains(left, want) {
			t.Errorf("remote %v: left out %.300q, want %q", remote, left, want)
		}
		if held := g.mounts.Held(); held != 0 {
			t.Errorf("remote %v: %d bytes are held", remote, held)
		}
	}
}

// newTwoServerGate returns a gate over the remote servers test and other.
func newTwoServerGate(t *testing.T, test, other *script) *gate {
	t.Helper()
	network := map[string]*sallyport.NetworkBackend{}
	for host, s := range map[string]*script{"test.example": test, "other.example": other} {
		far := s.listen(t, nil)
		network[host] = far.network()
	}
	addresses := map[string]netip.Addr{"test.example": netip.MustParseAddr("93.184.216.34"), "other.example": netip.MustParseAddr("93.184.216.35")}
	both := &sallyport.NetworkBackend{
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) { return []netip.Addr{addresses[host]}, nil },
	}
	both.Dial = network["test.example"].Dial
	dial := both.Dial
	both.Dial = func(ctx context.Context, kind string, at netip.AddrPort) (net.Conn, error) {
		if at.Addr() == addresses["other.example"] {
			return network["other.example"].Dial(ctx, kind, at)
		}
		return dial(ctx, kind, at)
	}
	return newGateWith(t, &sallyport.Backends{Network: both}, nil,
		upstream.Server{Name: "test", URL: "http://test.example/mcp"}, upstream.Server{Name: "other", URL: (&url.URL{Scheme: "http", Host: "other.example", Path: "/mcp"}).String()})
}

// TestB3_OneServerDoesNotStarveOthers: a server that holds all the memory gives
// way to another, and the memory is freed.
func TestB3_OneServerDoesNotStarveOthers(t *testing.T) {
	greedy, modest := newScript(t, tool("large")), newScript(t, tool("large"))
	var pouring atomic.Int64
	greedy.answer = func(p *peer, q *question) any {
		w := p.w.(http.ResponseWriter)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, q.ID)
		writeEndlessJSON(w, 15)
		pouring.Add(1)
		<-p.gone
		return nil
	}
	long := strings.Repeat("x", 10<<20)
	modest.answer = func(*peer, *question) any { return text(long) }
	g := newTwoServerGate(t, greedy, modest)
	before := heap()
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for i := range 32 {
		calls.Go(func() { g.callAs(ctx, fmt.Sprint("greedy", i%4), "some", "test__large", object{}) })
	}
	for g.mounts.Held() < upstream.MaxHeld-(64<<20) {
		runtime.Gosched()
	}
	for range 4 {
		if res := g.callAs(t.Context(), "ann", "some", "other__large", object{}); !res.OK {
			t.Errorf("another server beside it = %.300v", res)
		}
		if held := g.mounts.Held(); held > upstream.MaxHeld {
			t.Errorf("%d bytes are held", held)
		}
	}
	cancel()
	calls.Wait()
	if held, after := g.mounts.Held(), heap(); held != 0 || after > before+(32<<20) {
		t.Errorf("%d bytes are held after the calls, the heap grew from %d to %d MiB", held, before>>20, after>>20)
	}
}

// TestB3_MemoryComesBack after 32 calls of a server that sends 63 MiB of an
// answer and then stops. During the calls the memory stays near the bound.
func TestB3_MemoryComesBack(t *testing.T) {
	needs.NoRace(t)
	for name, remote := range map[string]bool{"remote": true, "here": false} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, tool("large"))
			s.answer = func(p *peer, q *question) any {
				if w, ok := p.w.(http.ResponseWriter); ok {
					w.Header().Set("Content-Type", "application/json")
				}
				p.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, q.ID))
				writeEndlessJSON(p.w, 63)
				if p.gone != nil {
					<-p.gone
				}
				return nil
			}
			var g *gate
			if remote {
				g = overHTTP(t, s, nil, nil)
			} else {
				g = scripted(t, s, nil)
			}
			before := heap()
			var calls sync.WaitGroup
			for i := range 32 {
				calls.Go(func() {
					if res := g.callAs(t.Context(), fmt.Sprint("p", i), "some", "test__large", object{}); res.OK || !strings.Contains(res.Error, "its answer ") {
						t.Errorf("the call = %.300v", res)
					}
				})
			}
			done := make(chan struct{})
			var most uint64
			go func() {
				defer close(done)
				calls.Wait()
			}()
			for over := false; !over; {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
				select {
				case <-done:
					over = true
				default:
					runtime.Gosched()
				}
			}
			after := heap()
			t.Logf("the heap had %d MiB before, at most %d, %d after", before>>20, most>>20, after>>20)
			if g.mounts.Held() != 0 || after > before+(32<<20) || most > before+4*upstream.MaxHeld {
				t.Errorf("%d bytes are held after the calls, the heap grew from %d over %d to %d MiB", g.mounts.Held(), before>>20, most>>20, after>>20)
			}
		})
	}
}

// heap returns the bytes of live objects.
func heap() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
