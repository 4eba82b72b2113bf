package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestFormsPassTheSameGates has one case per decision, for a prompt and a
// resource each.
func TestFormsPassTheSameGates(t *testing.T) {
	t.Parallel()
	role := sallyport.Personality{Name: "role", Toolset: []string{"p", "@label"}, MCPServers: []string{"docs"}}
	both := func(name string, edit func(*sallyport.Tool)) []sallyport.Tool {
		out := []sallyport.Tool{prompt(name, "text"), reader(name, "mem:"+name)}
		for i := range out {
			if edit != nil {
				edit(&out[i])
			}
		}
		return out
	}
	tests := []struct {
		name    string
		tools   []sallyport.Tool
		edit    func(*sallyport.Caller)
		stopped bool
		stage   sallyport.Step
		code    sallyport.Code
		seen    bool
	}{
		{name: "in the toolset", tools: both("p", nil), seen: true},
		{name: "by label", tools: both("other", func(t *sallyport.Tool) { t.Toolset = "label" }), seen: true},
		{name: "outside the toolset", tools: both("other", nil), stage: sallyport.StepVisible, code: sallyport.CodeNotAvailable},
		{name: "a server of the role", tools: both("mcp__docs__p", nil), seen: true},
		{name: "another server", tools: both("mcp__shop__p", nil), stage: sallyport.StepVisible, code: sallyport.CodeNotAvailable},
		{name: "a plugin", tools: both("p", func(t *sallyport.Tool) { t.Plugin = "x" }), stage: sallyport.StepVisible, code: sallyport.CodeNotAvailable},
		{name: "excluded by name", tools: both("p", nil), edit: func(c *sallyport.Caller) { c.Exclude = []string{"p"} }, stage: sallyport.StepVisible, code: sallyport.CodeNotAvailable},
		{name: "excluded by ID", tools: both("p", nil), edit: func(c *sallyport.Caller) { c.Exclude = []string{"prompt:p", "resource:p"} }, stage: sallyport.StepVisible, code: sallyport.CodeNotAvailable},
		{name: "another role", tools: both("p", nil), edit: func(c *sallyport.Caller) { c.Personality = "x" }, stage: sallyport.StepVisible, code: sallyport.CodeNotAvailable},
		{name: "a role that it may not take", tools: both("p", nil), edit: func(c *sallyport.Caller) { c.Principal.Personalities = []string{} }, stage: sallyport.StepVisible, code: sallyport.CodeNotAvailable},
		{name: "stopped", tools: both("p", nil), stopped: true, stage: sallyport.StepVisible, code: sallyport.CodeNotAvailable},
		{name: "gated off", tools: both("p", func(t *sallyport.Tool) { t.IsAvailable = func() bool { return false } }), stage: sallyport.StepReady, code: sallyport.CodeNotAvailable},
		{name: "a permission", tools: both("p", func(t *sallyport.Tool) { t.Permissions = []string{"a:b"} }), stage: sallyport.StepPermit, code: sallyport.CodePermissionDenied, seen: true},
		{name: "a missing backend", tools: both("p", func(t *sallyport.Tool) { t.Capabilities.Secrets = []string{"a/b"} }), stage: sallyport.StepBackends, code: sallyport.CodeNotAvailable, seen: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stops := &thrown{}
			g := stopGate(t, stops, &role)
			for _, tool := range tt.tools {
				g.add(tool)
				if tt.stopped {
					stops.throw(nil, append(stops.switches, "tool "+tool.ID())...)
				}
			}
			caller := g.caller()
			if tt.edit != nil {
				tt.edit(caller)
			}
			name := tt.tools[0].Name
			for _, q := range []sallyport.Request{
				{Tool: "prompt:" + name}, {Tool: "resource:" + name, Args: json.RawMessage(`{"uri":"mem:` + name + `"}`)},
			} {
				res := g.Call(t.Context(), caller, q)
				if e := g.recorder.last(); res.Code != tt.code || res.OK != (tt.code == "") || e.Stage != tt.stage || string(e.Tool) != q.Tool {
					t.Errorf("Call(%s) = %+v at %q, want %s at %q", q.Tool, res, e.Stage, tt.code, tt.stage)
				}
			}
			_, found := g.Reader(caller, "mem:"+name)
			if p, r := len(g.Prompts(caller)) > 0, len(g.Resources(caller)) > 0; p != tt.seen || r != tt.seen || found != tt.seen {
				t.Errorf("Prompts %v, Resources %v, Reader %v, want %v", p, r, found, tt.seen)
			}
		})
	}
}

// TestASwitchOrLimitOfAToolIsNotItsNamesakes holds both to the ID.
func TestASwitchOrLimitOfAToolIsNotItsNamesakes(t *testing.T) {
	t.Parallel()
	stops := &thrown{switches: []string{"tool same"}}
	limiter := &rings{}
	r, err := registry.New(nil, &registry.Options{Switches: stops, Limiter: limiter})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Registry: r, t: t, recorder: &recorder{}}
	once := &sallyport.RateLimit{Requests: 1, Window: time.Hour}
	tool, p := sallyport.Tool{Name: "same", Schema: open, Run: echo, RateLimit: once}, prompt("same", "text")
	p.RateLimit = once
	g.add(tool)
	g.add(p)
	if res := call(g, "same", "{}"); res.OK {
		t.Errorf("a stopped tool answered %+v", res)
	}
	if res := call(g, "prompt:same", "{}"); !res.OK {
		t.Errorf("the prompt beside a stopped tool answered %+v", res)
	}
	stops.throw(nil)
	if res := call(g, "same", "{}"); !res.OK {
		t.Errorf("the tool beside a prompt that is used up answered %+v", res)
	}
	if res := call(g, "prompt:same", "{}"); res.Code != sallyport.CodeRateLimited {
		t.Errorf("the second prompt answered %+v, want rate_limited", res)
	}
	if len(limiter.keys) != 2 || limiter.keys["same/tester"] == nil || limiter.keys["prompt:same/tester"] == nil {
		t.Errorf("counted %v", limiter.keys)
	}
}

