package registry_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestWhatHoldsAToolBackIsForTheOperatorAlone calls tools that are not there with and
// without Options.Missing: the caller reads the same, and the record and explain say
// what holds the tool back.
func TestWhatHoldsAToolBackIsForTheOperatorAlone(t *testing.T) {
	t.Parallel()
	const why, fix = "its server is not pinned", "sallyport lock"
	missing := func(id string) registry.MissingTool {
		switch {
		case id == "resource:notes:///today":
			return registry.MissingTool{Tool: "mcp__notes__resources", Why: why, Fix: fix}
		case strings.HasPrefix(id, "mcp__notes__") || id == "prompt:mcp__notes__greet":
			return registry.MissingTool{Why: why, Fix: fix}
		}
		return registry.MissingTool{}
	}
	gateOf := func(missing func(string) registry.MissingTool, servers ...string) *gate {
		g := &gate{t: t, recorder: &recorder{}, role: "role"}
		var err error
		g.Registry, err = registry.New(
			&sallyport.Backends{Personalities: one{&sallyport.Personality{Name: "role", MCPServers: servers, Sources: map[string]string{"mcp_servers": "sallyport.yaml:7:5"}}}},
			&registry.Options{Recorder: g.recorder, Missing: missing},
		)
		if err != nil {
			t.Fatal(err)
		}
		run := func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("ran"), nil }
		away := func() bool { return false }
		g.add(sallyport.Tool{Name: "mcp__notes__near", Schema: open, Run: run})
		g.add(sallyport.Tool{Name: "mcp__notes__away", Schema: open, Run: run, IsAvailable: away})
		g.add(sallyport.Tool{Name: "mcp__notes__gone", Schema: open, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			return sallyport.Result{}, &sallyport.Error{Code: sallyport.CodeNotAvailable, Resource: c.Tool, Detail: "it is gone"}
		}})
		g.add(sallyport.Tool{Name: "mcp__notes__says", Schema: open, Run: run, IsAvailable: away, WhyNot: func() string { return "it rests" }})
		return g
	}
	plain, knows, unlisted := gateOf(nil, "notes"), gateOf(missing, "notes"), gateOf(missing)
	for _, tt := range []struct {
		gate       *gate
		tool, want string
		// decision is what the operator reads.
		decision sallyport.Decision
	}{
		{knows, "mcp__notes__echo", "Unknown tool: mcp__notes__echo", sallyport.Decision{Step: sallyport.StepFind, Why: why, Fix: fix}},
		{knows, "mcp__notes__nearr", "Unknown tool: mcp__notes__nearr\nDid you mean mcp__notes__near?", sallyport.Decision{Step: sallyport.StepFind, Why: why, Fix: fix}},
		{knows, "prompt:mcp__notes__greet", "Unknown tool: prompt:mcp__notes__greet", sallyport.Decision{Step: sallyport.StepFind, Why: why, Fix: fix}},
		{knows, "resource:notes:///today", "Unknown tool: resource:notes:///today", sallyport.Decision{Step: sallyport.StepFind, Why: why, Fix: fix}},
		{knows, "resource:notes:///other", "Unknown tool: resource:notes:///other", sallyport.Decision{Step: sallyport.StepFind, Why: "no tool of this name is registered"}},
		{knows, "mcp__other__echo", "Unknown tool: mcp__other__echo", sallyport.Decision{Step: sallyport.StepFind, Why: "no tool of this name is registered"}},
		{knows, "mcp__notes__away", "Tool mcp__notes__away is not currently available", sallyport.Decision{Step: sallyport.StepReady, Why: why, Fix: fix}},
		{knows, "mcp__notes__says", "Tool mcp__notes__says is not currently available: it rests", sallyport.Decision{Step: sallyport.StepReady, Why: why, Fix: fix}},
		{knows, "mcp__notes__gone", "it is gone", sallyport.Decision{Step: sallyport.StepRun, Why: why, Fix: fix}},
		// The list of the role comes first: the other change alone would not help.
		{unlisted, "resource:notes:///today", "Unknown tool: resource:notes:///today", sallyport.Decision{
			Step: sallyport.StepFind, Why: `"notes" is not in mcp_servers of personality role`, Source: "sallyport.yaml:7:5", Fix: "add notes to personalities.role.mcp_servers",
		}},
		{unlisted, "mcp__notes__echo", "Unknown tool: mcp__notes__echo", sallyport.Decision{
			Step: sallyport.StepFind, Why: `"notes" is not in mcp_servers of personality role`, Source: "sallyport.yaml:7:5", Fix: "add notes to personalities.role.mcp_servers",
		}},
	} {
		res, without := call(tt.gate, tt.tool, `{}`), call(plain, tt.tool, `{}`)
		if res.Error != tt.want || res.Code != sallyport.CodeNotAvailable {
			t.Errorf("Call(%s) = %s %q, want %q", tt.tool, res.Code, res.Error, tt.want)
		}
		if tt.gate == knows && (res.Error != without.Error || res.Code != without.Code) {
			t.Errorf("Call(%s) = %q, and %q where nothing is known, want the same", tt.tool, res.Error, without.Error)
		}
		recorded := tt.gate.recorder.last().Decisions
		i := slices.IndexFunc(recorded, func(d sallyport.Decision) bool { return !d.Allowed })
		if i < 0 || recorded[i] != tt.decision {
			t.Errorf("the record of %s = %+v, want %+v", tt.tool, recorded, tt.decision)
		}
		x, err := tt.gate.Explain(tt.gate.caller(), tt.tool)
		if last := x.Decisions[len(x.Decisions)-1]; err != nil || tt.decision.Step != sallyport.StepRun && last != tt.decision {
			t.Errorf("explain %s = %+v, %v, want %+v", tt.tool, last, err, tt.decision)
		}
	}
}

// TestAResourceThatIsHeldBackIsExplained reads a URI that the tool of its server does
// not list.
func TestAResourceThatIsHeldBackIsExplained(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	backends := &sallyport.Backends{Personalities: one{&sallyport.Personality{Name: "role", MCPServers: []string{"notes"}}}}
	r, err := registry.New(backends, &registry.Options{Recorder: rec, Missing: func(id string) registry.MissingTool {
		if id != "resource:notes:///held" {
			return registry.MissingTool{}
		}
		return registry.MissingTool{Tool: "mcp__notes__resources", Why: "it is not pinned", Fix: "sallyport lock accept notes"}
	}})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, Registry: r, recorder: rec, role: "role"}
	g.add(sallyport.Tool{
		Name: "mcp__notes__resources", Form: sallyport.FormResource,
		Resources: []sallyport.Resource{{Name: "today", URI: "notes:///today"}},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK("ran"), nil
		},
	})
	for uri, want := range map[string]sallyport.Decision{
		"notes:///held":  {Why: "it is not pinned", Fix: "sallyport lock accept notes"},
		"notes:///never": {Why: "the URI is neither listed by resource:mcp__notes__resources nor matched by one of its templates"},
	} {
		res := call(g, "resource:mcp__notes__resources", `{"uri":"`+uri+`"}`)
		if res.Error != "Unknown resource: "+uri || res.Code != sallyport.CodeNotAvailable {
			t.Errorf("reading %s = %s %q, want that it is unknown", uri, res.Code, res.Error)
		}
		want.Step, want.Resource = sallyport.StepValidate, uri
		if recorded := rec.last().Decisions; !slices.Contains(recorded, want) {
			t.Errorf("the record of %s = %+v, want %+v in it", uri, recorded, want)
		}
	}
}
