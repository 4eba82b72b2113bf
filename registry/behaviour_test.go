package registry_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// behaviour is one case of testdata/behaviour.json.
type behaviour struct {
	Area   string          `json:"area"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Expect json.RawMessage `json:"expect"`
}

// skipped names the cases that the contract overrules, with its words.
var skipped = map[string]string{
	"filter/server name containing __":          "server names hold no __: mcp__a__b__t is tool b__t of server a",
	"filter/plugin undefined allows all":        "absent mcp_servers and plugins mean none",
	"filter/network applicability unrestricted": "the tools of this case do not exist here",
	"registry/invocation filter throw":          "there are no invocation filters",
	"reducer/terminal: error passes through":    "package tools/terminal has it: TestReducerLeavesOtherResultsAlone",
	"dry_run/default cap":                       "a cap on planned calls belongs to an agent's loop",
}

func cases(t *testing.T, area string) []behaviour {
	t.Helper()
	text, err := os.ReadFile("testdata/behaviour.json")
	if err != nil {
		t.Fatal(err)
	}
	var all, out []behaviour
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Area == area {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no cases of area %s", area)
	}
	return out
}

// each runs the cases of an area and skips those that the contract overrules.
func each(t *testing.T, area string, run func(t *testing.T, c behaviour)) {
	for _, c := range cases(t, area) {
		t.Run(c.Name, func(t *testing.T) {
			if why := skipped[area+"/"+c.Name]; why != "" {
				t.Skip(why)
			}
			run(t, c)
		})
	}
}

func unmarshal(t *testing.T, text json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

func TestFilterCases(t *testing.T) {
	t.Parallel()
	each(t, "filter", func(t *testing.T, c behaviour) {
		var in struct {
			Tools []struct {
				Name, PluginID string
			}
			Tool         string
			AllowedTools []string
			FilterOpts   struct {
				AllowedMcpServers, AllowedPlugins, ExcludeTools []string
			}
		}
		var want struct {
			Visible []string
			Code    sallyport.Code
			Error   string
		}
		unmarshal(t, c.Input, &in)
		unmarshal(t, c.Expect, &want)
		p := &sallyport.Personality{
			Name: "role", Toolset: in.AllowedTools,
			MCPServers: in.FilterOpts.AllowedMcpServers, Plugins: in.FilterOpts.AllowedPlugins,
		}
		g := newGate(t, p)
		ran := false
		add := func(name, plugin string) {
			g.add(sallyport.Tool{Name: name, Plugin: plugin, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				ran = true
				return sallyport.OK("ran"), nil
			}})
		}
		for _, tool := range in.Tools {
			add(tool.Name, tool.PluginID)
		}
		caller := g.caller()
		caller.Exclude = in.FilterOpts.ExcludeTools
		if in.Tool != "" {
			add(in.Tool, "")
			res := g.Call(t.Context(), caller, sallyport.Request{Tool: in.Tool})
			if res.OK || res.Code != want.Code || res.Error != want.Error || ran {
				t.Errorf("Call(%s) = %v %s %q, ran = %v, want %s %q and not run", in.Tool, res.OK, res.Code, res.Error, ran, want.Code, want.Error)
			}
			return
		}
		var got []string
		for _, tool := range g.List(caller) {
			got = append(got, tool.Name)
		}
		slices.Sort(want.Visible)
		if !slices.Equal(got, want.Visible) {
			t.Errorf("List() = %q, want %q", got, want.Visible)
		}
	})
}

func TestNetworkResolveCases(t *testing.T) {
	t.Parallel()
	each(t, "network_resolve", func(t *testing.T, c behaviour) {
		var in struct {
			Declared []string `json:"declared"`
			Allow    []string `json:"personality_allow"`
		}
		var want struct{ Resolved []string }
		unmarshal(t, c.Input, &in)
		unmarshal(t, c.Expect, &want)
		p := &sallyport.Personality{Name: "role"}
		if in.Allow != nil {
			p.Network = &sallyport.NetworkPolicy{Allow: in.Allow}
		}
		got := grantOf(t, p, sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: in.Declared}})
		if diff := cmp.Diff(want.Resolved, append([]string{}, got.Network.Allow...)); diff != "" {
			t.Errorf("grant of %q under %q (-want +got):\n%s", in.Declared, in.Allow, diff)
		}
	})
}

// grantOf returns the grant of a tool with these capabilities.
func grantOf(t *testing.T, p *sallyport.Personality, c sallyport.Capabilities) *sallyport.Grant {
	t.Helper()
	g := newGate(t, p)
	g.add(sallyport.Tool{Name: "tool", Capabilities: c, Run: echo})
	x, err := g.Explain(g.caller(), "tool")
	if err != nil {
		t.Fatal(err)
	}
	return x.Grant
}

func TestRegistrationValidateCases(t *testing.T) {
	t.Parallel()
	each(t, "registration_validate", func(t *testing.T, c behaviour) {
		var in struct {
			Host, Path   string
			Capabilities sallyport.Capabilities
			Personality  struct {
				FSRead       []string `json:"fs_read"`
				FSWrite      []string `json:"fs_write"`
				NetworkAllow []string `json:"network_allow"`
			}
		}
		unmarshal(t, c.Input, &in)
		if in.Host != "" {
			messageTexts(t, in.Host, in.Path, c.Expect)
			return
		}
		var want struct{ Errors []string }
		unmarshal(t, c.Expect, &want)
		p := &sallyport.Personality{Name: "role"}
		if in.Personality.FSRead != nil || in.Personality.FSWrite != nil {
			p.FSReach = &sallyport.Reach{Read: in.Personality.FSRead, Write: in.Personality.FSWrite}
		}
		if in.Personality.NetworkAllow != nil {
			p.Network = &sallyport.NetworkPolicy{Allow: in.Personality.NetworkAllow}
		}
		g := newGate(t, p)
		g.add(sallyport.Tool{Name: "tool", Capabilities: in.Capabilities, Run: echo})
		got := []string{}
		for _, f := range g.Misfits("role") {
			got = append(got, f.Capability)
		}
		if diff := cmp.Diff(want.Errors, got); diff != "" {
			t.Errorf("Misfits() (-want +got):\n%s", diff)
		}
	})
}

// messageTexts compares the words of each kind of misfit.
func messageTexts(t *testing.T, host, path string, expect json.RawMessage) {
	want := map[string]string{}
	unmarshal(t, expect, &want)
	g := newGate(t, &sallyport.Personality{Name: "role", Network: &sallyport.NetworkPolicy{Allow: []string{"good.com"}}})
	g.add(sallyport.Tool{Name: "tool", Run: echo, Capabilities: sallyport.Capabilities{
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{host}},
		FSReach: &sallyport.FSCapability{Read: sallyport.Paths(path), Write: sallyport.Paths(path)},
	}})
	got := map[string]string{}
	for _, f := range g.Misfits("role") {
		got[f.Capability] = f.Message
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("misfits (-want +got):\n%s", diff)
	}
}

func TestDryRunCases(t *testing.T) {
	t.Parallel()
	each(t, "dry_run", func(t *testing.T, c behaviour) {
		var in struct {
			Tool string
			Args json.RawMessage
		}
		var want struct {
			Value         string `json:"value"`
			ValueContains string `json:"value_contains"`
		}
		unmarshal(t, c.Input, &in)
		unmarshal(t, c.Expect, &want)
		if in.Tool == "" {
			in.Tool, in.Args = "tool", json.RawMessage(`{"text":`+string(in.Args)+`}`)
		}
		g := newGate(t, nil)
		g.add(sallyport.Tool{Name: in.Tool, Schema: open, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			t.Error("a dry run ran the tool")
			return sallyport.OK(""), nil
		}})
		caller := g.caller()
		caller.DryRun = true
		res := g.Call(t.Context(), caller, sallyport.Request{Tool: in.Tool, Args: in.Args})
		if !res.OK || want.Value != "" && res.Value != want.Value || !strings.Contains(res.Value, want.ValueContains) {
			t.Errorf("dry run = %v %q, want %q containing %q", res.OK, res.Value, want.Value, want.ValueContains)
		}
	})
}

func TestConcurrentTurnsKeepTheirOwnContext(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	gate := make(chan struct{})
	g.add(sallyport.Tool{Name: "tool", Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		<-gate
		return sallyport.OK(c.Session + ":" + c.MemoryScope), nil
	}})
	results := make(chan string, 2)
	for _, s := range []string{"A", "B"} {
		go func() {
			caller := g.caller()
			caller.Session, caller.MemoryScope = s, "st"+s
			results <- g.Call(context.WithoutCancel(t.Context()), caller, sallyport.Request{Tool: "tool"}).Value
		}()
	}
	close(gate)
	got := []string{<-results, <-results}
	slices.Sort(got)
	if want := []string{"A:stA", "B:stB"}; !slices.Equal(got, want) {
		t.Errorf("results = %q, want %q", got, want)
	}
}

var _ registry.Recorder = (*recorder)(nil)
