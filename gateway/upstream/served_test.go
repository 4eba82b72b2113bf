package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/gateway/upstream"
)

var update = flag.Bool("update", false, "rewrite testdata/headers.txt")

// tokens maps each token to the principal of that name.
type tokens struct{}

func (tokens) Principal(_ context.Context, token string) (sallyport.Principal, bool, error) {
	return sallyport.Principal{Name: token}, true, nil
}

// edge is a gate as clients reach it.
type edge struct {
	t       *testing.T
	handler http.Handler
	host    string
}

func (g *gate) serve(t *testing.T) *edge {
	t.Helper()
	server, err := gateway.New(g.Registry, &gateway.Options{Personality: "some"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	const host = "127.0.0.1:7331"
	guard, err := auth.NewGuard(host, tokens{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &edge{t, guard.Protect(server.Handler()), host}
}

// call makes a call of the protocol without sessions, always under the same id,
// and returns the first text of the answer.
func (e *edge) call(principal, tool string, args any, more http.Header) (text string, header http.Header) {
	e.t.Helper()
	w := e.post(principal, tool, args, more)
	answer := w.Body.Bytes()
	if _, data, ok := bytes.Cut(answer, []byte("\ndata: ")); ok {
		answer = data
	}
	var got struct {
		ID     int `json:"id"`
		Result struct {
			Content []struct{ Text string } `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(answer, &got); err != nil || got.ID != 1 || len(got.Result.Content) == 0 {
		e.t.Errorf("the answer to a call of %s with %s is %d %s (%v)", tool, args, w.Code, w.Body, err)
		return "", w.Header()
	}
	_, text, _ = strings.Cut(got.Result.Content[0].Text, "\n")
	text, _, _ = strings.Cut(text, "\n</untrusted>")
	return text, w.Header()
}

// refused makes a call that must be refused and returns the code of the error.
func (e *edge) refused(principal, tool string, args any, more http.Header) int {
	e.t.Helper()
	w := e.post(principal, tool, args, more)
	var got struct {
		Error struct{ Code int }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusBadRequest {
		e.t.Errorf("the answer to a call of %s is %d %s (%v), want that it is refused", tool, w.Code, w.Body, err)
	}
	return got.Error.Code
}

// post sends a call.
func (e *edge) post(principal, tool string, args any, more http.Header) *httptest.ResponseRecorder {
	e.t.Helper()
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
		"name": tool, "arguments": args, "_meta": object{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{},
			"sallyport/session": "the same",
		},
	}})
	if err != nil {
		e.t.Error(err)
	}
	r := httptest.NewRequestWithContext(e.t.Context(), http.MethodPost, "http://"+e.host+"/mcp", bytes.NewReader(body))
	for name, values := range more {
		r.Header[name] = values
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + principal, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	return w
}

// TestAThousandClients is CVE-2026-25536 and its kind: with one id and one
// session for all, each gets its own answer, and no two principals share a
// process unless the operator says so.
func TestAThousandClients(t *testing.T) {
	t.Parallel()
	const clients, principals = 1000, 20
	for _, tt := range []struct {
		name           string
		remote, shared bool
	}{{"a process each", false, false}, {"a process for all", false, true}, {"a remote server", true, false}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, tool("nonce", object{"inputSchema": object{"type": "object", "properties": object{"nonce": object{"type": "string"}}}}))
			s.answer = func(p *peer, q *question) any {
				for range rand.N(100) {
					runtime.Gosched() // so that answers come in another order
				}
				return text(fmt.Sprintf("%s %d", q.Params.Arguments, p.number))
			}
			d := upstream.Server{Name: "test", Command: []string{"scripted"}, Shared: tt.shared, Concurrency: 64}
			backends := &sallyport.Backends{Process: s}
			if tt.remote {
				far := s.listen(t, nil)
				d.Command, d.URL = nil, "http://mcp.example/mcp"
				backends.Network = far.network()
			}
			e := newGateWith(t, backends, nil, d).serve(t)
			var mu sync.Mutex
			owners := map[string][]string{} // principals by process
			var calling sync.WaitGroup
			busy := make(chan struct{}, 450) // the edge accepts 500 at once
			for i := range clients {
				calling.Go(func() {
					busy <- struct{}{}
					defer func() { <-busy }()
					principal := fmt.Sprint("principal-", i%principals)
					args := fmt.Sprintf(`{"nonce":"%d-%s"}`, i, principal)
					got, _ := e.call(principal, "mcp__test__nonce", json.RawMessage(args), nil)
					answer, process, _ := strings.Cut(got, " ")
					if answer != args {
						t.Errorf("%s was answered %q", args, got)
					}
					mu.Lock()
					defer mu.Unlock()
					if !slices.Contains(owners[process], principal) {
						owners[process] = append(owners[process], principal)
					}
				})
			}
			calling.Wait()
			want := map[bool]int{false: 1, true: principals}[tt.shared]
			for process, list := range owners {
				if len(list) != want && !tt.remote {
					t.Errorf("process %s served %q, want %d", process, list, want)
				}
			}
		})
	}
}

// TestHeadersStayWhereTheyAre: no header of the gate's caller reaches a server,
// and no header of a server's answer comes back.
func TestHeadersStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(*peer, *question) any { return text("done") }
	far := s.listen(t, http.Header{
		"Set-Cookie": {"theirs=1"}, "Www-Authenticate": {"Basic"}, "X-Internal": {"10.0.0.7"}, "Server": {"theirs"}, "Mcp-Session-Id": {"their-session"},
		"Access-Control-Allow-Origin": {"*"},
	})
	e := newGateWith(t, &sallyport.Backends{Network: far.network(), Secrets: secrets{"far/token": "s3cr3t-of-the-far-server"}}, nil, upstream.Server{
		Name: "test", URL: "http://mcp.example/mcp",
		Headers: []upstream.Header{{Name: "Authorization", Value: "Bearer ", Secret: "far/token"}, {Name: "X-Team", Value: "blue"}},
	}).serve(t)
	got, back := e.call("ann", "mcp__test__a", object{}, http.Header{
		"Cookie": {"session=mine"}, "Proxy-Authorization": {"Basic bWluZQ=="}, "X-Api-Key": {"mine"}, "X-Forwarded-For": {"192.0.2.1"},
		"Forwarded": {"for=192.0.2.1"}, "Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Baggage": {"user=ann"},
		"User-Agent": {"mine/1"}, "Mcp-Session-Id": {"my-session"}, "X-Team": {"red"}, "Mcp-Param-Region": {"mine"},
	})
	if got != "done" {
		t.Errorf("the call = %q", got)
	}
	// Every header of every request: a discovery, which ends its session, and
	// the start of a connection with a call.
	const golden = "testdata/headers.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(far.sent()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), far.sent()); diff != "" {
		t.Errorf("headers of the requests (-want +got; -update rewrites them):\n%s", diff)
	}
	for name := range back {
		if !slices.Contains([]string{"Content-Type", "Cache-Control", "X-Content-Type-Options", "Content-Length"}, name) {
			t.Errorf("the client of the gate gets %s: %q", name, back[name])
		}
	}
}

// listen serves the script over HTTP, each answer as JSON with more headers.
func (s *script) listen(t *testing.T, more http.Header) *farAway {
	t.Helper()
	f := &farAway{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.headers = append(f.headers, r.Header.Clone())
		f.mu.Unlock()
		for name, values := range more {
			w.Header()[name] = values
		}
		var q question
		body, err := io.ReadAll(r.Body)
		if err == nil && len(body) > 0 {
			err = json.Unmarshal(body, &q)
		}
		f.note(r, &q)
		switch session := r.Header.Get("Mcp-Session-Id"); {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case f.busy.Load() == q.Method:
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case session != "" && session == f.gone.Load() && q.Method != "initialize":
			http.Error(w, "no such session", http.StatusNotFound)
		case q.ID == nil || q.Method == "":
			w.WriteHeader(http.StatusAccepted)
			if q.Method == "" && f.answered != nil {
				f.answered(body)
			}
		default:
			w.Header().Set("Content-Type", "application/json")
			p := &peer{script: s, w: w, gone: r.Context().Done()}
			p.reply(&q)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// note writes down a request.
func (f *farAway) note(r *http.Request, q *question) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, q.Method)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != "Content-Length" {
			fmt.Fprintf(&b, "\t%s: %s\n", name, strings.Join(r.Header[name], " | "))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log.WriteString(b.String())
}

// sent returns every request so far.
func (f *farAway) sent() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.String()
}
