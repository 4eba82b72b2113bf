package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

func TestADeclarationIsFixedOnceRegistered(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	hosts, refs, needs := []string{"api.example"}, []string{"a/b"}, []string{"x:read"}
	network := &sallyport.NetworkCapability{AllowedHosts: hosts}
	reach := &sallyport.FSCapability{Read: sallyport.Paths("/srv/data")}
	g.add(sallyport.Tool{
		Name: "tool", Run: echo, Permissions: needs,
		Capabilities: sallyport.Capabilities{Network: network, Secrets: refs, FSReach: reach},
	})
	spoil := func(c *sallyport.Capabilities, permissions []string) {
		c.Network.AllowedHosts[0], c.Secrets[0], c.FSReach.Read.Paths[0], permissions[0] = "evil.example", "all/*", "/", "none"
	}
	spoil(&sallyport.Capabilities{Network: network, Secrets: refs, FSReach: reach}, needs)
	caller := g.caller()
	x, err := g.Explain(caller, "tool")
	if err != nil {
		t.Fatal(err)
	}
	want := "[api.example] [a/b] [/srv/data]"
	if got := fmt.Sprint(x.Grant.Network.Allow, x.Grant.Secrets, x.Grant.FS.Read); got != want {
		t.Errorf("grant after the author changed the declaration = %s, want %s", got, want)
	}
	for _, tool := range append(g.List(caller), g.Tools()...) {
		spoil(&tool.Capabilities, tool.Permissions)
	}
	if x, err = g.Explain(caller, "tool"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.Grant.Network.Allow, x.Grant.Secrets, x.Grant.FS.Read); got != want {
		t.Errorf("grant after a surface changed a listing = %s, want %s", got, want)
	}
}

func TestAToolCannotRaiseThePermissionsOfItsCaller(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		c.Principal.Permissions[0] = "admin"
		return sallyport.OK(""), nil
	}})
	caller := g.caller()
	caller.Principal.Permissions = []string{"read"}
	g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"})
	if caller.Principal.Permissions[0] != "read" {
		t.Errorf("permissions = %v, want them untouched", caller.Principal.Permissions)
	}
}

func TestACachedResultIsNobodysToChange(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Schema: open, Cache: &sallyport.Cache{}, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		r := sallyport.OK("v")
		r.Structured = map[string]any{"a": map[string]any{"b": "good"}, "l": []any{"good"}}
		return r, nil
	}})
	for range 3 {
		res := call(g, "tool", "")
		if got := fmt.Sprint(res.Structured); got != "map[a:map[b:good] l:[good]]" {
			t.Errorf("structured = %s, want what the tool returned", got)
		}
		res.Structured["a"].(map[string]any)["b"] = "poisoned"
		res.Structured["l"].([]any)[0] = "poisoned"
	}
}

func TestALongResultIsNotKept(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	runs := 0
	g.add(sallyport.Tool{Name: "tool", Cache: &sallyport.Cache{}, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		runs++
		return sallyport.OK(strings.Repeat("x", 2<<20)), nil
	}})
	call(g, "tool", "")
	call(g, "tool", "")
	if runs != 2 {
		t.Errorf("the tool ran %d times, want 2: a thousand such results would not fit", runs)
	}
}

func TestNoCallerIsARefusal(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Run: echo})
	if res := g.Call(t.Context(), nil, sallyport.Request{Tool: "tool"}); res.Code != sallyport.CodePermissionDenied {
		t.Errorf("Call() without a caller = %+v, want permission_denied", res)
	}
	if res := g.Batch(t.Context(), nil, []sallyport.Request{{Tool: "tool"}}); res[0].Code != sallyport.CodePermissionDenied {
		t.Errorf("Batch() without a caller = %+v, want permission_denied", res[0])
	}
}

func TestCachedResultsOfOtherAttachmentsAreNotUsed(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	runs := 0
	g.add(sallyport.Tool{Name: "tool", Cache: &sallyport.Cache{}, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		runs++
		return sallyport.OK(""), nil
	}})
	for _, ref := range []string{"a", "b"} {
		caller := g.caller()
		caller.Attachments = []sallyport.Attachment{{Ref: ref, Kind: sallyport.KindFile}}
		g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"})
	}
	if runs != 2 {
		t.Errorf("the tool ran %d times for two turns with other files, want 2", runs)
	}
}

func TestAKeptResultCostsNothing(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Cache: &sallyport.Cache{}, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return sallyport.Result{OK: true, Value: "v", CostUSD: 0.5}, nil
	}})
	for _, want := range []float64{0.5, 0} {
		if res := g.Call(t.Context(), g.caller(), sallyport.Request{Tool: "tool"}); res.Value != "v" || res.CostUSD != want {
			t.Errorf("Call = %q for %v, want v for %v", res.Value, res.CostUSD, want)
		}
	}
}

func TestVariablesAreCopied(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"home": "/home/a"}
	r, err := registry.New(&sallyport.Backends{Files: &sallyport.FileBackend{}}, &registry.Options{Variables: vars})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Register(sallyport.Tool{Name: "tool", Run: echo, Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.Paths("${home}/x")}}}); err != nil {
		t.Fatal(err)
	}
	vars["home"] = "/"
	x, err := r.Explain(&sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, "tool")
	if err != nil || fmt.Sprint(x.Grant.FS.Read) != "[/home/a/x]" {
		t.Errorf("read = %v, %v, want /home/a/x", x.Grant.FS.Read, err)
	}
}

func TestMCPNamesHaveThreeParts(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	for _, name := range []string{"mcp__a__", "mcp____b", "mcp__a"} {
		if err := g.Register(sallyport.Tool{Name: name, Run: echo}); err == nil {
			t.Errorf("Register(%q) = nil, want a fault", name)
		}
	}
}

