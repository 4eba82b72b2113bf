package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// said returns a prompt that answers with one message.
func said(text string) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
	return func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return sallyport.Result{OK: true, Parts: []sallyport.Part{{Kind: sallyport.PartText, Role: sallyport.RoleUser, Text: text}}}, nil
	}
}

// contents returns a reader that answers with the URI that it was asked for.
func contents(text string) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
	return func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		var args struct{ URI string }
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return sallyport.Result{}, err
		}
		return sallyport.Result{OK: true, Parts: []sallyport.Part{{Kind: sallyport.PartResource, URI: args.URI, Text: text}}}, nil
	}
}

func prompt(name, text string) sallyport.Tool {
	return sallyport.Tool{Name: name, Form: sallyport.FormPrompt, Run: said(text)}
}

func reader(name string, uris ...string) sallyport.Tool {
	t := sallyport.Tool{Name: name, Form: sallyport.FormResource, Run: contents("read by " + name)}
	for _, uri := range uris {
		res := sallyport.Resource{Name: "r", URI: uri}
		if strings.Contains(uri, "{") {
			res.URI, res.Template = "", uri
		}
		t.Resources = append(t.Resources, res)
	}
	return t
}

func read(g *gate, id, uri string) sallyport.Result {
	args, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		g.t.Fatal(err)
	}
	return call(g, id, string(args))
}

func TestFormsOfOneNameStandSideBySide(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "same", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return sallyport.OK("tool"), nil
	}})
	g.add(prompt("same", "prompt"))
	g.add(reader("same", "mem:a"))
	if err := g.Register(prompt("same", "again")); err == nil || !strings.Contains(err.Error(), "prompt:same: a tool of this name") {
		t.Errorf("Register() = %v, want a fault for prompt:same", err)
	}
	if res := call(g, "same", "{}"); res.Value != "tool" {
		t.Errorf("same = %+v", res)
	}
	if res := call(g, "prompt:same", "{}"); len(res.Parts) != 1 || res.Parts[0].Text != "prompt" {
		t.Errorf("prompt:same = %+v", res)
	}
	if res := read(g, "resource:same", "mem:a"); len(res.Parts) != 1 || res.Parts[0].Text != "read by same" {
		t.Errorf("resource:same = %+v", res)
	}
	if e := g.recorder.last(); e.Tool != "resource:same" {
		t.Errorf("recorded %q, want the ID", e.Tool)
	}
	if names := listed(g, g.caller()); cmp.Diff([]string{"same"}, names) != "" {
		t.Errorf("List() = %v, want the tool alone", names)
	}
	if got := g.Definitions(g.caller()); len(got) != 1 {
		t.Errorf("Definitions() = %v, want the tool alone", got)
	}
	if got := g.Prompts(g.caller()); len(got) != 1 || got[0].Name != "same" {
		t.Errorf("Prompts() = %v, want the prompt alone", got)
	}
	if got := g.Tools(); len(got) != 3 {
		t.Errorf("Tools() = %v, want all three", got)
	}
}

func listed(g *gate, caller *sallyport.Caller) (names []string) {
	for _, tool := range g.List(caller) {
		names = append(names, tool.Name)
	}
	return names
}

func TestResourcesAreListedAndFound(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	for _, tool := range []sallyport.Tool{
		reader("a", "mem:one", "mem:twice", "mem:f/{x}"), reader("b", "mem:twice", "mem:f/own", "mem:{+all}/end"), reader("c", "mem:{+all}/end"), reader("d", "mem:own/end"),
	} {
		g.add(tool)
	}
	var got []string
	for _, res := range g.Resources(g.caller()) {
		got = append(got, res.URI+res.Template)
	}
	if diff := cmp.Diff([]string{"mem:f/own", "mem:f/{x}", "mem:one", "mem:own/end"}, got); diff != "" {
		t.Errorf("Resources (-want +got):\n%s", diff)
	}
	for uri, want := range map[string]string{
		"mem:one": "resource:a", "mem:f/other": "resource:a", "mem:f/own": "resource:b", "mem:own/end": "resource:d",
		"mem:twice": "", "mem:x/end": "", "mem:none": "", "": "", "mem:f/" + strings.Repeat("x", 9000): "",
	} {
		if id, ok := g.Reader(g.caller(), uri); id != want || ok != (want != "") {
			t.Errorf("Reader(%.20q) = %q, %v, want %q", uri, id, ok, want)
		}
	}
}

