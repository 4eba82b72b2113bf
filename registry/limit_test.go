package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/window"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// rings is a limiter over the pure step.
type rings struct {
	mu   sync.Mutex
	keys map[string]*window.Ring
	fail error
	wait time.Duration // when not 0, the answer to everything
}

func (r *rings) Admit(_ context.Context, key string, l sallyport.RateLimit) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil || r.wait != 0 {
		return r.wait, r.fail
	}
	if r.keys == nil {
		r.keys = map[string]*window.Ring{}
	}
	if r.keys[key] == nil {
		r.keys[key] = &window.Ring{}
	}
	return r.keys[key].Admit(l, time.Now().UnixNano()), nil
}

// limited is a gate with tools of which each may be called twice a minute.
type limited struct {
	*registry.Registry
	limiter  *rings
	recorder *recorder
	log      *bytes.Buffer
	runs     atomic.Int64
}

func newLimited(t *testing.T, tools ...string) *limited {
	t.Helper()
	g := &limited{limiter: &rings{}, recorder: &recorder{}, log: &bytes.Buffer{}}
	var err error
	g.Registry, err = registry.New(nil, &registry.Options{
		Recorder: g.recorder, Limiter: g.limiter, Logger: slog.New(slog.NewTextHandler(g.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, name := range tools {
		err := g.Register(sallyport.Tool{
			Name: name, Schema: open, RateLimit: &sallyport.RateLimit{Requests: 2, Window: time.Minute},
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				g.runs.Add(1)
				return sallyport.OK("done"), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func (g *limited) call(t *testing.T, principal, tool string, dry bool) sallyport.Result {
	t.Helper()
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: principal}, DryRun: dry}
	return g.Call(t.Context(), caller, sallyport.Request{Tool: tool})
}

func TestARefusalNamesTheLineOfItsRule(t *testing.T) {
	t.Parallel()
	g := newLimited(t)
	err := g.Register(sallyport.Tool{
		Name: "tool", Schema: open, RateLimit: &sallyport.RateLimit{Requests: 1, Window: time.Minute}, Permissions: []string{"a:read"},
		Sources: map[string]string{"": "f.yaml:1:1", "rateLimit": "f.yaml:2:5"},
		Run:     func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("done"), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "ann", Permissions: []string{"a:read"}}}
	for _, tt := range []struct {
		permissions []string
		want        string
	}{
		{[]string{"a:read"}, ""},
		{[]string{"a:read"}, "f.yaml:2:5"},
		{nil, "f.yaml:1:1"},
	} {
		caller.Principal.Permissions = tt.permissions
		g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"})
		e := g.recorder.last()
		if d := e.Decisions[len(e.Decisions)-1]; tt.want != "" && (d.Allowed || d.Source != tt.want) {
			t.Errorf("decision = %+v, want a refusal at %s", d, tt.want)
		}
	}
}

// TestAHeldCallCountsForTheLimit repeats a call that waits for approval: an agent that
// asks again and again is limited, too.
func TestAHeldCallCountsForTheLimit(t *testing.T) {
	t.Parallel()
	g := &gate{t: t, recorder: &recorder{}, role: "role"}
	p := &sallyport.Personality{Name: g.role, Approvals: &sallyport.Approvals{Require: []string{"tool"}}}
	var err error
	g.Registry, err = registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{
		Recorder: g.recorder, Limiter: newState(t), Approvals: memory.NewApprovals(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	g.add(sallyport.Tool{Name: "tool", Schema: open, RateLimit: &sallyport.RateLimit{Requests: 2, Window: time.Hour}, Run: echo})
	for i, want := range []sallyport.Code{sallyport.CodeApprovalRequired, sallyport.CodeApprovalRequired, sallyport.CodeRateLimited} {
		if res := call(g, "tool", `{}`); res.Code != want {
			t.Errorf("call %d = %+v, want %s", i, res, want)
		}
	}
}

func TestARateLimitRefusesWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newLimited(t, "tool")
		for range 2 {
			if res := g.call(t, "ann", "tool", false); !res.OK {
				t.Fatalf("Call = %+v, want room", res)
			}
			time.Sleep(10 * time.Second)
		}
		time.Sleep(100 * time.Microsecond)
		res := g.call(t, "ann", "tool", false)
		if res.Code != sallyport.CodeRateLimited || res.RetryAfter != 40*time.Second ||
			res.Error != "Rate limit exceeded: 2 requests per 1m for tool; try again in 40s" || res.CallID == "" {
			t.Errorf("Call = %+v, want rate_limited for 40s", res)
		}
		if text, err := json.Marshal(res); err != nil || !strings.Contains(string(text), `"retry_after_ms":40000`) {
			t.Errorf("on the wire: %s, %v", text, err)
		}
		e := g.recorder.last()
		if !e.Denied() || e.Stage != sallyport.StepLimit || g.runs.Load() != 2 {
			t.Errorf("%d runs, record %+v, want the denial of the limit", g.runs.Load(), e)
		}
		d := e.Decisions[len(e.Decisions)-1]
		if d.Allowed || d.Step != sallyport.StepLimit || !strings.Contains(d.Why, "ann has used up 2 requests per 1m") ||
			d.Source == "" || d.Fix == "" {
			t.Errorf("decision = %+v, want who, what, where and a way out", d)
		}
		// A caller that comes back when told to is admitted, and not before.
		time.Sleep(res.RetryAfter - time.Millisecond)
		if res := g.call(t, "ann", "tool", false); res.RetryAfter != time.Millisecond {
			t.Errorf("Call = %+v, want a wait of 1ms: a wait is never 0 and never too short", res)
		}
		time.Sleep(time.Millisecond)
		if res := g.call(t, "ann", "tool", false); !res.OK {
			t.Errorf("Call = %+v, want room again", res)
		}
	})
}

func TestLimitsAreOfOnePrincipalAndOneTool(t *testing.T) {
	t.Parallel()
	g := newLimited(t, "a", "a-b", "b")
	for _, principal := range []string{"x", "b/x", "a/x", "/x", "a-b/x", "x\x00", "X"} {
		for _, tool := range []string{"a", "a-b", "b"} {
			for n, ok := range []bool{true, true, false} {
				if res := g.call(t, principal, tool, false); res.OK != ok {
					t.Errorf("call %d of %s by %q = %+v, want ok = %v", n, tool, principal, res, ok)
				}
			}
		}
	}
}

func TestWhatConsumesALimit(t *testing.T) {
	t.Parallel()
	g := newLimited(t, "tool")
	for range 5 {
		if res := g.call(t, "ann", "tool", true); !res.OK {
			t.Fatalf("dry run = %+v", res)
		}
		res := g.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "ann"}},
			sallyport.Request{Tool: "tool", Args: json.RawMessage(`{"a":`)})
		if res.Code != sallyport.CodeInputInvalid {
			t.Fatalf("Call with broken arguments = %+v", res)
		}
	}
	if len(g.limiter.keys) != 0 {
		t.Error("a dry run or a refused call asked the limiter")
	}
	var qs []sallyport.Request
	for i := range 6 {
		qs = append(qs, sallyport.Request{ID: fmt.Sprint(i), Tool: "tool"})
	}
	done := 0
	for _, res := range g.Batch(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "ann"}}, qs) {
		if res.OK {
			done++
		} else if res.Code != sallyport.CodeRateLimited || res.RetryAfter <= 0 {
			t.Errorf("Batch: %+v, want rate_limited", res)
		}
	}
	if done != 2 || g.runs.Load() != 2 {
		t.Errorf("%d calls of a batch passed, %d runs, want 2", done, g.runs.Load())
	}
}

