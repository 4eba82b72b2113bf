package registry_test

import (
	"context"
	"encoding/json"
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
	g := newGate(t, nil)
	for _, tool := range []sallyport.Tool{
		reader("a", "mem:one", "mem:twice", "mem:f/{x}"), reader("b", "mem:twice", "mem:f/own", "mem:{+all}/end"), reader("c", "mem:{+all}/end"),
	} {
		g.add(tool)
	}
	var got []string
	for _, res := range g.Resources(g.caller()) {
		got = append(got, res.URI+res.Template)
	}
	if diff := cmp.Diff([]string{"mem:f/own", "mem:f/{x}", "mem:one"}, got); diff != "" {
		t.Errorf("Resources (-want +got):\n%s", diff)
	}
	for uri, want := range map[string]string{
		"mem:one": "resource:a", "mem:f/other": "resource:a", "mem:f/own": "resource:b",
		"mem:twice": "", "mem:x/end": "", "mem:none": "", "": "", "mem:f/" + strings.Repeat("x", 9000): "",
	} {
		if id, ok := g.Reader(g.caller(), uri); id != want || ok != (want != "") {
			t.Errorf("Reader(%.20q) = %q, %v, want %q", uri, id, ok, want)
		}
	}
}

var _ = registry.MaxResources
