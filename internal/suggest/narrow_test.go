package suggest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/schema"
)

// readRole reads the text of a role.
func readRole(t testing.TB, text string) *yamldoc.Value {
	t.Helper()
	source := yamldoc.Source{Name: "role.yaml"}
	if faults := source.Parse([]byte(text), yamldoc.Bounds{Bytes: 1 << 20, YAMLBytes: 1 << 20, YAMLKeys: 1000}); len(faults) > 0 {
		t.Fatal(faults)
	}
	return source.Root
}

// drawNode draws what a ceiling says of one argument.
func drawNode(t *rapid.T) *yamldoc.Value {
	n := newMapping()
	number := func() *yamldoc.Value { return newNumber(strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "bound"))) }
	for _, word := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"minimum", "maximum", "enum", "else", "allOf"}), 0, 5, rapid.ID).Draw(t, "words") {
		switch word {
		case "enum":
			setValue(n, &yamldoc.Value{Kind: yamldoc.KindList, Items: []*yamldoc.Value{number(), newText("x"), number()}}, word)
		case "else":
			setValue(n, newText(rapid.SampledFrom([]string{"hold", "refuse"}).Draw(t, "else")), word)
		case "allOf":
			setValue(n, &yamldoc.Value{Kind: yamldoc.KindList, Items: []*yamldoc.Value{newMapping("minimum", number())}}, word)
		default:
			setValue(n, number(), word)
		}
	}
	return n
}

// TestANarrowedCeilingIsNeverWider: what it allows today's allows, and what it holds today's
// allows or holds.
func TestANarrowedCeilingIsNeverWider(t *testing.T) {
	judge := func(t *rapid.T, n *yamldoc.Value, args map[string]any) ceiling.Action {
		c, err := ceiling.Compile("arguments", JSONOf(n), nil, nil)
		switch {
		case err != nil && strings.Contains(err.Error(), "nothing is"):
			t.Skip("no value satisfies it, which stops the start")
		case err != nil:
			t.Fatalf("%s: %v", JSONOf(n), err)
		}
		j, err := c.Check(args, &ceiling.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Outside) == 0 {
			return ceiling.Allow
		}
		return j.Outside[0].Action // those that refuse come first
	}
	rank := []ceiling.Action{ceiling.Allow, ceiling.Hold, ceiling.Refuse}
	rapid.Check(t, func(t *rapid.T) {
		today, learnt := newMapping("a", drawNode(t)), newMapping("a", drawNode(t), "b", drawNode(t))
		for i := range learnt.Fields { // what was learnt has no else
			n := learnt.Fields[i].Value
			n.Fields = slices.DeleteFunc(n.Fields, func(f yamldoc.Field) bool { return f.Name == "else" })
		}
		narrowed := narrowNodes(today, learnt)
		for _, text := range []string{"0", "3", "5", "9", `"x"`, `"y"`, "null"} {
			v, err := schema.Decode(json.RawMessage(`{"a":`+text+`,"b":`+text+`}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			args := v.(map[string]any)
			is, was, alone := judge(t, narrowed, args), judge(t, today, args), judge(t, learnt, args)
			// A bound that would leave nothing beside that of today is not added.
			bounded := findValue(today, "a", "minimum") != nil || findValue(today, "a", "maximum") != nil
			if slices.Index(rank, is) < slices.Index(rank, was) || is == ceiling.Allow && alone != ceiling.Allow && !bounded {
				t.Fatalf("%s: %s with %s is %s, and was %s: %s", text, JSONOf(today), JSONOf(learnt), is, was, JSONOf(narrowed))
			}
		}
	})
}

func TestLoosenCeiling(t *testing.T) {
	role := readRole(t, `arguments:
  send: {n: {maximum: 5, sum: {max: 9, per: 1d}, else: hold}, to: {known: contacts, else: hold}, m: {maximum: 1}}
`)
	for _, tt := range []struct{ name, args, want string }{
		{"one value", `{"n":7}`, `{"m":{"maximum":1},"n":{"anyOf":[{"maximum":5,"type":"number"},{"const":7}],"else":"hold","sum":{"max":9,"per":"1d"}},"to":{"else":"hold","known":"contacts"}}`},
		{"a set", `{"to":"x"}`, ""},
		{"what is refused", `{"n":7,"m":2}`, ""},
		{"what was held for something else", `{"n":1}`, ""},
		{"arguments that are cut", `{"n":7`, ""},
	} {
		got, ok := LoosenCeiling(role, "send", json.RawMessage(tt.args))
		if ok != (tt.want != "") || ok && string(JSONOf(got)) != tt.want {
			t.Errorf("%s: LoosenCeiling() = %v, %v, want %s", tt.name, got, ok, tt.want)
		}
	}
	if _, ok := LoosenCeiling(role, "other", json.RawMessage(`{}`)); ok {
		t.Error("LoosenCeiling() of a tool without a ceiling is ok")
	}
}

func TestGrowSet(t *testing.T) {
	file := readRole(t, "known:\n  contacts: {kind: mail, list: [ann@example.com]}\n")
	if got := string(JSONOf(GrowSet(file, "contacts", []string{"bob@example.com"}))); got != `{"known":{"contacts":{"kind":"mail","list":["ann@example.com","bob@example.com"]}}}` {
		t.Errorf("GrowSet() = %s", got)
	}
}
