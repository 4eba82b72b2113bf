package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// changing says who may call and what is stopped, from one moment on otherwise
// than before.
type changing struct {
	mu      sync.Mutex
	revoked string // a principal
	stopped string // "kind name"
	err     error
}

func (c *changing) set(change func(c *changing)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *changing) Stands(_ context.Context, principal string, _ time.Time) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return principal != c.revoked, c.err
}

func (c *changing) Stopped(ctx context.Context, principal, sessionKey, tool string) (kind, why string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (&thrown{switches: []string{c.stopped}, err: c.err}).Stopped(ctx, principal, sessionKey, tool)
}

// runsPause is how often the tests have what runs looked at.
const runsPause = 100 * time.Millisecond

// newRunsGate is a gate with a tool that runs, one that waits for an approval, one
// that waits for an answer, and one that leaves something running.
func newRunsGate(t *testing.T, c *changing) (g *gate, left chan error) {
	g, left = &gate{t: t, recorder: &recorder{}, role: "role"}, make(chan error, 10)
	runs := registry.NewRuns(&registry.RunsOptions{Switches: c, Standing: c, Recorder: g.recorder, Pause: runsPause})
	p := &sallyport.Personality{Name: "role", Approvals: &sallyport.Approvals{Require: []string{"held"}, Wait: time.Hour}}
	var err error
	g.Registry, err = registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{
		Recorder: g.recorder, Switches: c, Standing: c, Runs: runs, Approvals: memory.NewApprovals(nil), Timeout: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		runs.Close()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	waits := func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
		<-ctx.Done()
		return sallyport.Result{}, ctx.Err()
	}
	g.add(sallyport.Tool{Name: "runs", Schema: open, Run: waits})
	g.add(sallyport.Tool{Name: "held", Schema: open, Run: waits})
	asking := asks(persons, question)
	asking.Timeout = time.Minute
	g.add(asking)
	g.add(sallyport.Tool{Name: "leaves", Schema: open, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		c.Outlive("something", false, func(why error) { left <- why })
		return sallyport.OK("left"), nil
	}})
	return g, left
}

// slowStanding answers when the one who asks gives up.
type slowStanding struct{}

func (slowStanding) Stands(ctx context.Context, _ string, _ time.Time) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func TestACheckThatTheEndInterruptsIsNoFailure(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			runs := registry.NewRuns(&registry.RunsOptions{Standing: slowStanding{}, Recorder: &recorder{}, Pause: runsPause, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			g := &gate{t: t, recorder: &recorder{}, role: "role"}
			var err error
			g.Registry, err = registry.New(&sallyport.Backends{Personalities: one{&sallyport.Personality{Name: "role"}}}, &registry.Options{Recorder: g.recorder, Runs: runs, Timeout: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			g.add(sallyport.Tool{Name: "runs", Schema: open, Run: func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
				<-ctx.Done()
				return sallyport.Result{}, ctx.Err()
			}})
			ctx, cancel := context.WithCancel(t.Context())
			var calls sync.WaitGroup
			calls.Go(func() { g.Call(ctx, g.caller(), sallyport.Request{Tool: "runs"}) })
			time.Sleep(runsPause)
			synctest.Wait()
			if !ends {
				time.Sleep(time.Minute)
			}
			runs.Close()
			if said := strings.Contains(log.String(), "cannot be read"); said == ends {
				t.Errorf("closed during the check: %v; the log says %q", ends, log.String())
			}
			cancel()
			calls.Wait()
			if err := g.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestA6_WhatRunsEndsWithItsCaller has calls of a caller run, wait for an
// approval and wait for an answer, and something that outlived its call, when the
// caller may call no more. What another one runs goes on.
func TestA6_WhatRunsEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(c *changing)
		ends   []string // tools
		late   time.Duration
		why    string
	}{
		{"nothing changed", func(*changing) {}, nil, 0, ""},
		{"another is revoked", func(c *changing) { c.revoked = "another" }, nil, 0, ""},
		{"revoked", func(c *changing) { c.revoked = "tester" }, []string{"asks", "held", "leaves", "runs"}, runsPause, "was revoked"},
		{"stopped", func(c *changing) { c.stopped = "principal tester" }, []string{"asks", "held", "leaves", "runs"}, runsPause, "maintenance"},
		{"its session is stopped", func(c *changing) { c.stopped = "session " + sallyport.SessionKey("tester", "s1") }, []string{"asks", "held", "leaves", "runs"}, runsPause, "maintenance"},
		{"a tool is stopped", func(c *changing) { c.stopped = "tool leaves" }, []string{"leaves"}, runsPause, "maintenance"},
		{"it is not known", func(c *changing) { c.err = errors.New("driver") }, []string{"asks", "held", "leaves", "runs"}, 6 * time.Second, "cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &changing{}
				g, left := newRunsGate(t, c)
				ctx, cancel := context.WithCancel(t.Context())
				results := make(chan string, 10)
				mine := func(name string) *sallyport.Caller {
					caller := g.caller()
					caller.Principal.Name = name
					caller.Input = &person{answer: func(ctx context.Context, _ []sallyport.Question) ([]sallyport.Answer, error) {
						<-ctx.Done()
						return nil, ctx.Err()
					}}
					return caller
				}
				var calls sync.WaitGroup
				for _, tool := range []string{"runs", "held", "asks"} {
					calls.Go(func() {
						if res := g.Call(ctx, mine("tester"), sallyport.Request{Tool: tool}); ctx.Err() == nil {
							if strings.Contains(res.Error, tt.why) || strings.Contains(res.Error, "maintenance") {
								t.Errorf("the caller of %s is told %q, which is for the operator", tool, res.Error)
							}
							results <- tool
						}
					})
				}
				calls.Go(func() {
					if res := g.Call(ctx, mine("bystander"), sallyport.Request{Tool: "runs"}); ctx.Err() == nil && tt.name != "it is not known" {
						t.Errorf("the call of another principal ended: %+v", res)
					}
				})
				if res := g.Call(ctx, mine("tester"), sallyport.Request{Tool: "leaves"}); !res.OK {
					t.Fatal(res)
				}
				time.Sleep(time.Minute / 2)
				c.set(tt.change)
				time.Sleep(tt.late + runsPause/2)
				synctest.Wait()
				var got []string
				for len(results) > 0 {
					got = append(got, <-results)
				}
				if len(left) > 0 {
					<-left
					got = append(got, "leaves")
				}
				slices.Sort(got)
				if !slices.Equal(got, tt.ends) {
					t.Errorf("ended %q, want %q", got, tt.ends)
				}
				checkEnds(t, g.recorder, tt.ends, tt.why)
				cancel()
				calls.Wait()
			})
		})
	}
}

