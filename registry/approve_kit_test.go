package registry_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// desk is a gate whose tool "held" needs an approval.
type desk struct {
	*gate
	store sallyport.ApprovalStore
	roles *swap
	ran   atomic.Int32
}

// swap is a set of one personality that a test replaces, as a reload does.
type swap struct {
	p atomic.Pointer[sallyport.Personality]
}

func (s *swap) Personality(name string) (*sallyport.Personality, bool) {
	p := s.p.Load()
	return p, p.Name == name
}

func asking(edit func(*sallyport.Personality)) *sallyport.Personality {
	p := &sallyport.Personality{
		Name: "role", Approvals: &sallyport.Approvals{Require: []string{"held"}},
		Sources: map[string]string{"approvals.require": "sallyport.yaml:4:3"},
	}
	if edit != nil {
		edit(p)
	}
	return p
}

func newDesk(t *testing.T, p *sallyport.Personality) *desk {
	return newDeskOf(t, p, memory.NewApprovals(nil), &sallyport.Backends{
		Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()},
		Secrets: fixedSecrets{"a/key": "hunter2-Zq9xY7w"}, KV: noKV{}, Attachments: texts{},
	})
}

func newDeskOf(t *testing.T, p *sallyport.Personality, store sallyport.ApprovalStore, b *sallyport.Backends, edits ...func(*registry.Options)) *desk {
	t.Helper()
	d := &desk{gate: &gate{t: t, recorder: &recorder{}, role: p.Name}, store: store, roles: &swap{}}
	d.roles.p.Store(p)
	b.Personalities = d.roles
	o := &registry.Options{Recorder: d.recorder, Workspace: t.TempDir()}
	if store != nil {
		o.Approvals = store
	}
	for _, edit := range edits {
		edit(o)
	}
	var err error
	if d.Registry, err = registry.New(b, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// hold adds the tool, of which each run is counted.
func (d *desk) hold(edit func(*sallyport.Tool)) {
	d.t.Helper()
	tool := sallyport.Tool{Name: "held", Schema: open, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		d.ran.Add(1)
		return sallyport.OK("ran"), nil
	}}
	if edit != nil {
		edit(&tool)
	}
	d.add(tool)
}

// one returns the only open request.
func (d *desk) one() sallyport.Approval {
	d.t.Helper()
	all, err := d.store.List(context.Background(), false)
	if err != nil || len(all) != 1 {
		d.t.Fatalf("List() = %d requests, %v, want one", len(all), err)
	}
	return all[0]
}

func (d *desk) decide(id string, approve bool, reason string) {
	d.t.Helper()
	if err := d.store.Decide(context.Background(), id, "boss", approve, reason); err != nil {
		d.t.Fatal(err)
	}
}

// want makes the call and compares its code and how often the tool ran.
func (d *desk) want(args string, code sallyport.Code, runs int32) sallyport.Result {
	d.t.Helper()
	res := call(d.gate, "held", args)
	if res.Code != code || d.ran.Load() != runs {
		d.t.Fatalf("Call(%s) = %s %q after %d runs, want %q after %d", args, res.Code, res.Error, d.ran.Load(), code, runs)
	}
	return res
}
