package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

func TestAnAvailabilityCheckThatHangsHidesItsToolOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := registry.New(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		var asked atomic.Int32
		if err := r.Register(
			sallyport.Tool{Name: "hangs", Run: echo, IsAvailable: func() bool { asked.Add(1); <-release; return true }},
			sallyport.Tool{Name: "works", Run: echo, IsAvailable: func() bool { return true }},
		); err != nil {
			t.Fatal(err)
		}
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}
		done := make(chan []sallyport.Tool, 1)
		go func() { done <- r.List(caller) }()
		time.Sleep(time.Minute)
		select {
		case tools := <-done:
			if len(tools) != 1 || tools[0].Name != "works" {
				t.Errorf("List() = %d tools, want the one that works", len(tools))
			}
		default:
			t.Error("List() waits for one tool's check")
		}
		for range 10 {
			go r.List(caller)
		}
		time.Sleep(time.Minute)
		if n := asked.Load(); n > 1 {
			t.Errorf("the hanging check was asked %d times, want 1 while it hangs", n)
		}
		close(release)
		synctest.Wait()
		if tools := r.List(caller); len(tools) != 2 {
			t.Errorf("List() once the check answers = %d tools, want 2", len(tools))
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAToolThatEndsItsGoroutineIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := registry.New(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Register(sallyport.Tool{Name: "exits", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			runtime.Goexit()
			return sallyport.OK(""), nil
		}}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		res := r.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "exits"})
		if res.OK || time.Since(start) > 0 {
			t.Errorf("Call() = %+v after %v, want a failure at once", res, time.Since(start))
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestACallThatWasCancelledBeforeItRanSaysSo(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	var ran atomic.Int32
	run := func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		ran.Add(1)
		return sallyport.OK(""), nil
	}
	g.add(sallyport.Tool{Name: "pure", Run: run})
	g.add(sallyport.Tool{Name: "writes", Run: run, Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: sallyport.FromPersonality()}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tool := range []string{"pure", "writes"} {
		res := g.Call(ctx, g.caller(), sallyport.Request{Tool: tool})
		if res.Code != sallyport.CodeExecutionFailed || res.Error != "The call was cancelled by the caller" {
			t.Errorf("%s = %s %q, want a cancellation", tool, res.Code, res.Error)
		}
	}
	if ran.Load() != 0 {
		t.Errorf("%d cancelled calls ran", ran.Load())
	}
}

func TestTheCallersOwnDeadlineIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := registry.New(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Register(sallyport.Tool{Name: "slow", Run: func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
			<-ctx.Done()
			return sallyport.Result{}, ctx.Err()
		}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		res := r.Call(ctx, &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "slow"})
		if strings.Contains(res.Error, "2m0s") {
			t.Errorf("error = %q, want no word of a bound that did not end it", res.Error)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestProgressIsBoundedAndEndsWithTheCall(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	nan := math.NaN()
	emitted := make(chan func(sallyport.Progress), 1)
	g.add(sallyport.Tool{Name: "tool", Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		c.Emit(sallyport.Progress{Message: strings.Repeat("x", 1<<20), Percent: &nan})
		emitted <- c.Emit
		return sallyport.OK(""), nil
	}})
	var got []sallyport.Progress
	caller := g.caller()
	caller.Progress = func(p sallyport.Progress) { got = append(got, p) }
	g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"})
	(<-emitted)(sallyport.Progress{Message: "late"})
	if len(got) != 1 || len(got[0].Message) > 10_000 {
		t.Fatalf("%d events, the first of %d bytes, want one bounded event", len(got), len(got[0].Message))
	}
	if _, err := json.Marshal(got); err != nil {
		t.Errorf("progress cannot be written: %v", err)
	}
}

func TestNoProgressArrivesAfterTheCall(t *testing.T) {
	t.Parallel()
	for _, hangs := range []bool{false, true} {
		t.Run(fmt.Sprintf("hangs=%v", hangs), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := registry.New(nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				entered, release := make(chan struct{}), make(chan struct{})
				if err := r.Register(sallyport.Tool{Name: "tool", Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
					go c.Emit(sallyport.Progress{Message: "m"})
					<-entered
					return sallyport.OK(""), nil
				}}); err != nil {
					t.Fatal(err)
				}
				var over, late atomic.Bool
				caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Progress: func(sallyport.Progress) {
					close(entered)
					<-release
					late.Store(over.Load())
				}}
				go func() {
					r.Call(t.Context(), caller, sallyport.Request{Tool: "tool"})
					over.Store(true)
				}()
				synctest.Wait()
				if over.Load() {
					t.Error("Call returned while a report was on its way")
				}
				if hangs {
					time.Sleep(5 * time.Second)
					if !over.Load() {
						t.Error("Call waits for ever for a sink that hangs")
					}
				}
				close(release)
				synctest.Wait()
				if late.Load() != hangs {
					t.Errorf("the report ended after the call = %v, want %v", late.Load(), hangs)
				}
				if err := r.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAKeptAccessorIsDeadAfterTheCall(t *testing.T) {
	t.Parallel()
	g := newGateWith(t, nil, &sallyport.Backends{
		Secrets: fixedSecrets{"a/key": "hunter2-Zq9!x/Y+7w=="}, Network: &sallyport.NetworkBackend{}, KV: noKV{},
	})
	var kept *sallyport.Call
	g.add(sallyport.Tool{
		Name: "keeper",
		Capabilities: sallyport.Capabilities{
			Secrets: []string{"a/key"}, Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}},
			Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeSession, Kind: "kv"},
		},
		Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			kept = c
			return sallyport.OK("kept"), nil
		},
	})
	if res := call(g, "keeper", ""); !res.OK {
		t.Fatal(res.Error)
	}
	ctx := context.WithoutCancel(t.Context())
	if s, err := kept.Secrets.Get(ctx, "a/key"); err == nil {
		t.Errorf("Secrets.Get() after the call = %v, want an error", s)
	}
	if _, _, err := kept.KV.Get(ctx, "k"); err == nil || !strings.Contains(err.Error(), "the call is over") {
		t.Errorf("KV.Get() after the call = %v, want that the call is over", err)
	}
	if _, err := kept.Network.DialContext(ctx, "tcp", "a.example:80"); !errors.Is(err, context.Canceled) {
		t.Errorf("DialContext() after the call = %v, want context.Canceled", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := kept.Network.Client().Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("Client().Do() after the call = %v, %v, want context.Canceled", resp, err)
	}
}

func TestASecretThatCannotBeFoundIsNotHandedOut(t *testing.T) {
	t.Parallel()
	g := newGateWith(t, nil, &sallyport.Backends{Secrets: fixedSecrets{"a/blank": "          ", "a/key": "hunter2-Zq9!x/Y+7w=="}})
	g.add(sallyport.Tool{
		Name: "tool", Capabilities: sallyport.Capabilities{Secrets: []string{"a/*"}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			if _, err := c.Secrets.Get(ctx, "a/key"); err != nil {
				return sallyport.Result{}, err
			}
			_, err := c.Secrets.Get(ctx, "a/blank")
			return sallyport.OK("had it"), err
		},
	})
	if res := call(g, "tool", ""); res.OK || !strings.Contains(res.Error, "a/blank is refused") {
		t.Errorf("Call() = %+v, want the blank value refused by its reference", res)
	}
}

func TestExplainAsksTheAccessorsOwnPolicy(t *testing.T) {
	t.Parallel()
	p := &sallyport.Personality{
		Name: "role", Network: &sallyport.NetworkPolicy{Allow: []string{"*"}, Deny: []string{"bad.example"}},
		Sources: map[string]string{"safety.network.allow": "f:1:1", "safety.network.deny": "f:2:2"},
	}
	g := newGate(t, p)
	g.add(sallyport.Tool{Name: "tool", Run: echo, Capabilities: sallyport.Capabilities{
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}},
	}})
	x, err := g.Explain(g.caller(), "tool")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host   string
		port   uint16
		ok     bool
		source string
	}{
		{"good.example", 443, true, ""},
		{"bad.example", 443, false, "f:2:2"},
		{"169.254.169.254", 80, false, "always-deny floor"},
		{"metadata.google.internal", 80, false, "always-deny floor"},
		{"10.0.0.1", 80, false, "always-deny floor"},
		{"good.example", 8080, false, "f:1:1"},
	} {
		d := x.Host(tt.host, tt.port)
		if d.Allowed != tt.ok || d.Source != tt.source || (tt.source == "always-deny floor") && d.Fix != "" != (tt.host == "10.0.0.1") {
			t.Errorf("Host(%s, %d) = %+v, want allowed %v from %q", tt.host, tt.port, d, tt.ok, tt.source)
		}
	}
}
