package action_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// roles finds personalities by name.
type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// trail keeps the record of calls.
type trail struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *trail) Record(_ context.Context, e *audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.text, "%+v\n", *e)
	return nil
}

const apiKey = "k3y-correct-horse/battery+staple"

// gate is a registry over the accessors of production, on loopback.
type gate struct {
	*registry.Registry
	t        testing.TB
	record   *trail
	progress []string
}

func newGate(t testing.TB, tools ...sallyport.Tool) *gate {
	t.Helper()
	g := &gate{t: t, record: &trail{}}
	// Every name is this machine.
	network := &sallyport.NetworkBackend{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	runner, err := sandbox.New(&sandbox.Options{Warm: -1, Network: network})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runner.Close() })
	g.Registry, err = registry.New(&sallyport.Backends{
		Personalities: roles{
			"agent": {Name: "agent", Network: &sallyport.NetworkPolicy{AllowPrivate: true}},
			"bound": {
				Name: "bound", Network: &sallyport.NetworkPolicy{Allow: []string{"a.example"}, AllowPrivate: true},
				Process: []string{"git"}, Secrets: []string{},
			},
		},
		Network: network, Process: runner, Files: &sallyport.FileBackend{},
		Secrets: scopedtest.Secrets{"providers/weather/apiKey": apiKey, "bad/header": "two\r\nlines-of-text"},
	}, &registry.Options{Recorder: g.record})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	if err := g.Register(tools...); err != nil {
		t.Fatal(err)
	}
	return g
}

// use calls the tool "act".
func (g *gate) use(args string) sallyport.Result {
	g.t.Helper()
	return g.useAs("agent", args)
}

// useAs is use in another role.
func (g *gate) useAs(role, args string) sallyport.Result {
	g.t.Helper()
	caller := &sallyport.Caller{
		Principal: sallyport.Principal{Name: "me"}, Personality: role, Session: "s",
		Progress: func(p sallyport.Progress) { g.progress = append(g.progress, p.Message) },
	}
	return g.Call(g.t.Context(), caller, sallyport.Request{Tool: "act", Args: json.RawMessage(args)})
}

// decoded is the tool of a definition in which URL stands for the server.
func decoded(t testing.TB, text string, url string) sallyport.Tool {
	t.Helper()
	d, err := action.Decode(json.RawMessage(strings.ReplaceAll(text, "URL", url)), nil)
	if err != nil {
		t.Fatalf("Decode(%s) = %v", text, err)
	}
	tl, err := d.Tool()
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// seen is a request as a server got it.
type seen struct {
	Method, URI, Body string
	Header            http.Header
}

// site is a server that keeps what it was asked.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	asked []seen
}

func newSite(t testing.TB, answer http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.asked = append(s.asked, seen{r.Method, r.RequestURI, string(body), r.Header.Clone()})
		s.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok": true}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// requests are what the server was asked so far.
func (s *site) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.asked...)
}