// mapKV is a factory of stores over one map, keyed by scope.
type mapKV struct {
	mu sync.Mutex
	m  map[string]string
}

type scopeKV struct {
	k     *mapKV
	scope string
}

func (k *mapKV) KV(_ context.Context, scope string) (sallyport.KV, error) {
	return scopeKV{k, scope}, nil
}

func (s scopeKV) Get(_ context.Context, key string) (string, bool, error) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	v, ok := s.k.m[s.scope+"\x00"+key]
	return v, ok, nil
}

func (s scopeKV) Set(_ context.Context, key, value string, _ time.Duration) error {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	s.k.m[s.scope+"\x00"+key] = value
	return nil
}

func (s scopeKV) Delete(context.Context, string) error { return nil }

func (s scopeKV) List(context.Context, string) ([]string, error) { return nil, nil }

func TestSessionsOfEqualIDsDoNotShareTheirStore(t *testing.T) {
	t.Parallel()
	kv := &mapKV{m: map[string]string{}}
	g := newGateWith(t, nil, &sallyport.Backends{KV: kv})
	for _, scope := range []sallyport.StorageScope{sallyport.ScopeSession, sallyport.ScopePersonality, sallyport.ScopeToolPrivate} {
		g.add(sallyport.Tool{
			Name: string(scope), Schema: open,
			Capabilities: sallyport.Capabilities{Storage: &sallyport.StorageCapability{Scope: scope, Kind: "kv"}},
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				v, ok, err := c.KV.Get(ctx, "k")
				if err == nil && !ok {
					err = c.KV.Set(ctx, "k", c.Principal.Name+"/"+c.Session, 0)
				}
				return sallyport.OK(v), err
			},
		})
	}
	pairs := [][2]string{{"a", "s"}, {"b", "s"}, {"a", "b/s"}, {"a/b", "s"}, {"a%2Fb", "s"}, {"a", ""}, {"a", ""}}
	for _, tool := range []string{"session", "personality"} {
		if tool == "personality" {
			kv.m = map[string]string{}
		}
		for _, p := range pairs {
			res := g.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: p[0]}, Session: p[1]}, sallyport.Request{Tool: tool})
			if !res.OK || res.Value != "" {
				t.Errorf("%s of %s/%s = %+v, want an empty store", tool, p[0], p[1], res)
			}
		}
	}
}

func TestSixtyFourCallersAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var swaps atomic.Int64
	roles := &swapping{}
	roles.set("role", dir)
	rec := &recorder{}
	r, err := registry.New(&sallyport.Backends{
		Personalities: roles, Files: &sallyport.FileBackend{Home: t.TempDir()}, KV: &mapKV{m: map[string]string{}},
		Secrets: fixedSecrets{"a/key": "hunter2-zq9xy7w"},
	}, &registry.Options{Recorder: rec, Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	tool := sallyport.Tool{
		Name: "tool", Schema: open, OutputIsUntrusted: true, Cache: &sallyport.Cache{},
		Capabilities: sallyport.Capabilities{
			FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality(), Write: sallyport.FromPersonality()},
			Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeSession, Kind: "kv"}, Secrets: []string{"a/*"},
		},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			s, err := c.Secrets.Get(ctx, "a/key")
			if err != nil {
				return sallyport.Result{}, err
			}
			if err := c.KV.Set(ctx, "k", string(c.Args), 0); err != nil {
				return sallyport.Result{}, err
			}
			c.Emit(sallyport.Progress{Message: s.Reveal()})
			_, err = c.FS.ReadFile("none")
			if !errors.Is(err, sallyport.ErrPathNotReachable) && err == nil {
				return sallyport.Result{}, errors.New("read of nothing worked")
			}
			return sallyport.Result{OK: true, Value: string(c.Args) + s.Reveal(), Structured: map[string]any{"s": s.Reveal()}}, nil
		},
	}
	if err := r.Register(tool); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			caller := &sallyport.Caller{
				Principal: sallyport.Principal{Name: fmt.Sprint("p", i%8)}, Session: "s", Personality: "role",
				Progress: func(p sallyport.Progress) {
					if strings.Contains(p.Message, "hunter2") {
						t.Error("a secret in progress")
					}
				},
			}
			for j := range 30 {
				args := fmt.Sprintf(`{"i":%d,"j":%d}`, i, j)
				res := r.Call(t.Context(), caller, sallyport.Request{Tool: "tool", Args: json.RawMessage(args)})
				if !res.OK || !strings.Contains(res.Value, args) || strings.Contains(fmt.Sprint(res), "hunter2") {
					t.Errorf("call %d/%d = %+v", i, j, res)
				}
				switch {
				case i == 0:
					roles.set("role", dir)
					swaps.Add(1)
				case i == 1:
					if remove, err := r.RegisterReducer(sallyport.Reducer{Tool: "tool", Reduce: func(r sallyport.Result, _ sallyport.ReducerContext) sallyport.Result { return r }}); err == nil {
						remove()
					}
				case i == 2:
					other := tool
					other.Name = fmt.Sprint("other-", j)
					if err := r.Register(other); err != nil {
						t.Error(err)
					}
				case i == 3:
					r.Definitions(caller)
				}
			}
		})
	}
	group.Wait()
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// swapping is a set of personalities that changes at run time.
type swapping struct {
	mu sync.Mutex
	p  *sallyport.Personality
}

func (s *swapping) set(name, dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p = &sallyport.Personality{Name: name, FSReach: &sallyport.Reach{Read: []string{dir}, Write: []string{dir}}}
}

func (s *swapping) Personality(name string) (*sallyport.Personality, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p, s.p.Name == name
}