func TestACachedResultCountsForTheLimit(t *testing.T) {
	t.Parallel()
	g := newLimited(t)
	if err := g.Register(sallyport.Tool{
		Name: "tool", Cache: &sallyport.Cache{}, RateLimit: &sallyport.RateLimit{Requests: 2, Window: time.Hour},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK(fmt.Sprint(g.runs.Add(1))), nil
		},
	}); err != nil {
		t.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "ann"}, Session: "s"}
	var got []bool
	for range 3 {
		got = append(got, g.Call(t.Context(), caller, sallyport.Request{Tool: "tool"}).OK)
	}
	if !slices.Equal(got, []bool{true, true, false}) || g.runs.Load() != 1 {
		t.Errorf("ok = %v after %d runs, want two answers of one run", got, g.runs.Load())
	}
}

// TestALimitThatCannotBeCountedRefuses asks limiters that fail, and none.
func TestALimitThatCannotBeCountedRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		limiter sallyport.Limiter
		why     string
	}{
		{"an error", &rings{fail: errors.New("dial redis://:hunter2@h")}, "could not count"},
		{"an error beside a wait", &rings{fail: errors.New("no"), wait: time.Second}, "could not count"},
		{"a negative wait", &rings{wait: -1}, "could not count"},
		{"none", nil, "no backend is wired for rateLimit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec, log := &recorder{}, &bytes.Buffer{}
			r, err := registry.New(nil, &registry.Options{
				Recorder: rec, Limiter: tt.limiter, Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			err = r.Register(sallyport.Tool{
				Name: "tool", RateLimit: &sallyport.RateLimit{Requests: 1, Window: time.Hour},
				Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
					t.Error("the tool ran")
					return sallyport.OK(""), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			res := r.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "tool"})
			if res.Code != sallyport.CodeNotAvailable || strings.Contains(res.Error, "hunter2") {
				t.Errorf("Call = %+v, want not_available without the cause", res)
			}
			list := rec.last().Decisions
			if d := list[len(list)-1]; d.Allowed || !strings.Contains(d.Why, tt.why) {
				t.Errorf("decision = %+v, want %q", d, tt.why)
			}
			if tt.limiter != nil && !strings.Contains(log.String(), "rate limit not counted") {
				t.Errorf("log = %q, want the cause", log)
			}
		})
	}
}

