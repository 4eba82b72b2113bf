package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/registry"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// kit is a server over a small registry, with its record.
type kit struct {
	*gateway.Server
	registry *registry.Registry
	record   *record
	started  chan string // nonce of a hold call that runs
	ended    chan error  // why a hold call ended
}

// record keeps events in memory.
type record struct {
	off    bool // keeps nothing
	mu     sync.Mutex
	events []audit.Event
}

func (r *record) Record(_ context.Context, e *audit.Event) error {
	if r.off {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, *e)
	return nil
}

// outcomes returns the outcomes of calls of a tool, or of every tool when the
// name is empty.
func (r *record) outcomes(tool string) []audit.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []audit.Event
	for _, e := range r.events {
		if e.Kind == audit.KindOutcome && (tool == "" || string(e.Tool) == tool) {
			out = append(out, e)
		}
	}
	return out
}

func newKit(t testing.TB, more ...sallyport.Tool) *kit {
	t.Helper()
	k := &kit{record: &record{}, started: make(chan string, 1000), ended: make(chan error, 1000)}
	var err error
	k.registry, err = registry.New(&sallyport.Backends{Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()}},
		&registry.Options{Recorder: k.record, Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.registry.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := k.registry.Register(append(k.tools(), more...)...); err != nil {
		t.Fatal(err)
	}
	if k.Server, err = gateway.New(k.registry, &gateway.Options{Version: "v1.2.3"}); err != nil {
		t.Fatal(err)
	}
	return k
}

// tools returns one tool for each feature that the protocol has to carry.
func (k *kit) tools() []sallyport.Tool {
	anything := json.RawMessage(`{"type":"object"}`)
	return []sallyport.Tool{
		{
			Name: "echo", Title: "Echo", Description: "Returns its arguments as they arrived.", Schema: anything, ReadOnly: true,
			Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
				return sallyport.OK(string(c.Args)), nil
			},
		},
		{
			Name: "sum", Description: "Adds.",
			Schema:  json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
			Returns: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`),
			Run:     sum,
		},
		{
			Name: "stages", Description: "Reports progress of every audience.", Schema: anything, Run: stages,
		},
		{
			Name: "hold", Description: "Runs until it is cancelled.", Schema: anything, Run: k.hold,
		},
		{
			Name: "outside", Description: "Is refused by an accessor.", Schema: anything,
			Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"api.example.com"}}},
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				return sallyport.Result{}, sallyport.HostError("api.stripe.com", "")
			},
		},
		{
			Name: "session", Description: "Returns its session and principal.", Schema: anything,
			Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
				return sallyport.OK(c.Principal.Name + " " + c.Session), nil
			},
		},
	}
}

func sum(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	var in struct{ A, B float64 }
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return sallyport.Result{}, err
	}
	return sallyport.Result{OK: true, Value: "added", Structured: map[string]any{"sum": in.A + in.B}, CostUSD: 0.25}, nil
}

func stages(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	at := func(v float64) *float64 { return &v }
	for _, p := range []sallyport.Progress{
		{Message: "for the log"},
		{Message: "for the page", Audience: sallyport.AudienceDashboard},
		{Message: "begun", Audience: sallyport.AudienceUser},
		{Message: "ten", Percent: at(10), Audience: sallyport.AudienceUser},
		{Message: "ten again", Percent: at(10), Audience: sallyport.AudienceUser},
		{Message: "back to five", Percent: at(5), Audience: sallyport.AudienceUser},
		{Message: "no number", Audience: sallyport.AudienceUser},
		{Message: "done", Percent: at(100), Audience: sallyport.AudienceUser},
	} {
		c.Emit(p)
	}
	return sallyport.OK("finished"), nil
}

func (k *kit) hold(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	k.started <- string(c.Args)
	<-ctx.Done()
	k.ended <- context.Cause(ctx)
	return sallyport.Result{}, ctx.Err()
}

// tokens maps tokens to principals.
type tokens map[string]sallyport.Principal

func (t tokens) Principal(_ context.Context, token string) (sallyport.Principal, bool, error) {
	p, ok := t[token]
	return p, ok, nil
}

// site is the server behind the guard. Its tokens are "alice" and "bob", each
// for the person of the same name.
func (k *kit) site(t testing.TB) *httptest.Server {
	t.Helper()
	return k.siteOf(t, tokens{"alice": {Name: "alice", Person: true}, "bob": {Name: "bob", Person: true}})
}

// siteOf is site with other tokens.
func (k *kit) siteOf(t testing.TB, known tokens) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	g, err := auth.NewGuard(s.Listener.Addr().String(), known, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = g.Protect(k.Handler())
	s.Start()
	t.Cleanup(func() {
		if err := k.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s
}

// bearer is a transport that presents a token.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// client returns an HTTP client of a site that presents a token.
func client(t testing.TB, token string) *http.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 400}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: bearer{token, transport}}
}

// stream is the client's end of a stdio server.
type stream struct {
	in   io.WriteCloser
	out  io.ReadCloser
	done chan error
}

// stdio starts a server on a pair of pipes. stop cancels its context.
func (k *kit) stdio(t testing.TB) (s *stream, stop context.CancelFunc) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	s = &stream{in: inW, out: outR, done: make(chan error, 1)}
	go func() { s.done <- k.Stdio(ctx, inR, outW) }()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
	})
	return s, cancel
}

// cancelled returns a context that is already cancelled.
func cancelled(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}
