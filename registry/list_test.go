package registry_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// roleSet is a set of personalities that can be exchanged.
type roleSet struct{ roles sync.Map }

func (s *roleSet) Personality(name string) (*sallyport.Personality, bool) {
	v, ok := s.roles.Load(name)
	if !ok {
		return nil, false
	}
	return v.(*sallyport.Personality), true
}

func (s *roleSet) put(name string, toolset ...string) {
	s.roles.Store(name, &sallyport.Personality{Name: name, Toolset: toolset})
}

// switchboard stops tools.
type switchboard struct{ stopped sync.Map }

func (s *switchboard) Stopped(_ context.Context, _, _, tool string) (kind, why string, err error) {
	if _, ok := s.stopped.Load(tool); ok {
		return "tool", "stopped", nil
	}
	return "", "", nil
}

func listedNames(r *registry.Registry, role string, exclude ...string) []string {
	var out []string
	c := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: role, Exclude: exclude}
	for _, t := range r.List(c) {
		out = append(out, t.Name)
	}
	return out
}

func newListed(t *testing.T, roles *roleSet, o *registry.Options) *registry.Registry {
	t.Helper()
	r, err := registry.New(&sallyport.Backends{Personalities: roles}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func addNamed(t *testing.T, r *registry.Registry, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := r.Register(sallyport.Tool{Name: name, Schema: open, Run: echo}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheTableIsWalkedOnceForARole(t *testing.T) {
	roles, stops := &roleSet{}, &switchboard{}
	roles.put("one", "b", "a")
	roles.put("two", "c")
	r := newListed(t, roles, &registry.Options{Switches: stops})
	var works atomic.Bool
	works.Store(true)
	addNamed(t, r, "c", "b")
	if err := r.Register(sallyport.Tool{Name: "a", Schema: open, Run: echo, IsAvailable: works.Load}); err != nil {
		t.Fatal(err)
	}
	expect := func(walks int64, role string, exclude []string, want ...string) {
		t.Helper()
		if got := listedNames(r, role, exclude...); !slices.Equal(got, want) {
			t.Errorf("role %s sees %q, want %q", role, got, want)
		}
		if got := registry.Walks(r); got != walks {
			t.Errorf("the table was walked %d times, want %d", got, walks)
		}
	}
	expect(1, "one", nil, "a", "b")
	expect(1, "one", nil, "a", "b")
	expect(1, "nobody", nil)
	expect(2, "two", nil, "c")
	// What is judged for each list is not kept.
	expect(2, "one", []string{"a"}, "b")
	expect(2, "one", nil, "a", "b")
	works.Store(false)
	expect(2, "one", nil, "b")
	works.Store(true)
	stops.stopped.Store("b", true)
	expect(2, "one", nil, "a")
	stops.stopped.Delete("b")
	expect(2, "one", nil, "a", "b")
	// A caller who changes what it was given changes nothing.
	c := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: "one"}
	clear(r.List(c))
	expect(2, "one", nil, "a", "b")
	// An unknown tool is compared with the tools that are listed.
	r.Call(t.Context(), c, sallyport.Request{Tool: "bb"})
	expect(2, "one", nil, "a", "b")
	// Another role of the name, and another tool, are seen at once.
	roles.put("one", "b", "d")
	expect(3, "one", nil, "b")
	addNamed(t, r, "d")
	expect(4, "one", nil, "b", "d")
	expect(5, "two", nil, "c")
	roles.roles.Delete("one")
	expect(5, "one", nil)
}

func TestListsOfRolesAreBounded(t *testing.T) {
	roles := &roleSet{}
	r := newListed(t, roles, nil)
	addNamed(t, r, "a", "b")
	for i := range 2*registry.MaxRoleLists + 10 {
		role := fmt.Sprint("role-", i)
		roles.put(role, "a")
		if got := listedNames(r, role); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("%s sees %q", role, got)
		}
		if n := registry.Listed(r); n > registry.MaxRoleLists {
			t.Fatalf("%d lists are kept", n)
		}
	}
	// A role that always is another one leaves nothing behind.
	addNamed(t, r, "c")
	for range 100 {
		roles.put("changing", "a")
		listedNames(r, "changing")
	}
	if n := registry.Listed(r); n != 1 {
		t.Errorf("%d lists of one role are kept", n)
	}
}

// A list shows every tool that was registered before it was asked for, also when another
// goroutine computes it.
func TestListsShowWhatWasRegisteredBefore(t *testing.T) {
	roles := &roleSet{}
	roles.roles.Store("all", &sallyport.Personality{Name: "all"})
	r := newListed(t, roles, nil)
	var added atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for added.Load() < 200 {
				before := added.Load()
				if n := int64(len(listedNames(r, "all"))); n < before {
					t.Errorf("%d tools of %d are listed", n, before)
					return
				}
			}
		})
	}
	for i := range 200 {
		addNamed(t, r, fmt.Sprintf("tool-%d", i))
		added.Add(1)
	}
	group.Wait()
}