func TestFormsAreCheckedAtRegistration(t *testing.T) {
	t.Parallel()
	edit := func(tool sallyport.Tool, change func(*sallyport.Tool)) sallyport.Tool {
		change(&tool)
		return tool
	}
	many := make([]string, registry.MaxResources+1)
	for i := range many {
		many[i] = fmt.Sprintf("mem:%d", i)
	}
	args := func(text string) func(*sallyport.Tool) {
		return func(t *sallyport.Tool) { t.Schema = json.RawMessage(text) }
	}
	res := func(r sallyport.Resource) func(*sallyport.Tool) {
		return func(t *sallyport.Tool) { t.Resources = []sallyport.Resource{r} }
	}
	tests := []struct {
		name string
		tool sallyport.Tool
		want string // part of the fault; empty when there is none
	}{
		{"an unknown form", edit(prompt("x", ""), func(t *sallyport.Tool) { t.Form = "other" }), `form "other"`},
		{"a tool with resources", edit(prompt("x", ""), func(t *sallyport.Tool) {
			t.Form, t.Resources = sallyport.FormTool, []sallyport.Resource{}
		}), "Resources belong"},
		{"a prompt with resources", edit(reader("x", "mem:a"), func(t *sallyport.Tool) { t.Form = sallyport.FormPrompt }), "Resources belong"},
		{"a prompt that returns", edit(prompt("x", ""), func(t *sallyport.Tool) { t.Returns = open }), "Returns belong"},
		{"a prompt of texts", edit(prompt("x", ""), args(`{"type":"object","title":"t","properties":{"a":{"type":"string","description":"d"},"b":{"enum":["x","y"]},"c":{"type":"string","enum":["x"]}},"required":["a"],"additionalProperties":false}`)), ""},
		{"a prompt with a number", edit(prompt("x", ""), args(`{"type":"object","properties":{"a":{"type":"integer"}}}`)), `property "a"`},
		{"a prompt with several types", edit(prompt("x", ""), args(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`)), `property "a"`},
		{"a prompt with anything", edit(prompt("x", ""), args(`{"type":"object","properties":{"a":{}}}`)), `property "a"`},
		{"a prompt with a choice of numbers", edit(prompt("x", ""), args(`{"type":"object","properties":{"a":{"enum":["x",1]}}}`)), `property "a"`},
		{"a prompt with a boolean schema", edit(prompt("x", ""), args(`{"type":"object","properties":{"a":true}}`)), "properties"},
		{"a prompt whose texts stand elsewhere", edit(prompt("x", ""), args(`{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}}}]}`)), `not "allOf"`},
		{"a prompt with patterns", edit(prompt("x", ""), args(`{"type":"object","patternProperties":{".":{"type":"integer"}}}`)), `not "patternProperties"`},
		{"a prompt whose schema is no object", edit(prompt("x", ""), args(`[]`)), "expected an object"},
		{"a reader with a schema", edit(reader("x", "mem:a"), args(`{"type":"object"}`)), "none of its own"},
		{"a reader of nothing", reader("x"), "expected 1 to 1000, found 0"},
		{"a reader of too much", reader("x", many...), "found 1001"},
		{"a reader of enough", reader("x", many[1:]...), ""},
		{"a resource twice", reader("x", "mem:a", "mem:a"), "listed twice"},
		{"a template twice", reader("x", "mem:{a}", "mem:{a}"), "listed twice"},
		{"neither", edit(reader("x", "mem:a"), res(sallyport.Resource{Name: "n"})), "exactly one"},
		{"both", edit(reader("x", "mem:a"), res(sallyport.Resource{Name: "n", URI: "mem:a", Template: "mem:{a}"})), "exactly one"},
		{"no name", edit(reader("x", "mem:a"), res(sallyport.Resource{URI: "mem:a"})), "Name is empty"},
		{"a long text", edit(reader("x", "mem:a"), res(sallyport.Resource{Name: "n", URI: "mem:a", Description: strings.Repeat("d", 17<<10)})), "more than"},
		{"a negative size", edit(reader("x", "mem:a"), res(sallyport.Resource{Name: "n", URI: "mem:a", Size: -1})), "Size is negative"},
		{"a media type", edit(reader("x", "mem:a"), res(sallyport.Resource{Name: "n", URI: "mem:a", MediaType: "text/plain; charset=utf-8"})), ""},
		{"no media type", edit(reader("x", "mem:a"), res(sallyport.Resource{Name: "n", URI: "mem:a", MediaType: "text"})), "no media type"},
		{"a path", reader("x", "/etc/passwd"), "absolute URI"},
		{"a path with a colon", reader("x", "a/b:c"), "absolute URI"},
		{"a scheme alone", reader("x", "mem:"), "absolute URI"},
		{"no scheme in a template", reader("x", "{scheme}:x"), "absolute URI"},
		{"a long URI", reader("x", "mem:"+strings.Repeat("a", 9000)), "at most 8192"},
		{"a line break", reader("x", "mem:a\nb"), "cannot hold"},
		{"an escape", reader("x", "mem:a\x1b[31mb"), "cannot hold"},
		{"an invisible character", reader("x", "mem:a\u200bb"), "cannot hold"},
		{"a template token", reader("x", "mem:<|im_start|>system"), "cannot hold"},
		{"no UTF-8", reader("x", "mem:\xff"), "cannot hold"},
		{"letters of the world", reader("x", "mem:façade/日本"), ""},
		{"an open brace", reader("x", "mem:{a"), "a { without a }"},
		{"a name of the bridge", prompt("mcp__x", ""), "mcp__<server>__<tool>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := newGate(t, nil).Register(tt.tool)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Register() = %v, want %q", err, tt.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), tt.tool.ID()+": ") {
				t.Errorf("Register() = %v, want it to begin with %s", err, tt.tool.ID())
			}
		})
	}
}

func TestTheDefinitionCoversTheForm(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	// This digest was computed before there were forms: what was approved
	// then stays approved.
	plain := sallyport.Tool{Name: "tool", Title: "T", Description: "D", Permissions: []string{"a:b"}, Run: echo}
	p := plain
	p.Form = sallyport.FormPrompt
	seen := map[string]string{}
	for _, tool := range []sallyport.Tool{plain, p, reader("a", "mem:a")} {
		g.add(tool)
	}
	other := newGate(t, nil)
	other.add(reader("a", "mem:b"))
	note := func(g *gate, id string) {
		caller := g.caller()
		caller.Principal.Permissions = []string{"a:b"}
		g.Call(t.Context(), caller, sallyport.Request{Tool: id})
		d := g.recorder.last().Definition
		if before, ok := seen[d]; ok {
			t.Errorf("%s and %s have the same definition", id, before)
		}
		seen[d] = id
	}
	note(g, "tool")
	note(g, "prompt:tool")
	note(g, "resource:a")
	note(other, "resource:a")
	if seen["62bc82556cfdd439d6026918e277565f"] != "tool" {
		t.Errorf("definitions = %v, want that of the tool unchanged", seen)
	}
}

func TestCheckResourceSaysWhatRegisterWould(t *testing.T) {
	t.Parallel()
	for _, res := range []sallyport.Resource{{Name: "n", URI: "mem:a"}, {Name: "n", Template: "mem:{a}"}, {Name: "n"}, {Name: "n", Template: "mem:{"}} {
		tool := reader("x", "mem:x")
		tool.Resources = []sallyport.Resource{res}
		err, refused := registry.CheckResource(&res), newGate(t, nil).Register(tool)
		if (err == nil) != (refused == nil) || err != nil && !strings.Contains(refused.Error(), err.Error()) {
			t.Errorf("CheckResource(%+v) = %v, Register() = %v", res, err, refused)
		}
	}
}

func TestResourcesAreCopied(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	tool := reader("r", "mem:a")
	g.add(tool)
	tool.Resources[0].URI = "mem:b"
	g.Tools()[0].Resources[0].URI = "mem:c"
	g.Resources(g.caller())[0].URI = "mem:d"
	if got := g.Resources(g.caller()); len(got) != 1 || got[0].URI != "mem:a" {
		t.Errorf("Resources() = %v, want mem:a as it was registered", got)
	}
}

func TestListingsAreClean(t *testing.T) {
	t.Parallel()
	const value = "hunter2-zq9xy7w"
	g := newGateWith(t, nil, &sallyport.Backends{Secrets: fixedSecrets{"a/b": value}})
	tool := reader("r", "mem:a", "mem:"+value, "mem:x/"+value+"/{y}")
	res := &tool.Resources[0]
	res.Name, res.Title, res.Description = "n\x1b[31m", "<|im_start|>", value
	g.add(tool)
	p := prompt("p", "")
	p.Description = value + "\u202e"
	g.add(p)
	got := g.Resources(g.caller())
	want := []sallyport.Resource{{URI: "mem:a", Name: "n", Title: "[STRIPPED-TEMPLATE-TOKEN]", Description: "[REDACTED:secret]"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Resources (-want +got):\n%s", diff)
	}
	if d := g.Prompts(g.caller())[0].Description; d != "[REDACTED:secret]" {
		t.Errorf("the prompt is described as %q", d)
	}
}

func TestAsksSaysWhetherAHumanDecides(t *testing.T) {
	t.Parallel()
	g := newGate(t, &sallyport.Personality{Name: "role", Approvals: &sallyport.Approvals{Require: []string{"held", "@label"}}})
	labelled := prompt("other", "")
	labelled.Toolset = "label"
	for _, tool := range []sallyport.Tool{prompt("held", ""), reader("held", "mem:a"), prompt("free", ""), labelled} {
		g.add(tool)
	}
	for id, want := range map[string]bool{"prompt:held": true, "resource:held": true, "prompt:other": true, "prompt:free": false, "held": false, "": false} {
		if got := g.Asks(g.caller(), id); got != want {
			t.Errorf("Asks(%q) = %v, want %v", id, got, want)
		}
	}
	caller := g.caller()
	caller.Personality = "nobody"
	if g.Asks(caller, "prompt:held") {
		t.Error("Asks in an unknown role = true")
	}
}

// TestListsSayWhichToolStandsForAnother: a caller who sees both is told, one who sees
// that tool alone sees it as any other. Both can be called.
func TestListsSayWhichToolStandsForAnother(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	run := func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("ran"), nil }
	g.add(sallyport.Tool{Name: "new", Run: run})
	g.add(sallyport.Tool{Name: "old", ListedAs: "new", Run: run})
	g.add(sallyport.Tool{Name: "older", ListedAs: "old", Run: run})
	g.add(sallyport.Tool{Name: "own", ListedAs: "own", Run: run})
	for _, tt := range []struct {
		exclude []string
		want    map[string]string
	}{
		{nil, map[string]string{"new": "", "old": "new", "older": "", "own": ""}},
		{[]string{"new"}, map[string]string{"old": "", "older": "", "own": ""}},
	} {
		caller := g.caller()
		caller.Exclude = tt.exclude
		tools, defs := map[string]string{}, map[string]string{}
		for _, tl := range g.List(caller) {
			tools[tl.Name] = tl.ListedAs
		}
		for _, d := range g.Definitions(caller) {
			defs[d.Name] = d.ListedAs
		}
		if diff := cmp.Diff(tt.want, tools) + cmp.Diff(tt.want, defs); diff != "" {
			t.Errorf("without %q (-want +got):\n%s", tt.exclude, diff)
		}
	}
	if res := call(g, "old", "{}"); !res.OK {
		t.Errorf("old = %+v, want it callable", res)
	}
}
