package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/registry"
)

// open is a schema that accepts any object.
var open = json.RawMessage(`{"type":"object"}`)

func echo(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	return sallyport.OK(string(c.Args)), nil
}

// gate is a registry with its record, for tests.
type gate struct {
	*registry.Registry
	t        *testing.T
	recorder *recorder
	role     string
}

// one is a set of one personality.
type one struct{ p *sallyport.Personality }

func (o one) Personality(name string) (*sallyport.Personality, bool) {
	return o.p, o.p != nil && o.p.Name == name
}

// newGate returns a gate with every in-process backend; p may be nil for a
// gate without personalities.
func newGate(t *testing.T, p *sallyport.Personality) *gate {
	t.Helper()
	return newGateWith(t, p, &sallyport.Backends{
		Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()},
		Secrets: fixedSecrets{}, KV: noKV{}, Attachments: nil,
	})
}

func newGateWith(t *testing.T, p *sallyport.Personality, b *sallyport.Backends) *gate {
	t.Helper()
	g := &gate{t: t, recorder: &recorder{}}
	if p != nil {
		b.Personalities, g.role = one{p}, p.Name
	}
	var err error
	g.Registry, err = registry.New(b, &registry.Options{Recorder: g.recorder, Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

func (g *gate) add(t sallyport.Tool) {
	g.t.Helper()
	if err := g.Register(t); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gate) caller() *sallyport.Caller {
	return &sallyport.Caller{
		Principal: sallyport.Principal{Name: "tester", Person: true}, Session: "s1",
		Personality: g.role, Platform: sallyport.PlatformGo,
	}
}

// recorder keeps events in memory; fail makes it refuse.
type recorder struct {
	mu     sync.Mutex
	events []audit.Event
	fail   error
}

func (r *recorder) Record(_ context.Context, e *audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return r.fail
	}
	r.events = append(r.events, *e)
	return nil
}

// kinds returns the kinds of what was recorded, in order.
func (r *recorder) kinds() []audit.Kind {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []audit.Kind
	for _, e := range r.events {
		out = append(out, e.Kind)
	}
	return out
}

func (r *recorder) last() audit.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[len(r.events)-1]
}

func (r *recorder) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = err
}

// fixedSecrets is a secrets backend over a map.
type fixedSecrets map[string]string

func (s fixedSecrets) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	v, ok := s[ref]
	return sallyport.NewSecret(v), ok, nil
}

func (s fixedSecrets) Known(context.Context) ([]sallyport.Secret, error) {
	var out []sallyport.Secret
	for _, v := range s {
		out = append(out, sallyport.NewSecret(v))
	}
	return out, nil
}

// noKV is a store that is not asked in these tests.
type noKV struct{}

func (noKV) KV(context.Context, string) (sallyport.KV, error) { return nil, errors.New("not here") }

func steps(e audit.Event) []sallyport.Step {
	var out []sallyport.Step
	for _, d := range e.Decisions {
		out = append(out, d.Step)
	}
	return out
}