func TestPrivateStoresAreNotShared(t *testing.T) {
	t.Parallel()
	kv := &mapKV{m: map[string]string{}}
	g := newGateWith(t, nil, &sallyport.Backends{KV: kv})
	store := sallyport.Capabilities{Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeToolPrivate, Kind: "kv"}}
	g.add(sallyport.Tool{Name: "same", Capabilities: store, Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		return sallyport.OK(""), c.KV.Set(ctx, "k", "the tool's", 0)
	}})
	p := prompt("same", "")
	p.Capabilities = store
	p.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		v, ok, err := c.KV.Get(ctx, "k")
		if ok {
			t.Errorf("the prompt reads %q", v)
		}
		return sallyport.Result{OK: true}, err
	}
	g.add(p)
	for _, id := range []string{"same", "prompt:same"} {
		if res := call(g, id, "{}"); !res.OK {
			t.Errorf("%s = %+v", id, res)
		}
	}
}

func TestAUriThatIsNotListedIsRefused(t *testing.T) {
	t.Parallel()
	g := newGateWith(t, nil, &sallyport.Backends{Secrets: fixedSecrets{"a/b": "hunter2-zq9xy7w"}})
	tool := reader("files", "mem:a", "mem:dir/{name}")
	run, ran := tool.Run, 0
	tool.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		ran++
		return run(ctx, c)
	}
	g.add(tool)
	for _, uri := range []string{
		"mem:b", "mem:a/", "mem:A", "mem:a/../b", "mem:dir/a/b", "mem:dir/../a", "mem:dir/a?b", "mem:dir/a#b", "mem:dir/a\n", "MEM:a",
		" mem:a", "mem:dir/a b", "mem:dir/é", "file:///etc/passwd", "mem:hunter2-zq9xy7w", "mem:\x1b[31m",
	} {
		res := read(g, "resource:files", uri)
		if res.Code != sallyport.CodeNotAvailable || !strings.HasPrefix(res.Error, "Unknown resource: ") {
			t.Errorf("%q = %+v, want not_available", uri, res)
		}
		if strings.Contains(res.Error, "hunter2") || strings.Contains(res.Error, "\x1b") {
			t.Errorf("the refusal of %q repeats it: %q", uri, res.Error)
		}
		if e := g.recorder.last(); e.Stage != sallyport.StepValidate || e.Tool != "resource:files" || e.OK {
			t.Errorf("%q was recorded as %+v", uri, e)
		}
	}
	for args, why := range map[string]string{`{}`: "uri", `{"uri":1}`: "/uri", `{"uri":""}`: "/uri", `{"uri":"mem:a","x":1}`: "x", `{"uri":"mem:a","uri":"mem:b"}`: "uri"} {
		if res := call(g, "resource:files", args); res.Code != sallyport.CodeInputInvalid || !strings.Contains(res.Error, why) {
			t.Errorf("%s = %+v, want input_invalid about %s", args, res, why)
		}
	}
	if ran != 0 {
		t.Fatalf("the tool ran %d times", ran)
	}
	// A family is read as it is named: what is behind a name is the tool's to say.
	for _, uri := range []string{"mem:a", "mem:dir/x", "mem:dir/..", "mem:dir/%2E%2E%2Fa", "mem:dir/"} {
		if res := read(g, "resource:files", uri); !res.OK || len(res.Parts) != 1 || res.Parts[0].URI != uri {
			t.Errorf("%q = %+v, want it as it is", uri, res)
		}
	}
}

func TestADryRunAndABatchKnowForms(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(prompt("p", "text"))
	g.add(reader("r", "mem:a"))
	caller := g.caller()
	results := g.Batch(t.Context(), caller, []sallyport.Request{
		{Tool: "prompt:p"}, {Tool: "resource:r", Args: json.RawMessage(`{"uri":"mem:a"}`)}, {Tool: "resource:r", Args: json.RawMessage(`{"uri":"mem:b"}`)},
	})
	if !results[0].OK || !results[1].OK || results[2].Error != "Unknown resource: mem:b" {
		t.Errorf("Batch() = %+v", results)
	}
	caller.DryRun = true
	res := g.Call(t.Context(), caller, sallyport.Request{Tool: "resource:r", Args: json.RawMessage(`{"uri":"mem:a"}`)})
	if want := `[dry-run] resource:r would be called with: {"uri":"mem:a"}`; res.Value != want || res.Parts != nil {
		t.Errorf("the dry run = %+v, want %q", res, want)
	}
	if res := g.Call(t.Context(), caller, sallyport.Request{Tool: "resource:r", Args: json.RawMessage(`{"uri":"mem:b"}`)}); res.OK {
		t.Errorf("the dry run of an unknown resource = %+v", res)
	}
	x, err := g.Explain(g.caller(), "prompt:p")
	if err != nil || x.Tool != "prompt:p" || x.Grant == nil {
		t.Errorf("Explain() = %+v, %v", x, err)
	}
	for _, d := range x.Decisions {
		if !d.Allowed {
			t.Errorf("Explain() refuses: %+v", d)
		}
	}
}