// patient waits for the end of the context.
type patient struct{}

func (patient) Admit(ctx context.Context, _ string, _ sallyport.RateLimit) (time.Duration, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestALimiterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := registry.New(nil, &registry.Options{Limiter: patient{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Register(sallyport.Tool{Name: "tool", Run: echo, RateLimit: &sallyport.RateLimit{Requests: 1, Window: time.Hour}}); err != nil {
			t.Fatal(err)
		}
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}
		if res := r.Call(t.Context(), caller, sallyport.Request{Tool: "tool"}); res.Code != sallyport.CodeNotAvailable {
			t.Errorf("Call = %+v, want not_available after a while", res)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		res := r.Call(ctx, caller, sallyport.Request{Tool: "tool"})
		if res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, "timed out") {
			t.Errorf("Call = %+v, want the end of the caller's own deadline", res)
		}
	})
}

func TestTheWindowIsNamedAsInAConfiguration(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit sallyport.RateLimit
		want  string
	}{
		{sallyport.RateLimit{Requests: 1, Window: 24 * time.Hour}, "1 request per 1d"},
		{sallyport.RateLimit{Requests: 100, Window: time.Hour}, "100 requests per 1h"},
		{sallyport.RateLimit{Requests: 2, Window: 90 * time.Minute}, "2 requests per 90m"},
		{sallyport.RateLimit{Requests: 2, Window: 90 * time.Second}, "2 requests per 90s"},
		{sallyport.RateLimit{Requests: 2, Window: 1500 * time.Millisecond}, "2 requests per 1.5s"},
	}
	for _, tt := range tests {
		r, err := registry.New(nil, &registry.Options{Limiter: &rings{wait: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Register(sallyport.Tool{Name: "tool", Run: echo, RateLimit: &tt.limit}); err != nil {
			t.Fatal(err)
		}
		res := r.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "tool"})
		if want := "Rate limit exceeded: " + tt.want + " for tool; try again in 1ms"; res.Error != want || res.RetryAfter != time.Millisecond {
			t.Errorf("Call = %q, %v, want %q", res.Error, res.RetryAfter, want)
		}
	}
}

// BenchmarkLimited is a gated call of a tool with a rate limit.
func BenchmarkLimited(b *testing.B) {
	r, err := registry.New(nil, &registry.Options{Limiter: &rings{}})
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Register(sallyport.Tool{
		Name: "tool", Run: echo, Schema: open, RateLimit: &sallyport.RateLimit{Requests: 1000, Window: time.Microsecond},
	}); err != nil {
		b.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: "s"}
	b.ReportAllocs()
	for b.Loop() {
		if res := r.Call(b.Context(), caller, sallyport.Request{Tool: "tool", Args: forecastArgs}); res.Code == sallyport.CodeNotAvailable {
			b.Fatal(res.Error)
		}
	}
}