// checkEnds wants a record of each end that says why: the outcome of a call, a
// change for what it has left running.
func checkEnds(t *testing.T, r *recorder, tools []string, why string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tool := range tools {
		found := slices.ContainsFunc(r.events, func(e audit.Event) bool {
			if string(e.Tool) != tool || e.Principal != "tester" {
				return false
			}
			if tool == "leaves" {
				return e.Change != nil && e.Change.Action == audit.ActionEnd && strings.Contains(string(e.Change.Detail), why) &&
					string(e.Change.Target) == "something of call "+e.CallID
			}
			return e.Kind == audit.KindOutcome && !e.OK && slices.ContainsFunc(e.Decisions, func(d sallyport.Decision) bool {
				return !d.Allowed && strings.Contains(d.Why, why)
			})
		})
		if !found {
			t.Errorf("there is no record that %s was ended because %q", tool, why)
		}
	}
}

// TestA6_AReviewEndsWhatLostMoreThanHosts asks another registry what it would
// grant to what runs.
func TestA6_AReviewEndsWhatLostMoreThanHosts(t *testing.T) {
	t.Parallel()
	before := sallyport.Capabilities{
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example", "b.example"}},
		FSReach: &sallyport.FSCapability{Read: sallyport.PathList{Paths: []string{"/data"}}, Write: sallyport.PathList{Paths: []string{"/data/out"}}},
		Secrets: []string{"a/*"},
	}
	for _, tt := range []struct {
		name  string
		after func(c *sallyport.Capabilities) // nil takes the tool away
		ends  string                          // why, empty when it goes on
	}{
		{"the same", func(*sallyport.Capabilities) {}, ""},
		{"more", func(c *sallyport.Capabilities) { c.FSReach.Read.Paths = []string{"/data", "/more"} }, ""},
		{"wider", func(c *sallyport.Capabilities) { c.FSReach.Read.Paths = []string{"/"} }, ""},
		{"a host fewer", func(c *sallyport.Capabilities) { c.Network.AllowedHosts = []string{"b.example"} }, ""},
		{"a folder fewer", func(c *sallyport.Capabilities) { c.FSReach.Write.Paths = nil }, "fs_reach.write /data/out is not granted any more"},
		{"part of a folder", func(c *sallyport.Capabilities) { c.FSReach.Read.Paths = []string{"/data/sub"} }, "fs_reach.read /data is not granted any more"},
		{"a folder of a name that begins alike", func(c *sallyport.Capabilities) { c.FSReach.Read.Paths = []string{"/dat"} }, "fs_reach.read /data is not granted any more"},
		{"a secret fewer", func(c *sallyport.Capabilities) { c.Secrets = []string{"a/b"} }, "secrets a/* is not granted any more"},
		{"the tool is gone", nil, "there is no tool works any more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			backends := &sallyport.Backends{
				Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()}, Secrets: fixedSecrets{},
			}
			rec := &recorder{}
			runs := registry.NewRuns(&registry.RunsOptions{Recorder: rec})
			open := func(c *sallyport.Capabilities, run func(context.Context, *sallyport.Call) (sallyport.Result, error)) *registry.Registry {
				r, err := registry.New(backends, &registry.Options{Recorder: rec, Runs: runs})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Close(context.Background()) })
				if c != nil {
					if err := r.Register(sallyport.Tool{Name: "works", Description: "Works.", Capabilities: *c, Run: run}); err != nil {
						t.Fatal(err)
					}
				}
				return r
			}
			began, let := make(chan struct{}), make(chan struct{})
			caps := before
			first := open(&caps, func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
				close(began)
				select {
				case <-ctx.Done():
					return sallyport.Result{}, ctx.Err()
				case <-let:
					return sallyport.OK("done"), nil
				}
			})
			answer := make(chan sallyport.Result, 1)
			go func() {
				answer <- first.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "works"})
			}()
			<-began
			var after *sallyport.Capabilities
			if tt.after != nil {
				network, fs := *before.Network, *before.FSReach
				after = &sallyport.Capabilities{Network: &network, FSReach: &fs, Secrets: before.Secrets}
				tt.after(after)
			}
			second := open(after, echo)
			for range 3 { // a command asks again and again
				runs.Review(func(run *registry.Run) (*sallyport.Grant, string) { return second.Holds(run, run.Tool) })
			}
			if said := strings.Count(fmt.Sprint(rec.kinds()), string(audit.KindChange)); said > 1 {
				t.Errorf("it was recorded %d times that hosts are gone", said)
			}
			if tt.ends == "" {
				close(let)
			}
			if res := <-answer; res.OK != (tt.ends == "") {
				t.Errorf("the call = %+v, want it ended %v", res, tt.ends != "")
			}
			why := ""
			for _, d := range rec.last().Decisions {
				why += d.Why
			}
			if tt.ends != "" && !strings.Contains(why, tt.ends) {
				t.Errorf("its record says %q, want %q", why, tt.ends)
			}
		})
	}
}

