package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/registry"
)

const paySchema = `{"type":"object","properties":{"amount":{"type":"number","maximum":900},"memo":{"type":"string"},"to":{"type":"string"}},"required":["to"]}`

// newBank returns a gate with the tools pay and read under a role with ceilings.
func newBank(t *testing.T, ceilings map[string]string, edits ...func(*registry.Options)) *gate {
	t.Helper()
	p := &sallyport.Personality{
		Name: "role", Approvals: &sallyport.Approvals{}, Arguments: map[string]json.RawMessage{},
		Sources: map[string]string{"": "sallyport.yaml:1:1", "arguments.pay": "sallyport.yaml:7:3", "arguments.pay.amount": "sallyport.yaml:8:3"},
	}
	for key, text := range ceilings {
		p.Arguments[key] = json.RawMessage(text)
	}
	sets, err := known.New(map[string]known.Source{
		"payees": {Kind: effect.Account, List: []string{"DE02 1203 0000 0000 2020 51"}}, "people": {Kind: effect.Mail, List: []string{"ann@example.com"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &registry.Options{Recorder: &recorder{}, Workspace: t.TempDir(), Known: sets}
	for _, edit := range edits {
		edit(o)
	}
	g := &gate{t: t, recorder: o.Recorder.(*recorder), role: p.Name}
	if g.Registry, err = registry.New(&sallyport.Backends{Personalities: one{p}}, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	g.add(sallyport.Tool{Name: "pay", Run: echo, Schema: json.RawMessage(paySchema), Destinations: map[string]sallyport.ValueKind{"to": effect.Account}})
	g.add(sallyport.Tool{Name: "read", Run: echo, Schema: json.RawMessage(`{"type":"object","properties":{"day":{"type":"string"}}}`)})
	return g
}

func listedSchemas(g *gate) map[string]string {
	got := map[string]string{}
	defs := g.Definitions(g.caller())
	for i, tool := range g.List(g.caller()) {
		if defs[i].Name != tool.Name || string(defs[i].Schema) != string(tool.Schema) {
			g.t.Errorf("Definitions has %s %s, List has %s %s", defs[i].Name, defs[i].Schema, tool.Name, tool.Schema)
		}
		got[tool.Name] = string(tool.Schema)
	}
	return got
}

func TestListsShowTheNarrowedSchema(t *testing.T) {
	t.Parallel()
	const day = `{"type":"object","properties":{"day":{"type":"string"}}}`
	for _, c := range []struct {
		name     string
		ceilings map[string]string
		want     map[string]string
	}{
		{"nothing", nil, map[string]string{"pay": paySchema, "read": day}},
		{"an empty entry", map[string]string{"pay": `{}`}, map[string]string{"pay": paySchema, "read": day}},
		{"a smaller bound", map[string]string{"pay": `{"amount":{"maximum":500}}`}, map[string]string{
			"pay": `{"properties":{"amount":{"maximum":500,"type":"number"},"memo":{"type":"string"},"to":{"type":"string"}},"required":["to"],"type":"object"}`, "read": day,
		}},
		{"a wider bound", map[string]string{"pay": `{"amount":{"maximum":5000}}`}, map[string]string{
			"pay": `{"properties":{"amount":{"maximum":900,"type":"number"},"memo":{"type":"string"},"to":{"type":"string"}},"required":["to"],"type":"object"}`, "read": day,
		}},
		{"what only holds", map[string]string{"pay": `{"amount":{"maximum":500,"else":"hold"}}`}, map[string]string{"pay": paySchema, "read": day}},
		{"a set", map[string]string{"pay": `{"to":{"known":"payees"}}`}, map[string]string{"pay": paySchema, "read": day}},
		{"no value of an argument", map[string]string{"pay": `{"memo":false}`}, map[string]string{
			"pay": `{"properties":{"amount":{"maximum":900,"type":"number"},"to":{"type":"string"}},"required":["to"],"type":"object"}`, "read": day,
		}},
		{"no call", map[string]string{"pay": `false`}, map[string]string{"read": day}},
		{"no call of any", map[string]string{"*": `false`}, map[string]string{}},
		{"a ceiling that cannot be read", map[string]string{"pay": `{"amuont":{"maximum":5}}`}, map[string]string{"read": day}},
		{"one that contradicts the tool", map[string]string{"pay": `{"to":false}`}, map[string]string{"read": day}},
		{"an argument that one of several tools lacks", map[string]string{"*": `{"day":{"maxLength":10}}`}, map[string]string{
			"pay": paySchema, "read": `{"properties":{"day":{"maxLength":10,"type":"string"}},"type":"object"}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newBank(t, c.ceilings)
			if diff := cmp.Diff(c.want, listedSchemas(g)); diff != "" {
				t.Errorf("the lists show (-want +got):\n%s", diff)
			}
			for _, tool := range []string{"pay", "read"} {
				x, err := g.Explain(g.caller(), tool)
				last := x.Decisions[len(x.Decisions)-1]
				if _, listed := c.want[tool]; err != nil || last.Allowed != listed || !listed && last.Why == "" {
					t.Errorf("Explain(%s) = %+v, %v, want allowed %v, a refusal with its reason", tool, last, err, listed)
				}
			}
		})
	}
}

// TestAToolThatIsClosedIsNotCalled, and the operator reads which line closes it.
func TestAToolThatIsClosedIsNotCalled(t *testing.T) {
	t.Parallel()
	g := newBank(t, map[string]string{"pay": `false`})
	res := call(g, "pay", `{"to":"x"}`)
	if res.Code != sallyport.CodeNotAvailable || res.Error != "Tool pay is not permitted for this personality" {
		t.Errorf("Call() = %s %q, want not_available and the text of a tool that is not permitted", res.Code, res.Error)
	}
	x, err := g.Explain(g.caller(), "pay")
	want := sallyport.Decision{
		Step: sallyport.StepVisible, Why: "the role permits no call of it", Source: "sallyport.yaml:7:3", Fix: "take pay off personalities.role.arguments",
	}
	if diff := cmp.Diff(want, x.Decisions[len(x.Decisions)-1]); err != nil || diff != "" {
		t.Errorf("Explain() %v (-want +got):\n%s", err, diff)
	}
}

// TestListsNarrowOnce: a list costs what it shows, with ceilings too.
func TestListsNarrowOnce(t *testing.T) {
	t.Parallel()
	g := newBank(t, map[string]string{"pay": `{"amount":{"maximum":500}}`})
	first, walks := g.Definitions(g.caller()), registry.Walks(g.Registry)
	again := g.Definitions(g.caller())
	if &first[0].Schema[0] != &again[0].Schema[0] || registry.Walks(g.Registry) != walks {
		t.Error("a list was computed again")
	}
}