// slowly answers what is stopped only when it is let.
type slowly struct {
	asked func()
	let   chan struct{}
}

func (s slowly) Stopped(context.Context, string, string, string) (kind, why string, err error) {
	s.asked()
	<-s.let
	return "", "", nil
}

// TestA6_WhatAReplacedRegistryBeginsIsHeldToTheReview has a registry replaced while
// a call is being decided, and while one is about to leave something running: both
// are not there yet when what runs is asked about.
func TestA6_WhatAReplacedRegistryBeginsIsHeldToTheReview(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"decided", "started"} {
		t.Run(when, func(t *testing.T) {
			backends := &sallyport.Backends{Files: &sallyport.FileBackend{Home: t.TempDir()}}
			rec := &recorder{}
			runs := registry.NewRuns(&registry.RunsOptions{Recorder: rec})
			o := &registry.Options{Recorder: rec, Runs: runs}
			began, let, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			if when == "decided" {
				o.Switches = slowly{sync.OnceFunc(func() { close(began) }), let}
			}
			open := func(o *registry.Options, read string) *registry.Registry {
				r, err := registry.New(backends, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Close(context.Background()) })
				c := sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.PathList{Paths: []string{read}}}}
				if err := r.Register(sallyport.Tool{Name: "works", Description: "Works.", Capabilities: c, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
					if when == "started" {
						close(began)
						<-let
						c.Outlive("something", false, func(why error) { ended <- why })
					}
					return sallyport.OK("done"), nil
				}}); err != nil {
					t.Fatal(err)
				}
				return r
			}
			first := open(o, "/data")
			second := open(&registry.Options{Recorder: rec, Runs: runs}, "/other")
			answer := make(chan sallyport.Result, 1)
			go func() {
				answer <- first.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "works"})
			}()
			<-began
			first.StopWaiting()
			runs.Review(func(run *registry.Run) (*sallyport.Grant, string) { return second.Holds(run, run.Tool) })
			close(let)
			if res := <-answer; res.OK && when == "decided" {
				t.Errorf("the call = %+v, want it ended", res)
			}
			if when == "started" {
				<-ended // it hangs when that goes on
			}
		})
	}
}
