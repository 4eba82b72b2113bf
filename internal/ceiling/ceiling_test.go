package ceiling_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/schema"
)

const tool = `{"type":"object","properties":{
	"to":{"type":"string"},"amount":{"type":"number","minimum":1},"kind":{"enum":["a","b"]},"tags":{"type":"array","items":{"type":"string"}},
	"party":{"type":"object","properties":{"mail":{"type":"string"},"name":{"type":"string"}}},"rows":{"type":"array","items":{"type":"array","items":{"type":"string"}}}},"required":["to"]}`

func compile(t *testing.T, fragment string) *ceiling.Ceiling {
	t.Helper()
	c, err := ceiling.Compile("arguments.send", json.RawMessage(fragment), json.RawMessage(tool), nil)
	if err != nil {
		t.Fatalf("Compile(%s): %v", fragment, err)
	}
	return c
}

// TestBrokenCeilings are refused, each fault with its place.
func TestBrokenCeilings(t *testing.T) {
	t.Parallel()
	sets := func(name string) bool { return name == "contacts" }
	deep := strings.Repeat(`{"items":`, 20) + `{}` + strings.Repeat(`}`, 20)
	for _, c := range []struct{ fragment, key, message string }{
		{``, "arguments.send", "not valid JSON"},
		{`{`, "arguments.send", ""},
		{`null`, "arguments.send", "expected an object, true or false"},
		{`[]`, "arguments.send", "expected an object, true or false"},
		{`5`, "arguments.send", "expected an object, true or false"},
		{`{"to":{},"to":{}}`, "arguments.send", ""},
		{`{"stranger":{}}`, "arguments.send.stranger", `"stranger" is no argument of the tool: expected amount, `},
		{`{"ammount":{}}`, "arguments.send.ammount", `(did you mean "amount"?)`},
		{`{"party":{"properties":{"phone":{}}}}`, "arguments.send.party.properties.phone", `"phone" is no argument`},
		{`{"to":{"knwon":"contacts"}}`, "arguments.send.to.knwon", `(did you mean "known"?)`},
		{`{"to":{"known":"friends"}}`, "arguments.send.to.known", `"friends" is no set`},
		{`{"to":{"known":[]}}`, "arguments.send.to.known", "expected the name of a set"},
		{`{"to":{"known":["contacts",5]}}`, "arguments.send.to.known", "expected the name of a set"},
		{`{"to":{"else":"allow"}}`, "arguments.send.to.else", "expected one of [hold refuse]"},
		{`{"to":{"from_untrusted":"ask"}}`, "arguments.send.to.from_untrusted", "expected one of [allow hold refuse]"},
		{`{"to":{"anyOf":[{"known":"contacts"},{"maxLength":5}]}}`, "arguments.send.to.anyOf", "may not stand within anyOf"},
		{`{"to":{"pattern":"("}}`, "arguments.send.to", "pattern"},
		{`{"to":{"pattern":"(a{1000}){1000}"}}`, "arguments.send.to", "pattern"},
		{`{"to":{"maxLength":-1}}`, "arguments.send.to", ""},
		{`{"amount":{"sum":{"max":1e41,"per":"1d"}}}`, "arguments.send.amount.sum.max", "at most 40 digits"},
		{`{"amount":{"sum":{"max":5,"per":"0d"}}}`, "arguments.send.amount.sum.per", "expected a window"},
		{`{"amount":{"sum":{"max":5,"per":"9999999d"}}}`, "arguments.send.amount.sum.per", "expected a window"},
		{`{"amount":{"sum":{"max":5}}}`, "arguments.send.amount.sum", "expected max and per"},
		{`{"amount":{"sum":{"max":5,"per":"1d","of":"to"}}}`, "arguments.send.amount.sum.of", "no word of sum"},
		{`{"amount":{"sum":{"max":-1,"per":"1d"}}}`, "arguments.send.amount.sum.max", "not negative"},
		{`{"amount":{"sum":{"max":5,"per":"1d","by":"too"}}}`, "arguments.send.amount.sum.by", `(did you mean "to"?)`},
		{`{"to":{"sum":{"max":5,"per":"1d"}}}`, "arguments.send.to.sum", "a sum is about numbers"},
		{`{"to":{"enum":[]}}`, "arguments.send.to.enum", "an empty list"},
		{`{"to":{"enum":[5,true]}}`, "arguments.send.to.enum", "takes string"},
		{`{"to":{"const":5}}`, "arguments.send.to.const", "takes string"},
		{`{"to":{"minLength":5,"maxLength":4}}`, "arguments.send.to", "nothing is at least"},
		{`{"amount":{"minimum":1.5,"maximum":1.6,"multipleOf":1}}`, "arguments.send.amount", "no number is within"},
		{`{"amount":{"exclusiveMinimum":1,"maximum":1}}`, "arguments.send.amount", "no number is within"},
		{`{"rows":` + deep + `}`, "", "nested too deep"},
		{`{"to":{"description":"` + strings.Repeat("a", 64<<10) + `"}}`, "arguments.send", ""},
		{`{"type":"object","properties":[]}`, "arguments.send.properties", "expected a mapping"},
	} {
		_, err := ceiling.Compile("arguments.send", json.RawMessage(c.fragment), json.RawMessage(tool), sets)
		faults, ok := errors.AsType[ceiling.Faults](err)
		if !ok || len(faults) == 0 || c.key != "" && faults[0].Key != c.key || !strings.Contains(err.Error(), c.message) {
			t.Errorf("Compile(%.80s) = %v, want a fault at %s with %q", c.fragment, err, c.key, c.message)
		}
	}
}

// TestBoundsThatLeaveSomething are no contradictions.
func TestBoundsThatLeaveSomething(t *testing.T) {
	t.Parallel()
	for _, fragment := range []string{
		`{"amount":{"minimum":1.5,"maximum":2,"multipleOf":0.5}}`, `{"amount":{"minimum":-3,"maximum":-2,"multipleOf":2}}`,
		`{"amount":{"minimum":5,"maximum":5}}`, `{"amount":{"exclusiveMinimum":1,"maximum":1.1}}`, `{"amount":{"const":5}}`,
		`{"to":{"enum":["a",5]}}`, `{"amount":{"sum":{"max":0,"per":"1d","by":"to"}}}`,
	} {
		compile(t, fragment)
	}
}

// A bad window is one fault.
func TestAFaultOfASumIsSaidOnce(t *testing.T) {
	t.Parallel()
	_, err := ceiling.Compile("arguments.send", json.RawMessage(`{"amount":{"sum":{"max":5,"per":"soon"}}}`), json.RawMessage(tool), nil)
	if faults, _ := errors.AsType[ceiling.Faults](err); len(faults) != 1 {
		t.Errorf("Compile = %v, want one fault", err)
	}
}

// TestContradictions: what nothing satisfies is found before a call.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fragment, key string }{
		{`{"amount":{"maximum":0}}`, "arguments.send.amount"},
		{`{"amount":{"type":"string"}}`, "arguments.send.amount"},
		{`{"kind":{"enum":["c"]}}`, "arguments.send.kind"},
		{`{"to":false}`, "arguments.send.to"},
		{`{"tags":{"items":{"type":"number"}}}`, "arguments.send.tags.items"},
	} {
		_, err := ceiling.Narrow(json.RawMessage(tool), []*ceiling.Ceiling{compile(t, c.fragment)})
		if faults, ok := errors.AsType[ceiling.Faults](err); !ok || faults[0].Key != c.key {
			t.Errorf("Narrow(%s) = %v, want a fault at %s", c.fragment, err, c.key)
		}
	}
}

// outsideOf returns the pointers that a ceiling finds outside.
func outsideOf(t *testing.T, c *ceiling.Ceiling, args string, rules *ceiling.Rules) (pointers []string) {
	t.Helper()
	doc, err := schema.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	j, err := c.Check(doc.Value, rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range j.Outside {
		pointers = append(pointers, o.Pointer+" "+string(o.Action))
	}
	return pointers
}

// TestCheckFindsWhatIsOutside, within lists and objects too.
func TestCheckFindsWhatIsOutside(t *testing.T) {
	t.Parallel()
	rules := &ceiling.Rules{
		KindOf: func(path string) sallyport.ValueKind {
			return map[string]sallyport.ValueKind{"party.mail": effect.Mail}[path]
		},
		IsKnown: func(sets []string, kind sallyport.ValueKind, value string) (bool, error) {
			return value == fmt.Sprint("in ", strings.Join(sets, "+"), string(kind)), nil
		},
	}
	for _, c := range []struct {
		fragment, args string
		want           []string
	}{
		{`{"tags":{"known":"s"}}`, `{"tags":["in s","x","in s",""]}`, []string{"/tags/1 refuse"}},
		{`{"tags":{"items":{"known":"s","else":"hold"}}}`, `{"tags":["x","in s"]}`, []string{"/tags/0 hold"}},
		{`{"rows":{"known":["s","t"]}}`, `{"rows":[["in s+t"],["in s"]]}`, []string{"/rows/1/0 refuse"}},
		{`{"party":{"properties":{"mail":{"known":"s"}}}}`, `{"party":{"mail":"in smail","name":"x"}}`, nil},
		{`{"party":{"properties":{"mail":{"known":"s"}}}}`, `{"party":{"mail":"in s"}}`, []string{"/party/mail refuse"}},
		{`{"to":{"known":"s"}}`, `{"to":null}`, nil},
		{`{"to":{"known":"s"}}`, `{"to":{"a":"in s"}}`, []string{"/to refuse"}},
		{`{"to":{"known":"s"}}`, `{"to":true}`, []string{"/to refuse"}},
		{`{"to":{"known":"s"}}`, `{}`, nil},
		{`{"to":{"maxLength":3,"else":"hold"},"amount":{"maximum":5}}`, `{"to":"long","amount":6}`, []string{"/amount refuse", "/to hold"}},
		{`{"amount":{"maximum":0.3}}`, `{"amount":0.30000000000000004}`, []string{"/amount refuse"}},
		{`{"amount":{"maximum":9223372036854775807}}`, `{"amount":9223372036854775808}`, []string{"/amount refuse"}},
		{`{"to":{"pattern":"^(a+)+$"}}`, `{"to":"` + strings.Repeat("a", 5000) + `b"}`, []string{"/to refuse"}},
		{`{"to":{"maxLength":1048575}}`, `{"to":"` + strings.Repeat("a", 1<<20) + `"}`, []string{"/to refuse"}},
		{`{"to":{"enum":["é"]}}`, `{"to":"e\u0301"}`, []string{"/to refuse"}},
	} {
		if diff := cmp.Diff(c.want, outsideOf(t, compile(t, c.fragment), c.args, rules)); diff != "" {
			t.Errorf("%s over %.80s (-want +got):\n%s", c.fragment, c.args, diff)
		}
	}
}

// TestASetThatCannotBeAskedStopsTheCheck.
func TestASetThatCannotBeAskedStopsTheCheck(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	rules := &ceiling.Rules{IsKnown: func([]string, sallyport.ValueKind, string) (bool, error) { return true, broken }}
	if _, err := compile(t, `{"to":{"known":"s"}}`).Check(map[string]any{"to": "x"}, rules); !errors.Is(err, broken) {
		t.Errorf("Check() = %v, want the error", err)
	}
	j, err := compile(t, `{"to":{"known":"s"}}`).Check(map[string]any{"to": "x"}, &ceiling.Rules{})
	if err != nil || len(j.Outside) != 1 {
		t.Errorf("Check() = %+v, %v without sets, want the value outside", j, err)
	}
}

// TestAmountsAreExact: 0.1 and 0.2 are 0.3, and what has no exact value is outside.
func TestAmountsAreExact(t *testing.T) {
	t.Parallel()
	c := compile(t, `{"amount":{"sum":{"max":0.3,"per":"1d","by":"to"}}}`)
	add := func(text string) *ceiling.Amount {
		j, err := c.Check(map[string]any{"to": "ann", "amount": json.Number(text)}, &ceiling.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Amounts) == 0 {
			if len(j.Outside) != 1 {
				t.Errorf("%s is neither an amount nor outside", text)
			}
			return nil
		}
		return &j.Amounts[0]
	}
	first, second := add("0.1"), add("0.2")
	bound, ok := ceiling.Exact(first.Sum.Max)
	if total := first.Value.Add(first.Value, second.Value); !ok || total.Cmp(bound) != 0 || second.By != `ann` || second.Key != "arguments.send.amount" {
		t.Errorf("0.1 and 0.2 make %s, want %s; by %s", total, bound, second.By)
	}
	for _, text := range []string{"-1", "1e400", "1e-400", strings.Repeat("9", 60), "0x10", "1/3", ""} {
		if a := add(text); a != nil {
			t.Errorf("%q counts as %s", text, a.Value)
		}
	}
	if a := add("9223372036854775808"); a == nil || a.Value.RatString() != "9223372036854775808" {
		t.Errorf("2^63 counts as %+v", a)
	}
}

// TestUntrusted: the nearest word counts, and where a path may mean several arguments,
// the strictest.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	open := func(fragment string) *ceiling.Ceiling {
		c, err := ceiling.Compile("arguments.send", json.RawMessage(fragment), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open(`{"type":"object","from_untrusted":"hold","properties":{
		"to":{"from_untrusted":"refuse"},"note":{"from_untrusted":"allow"},"a":{"properties":{"b":{"from_untrusted":"allow"}}},"a.b":{"from_untrusted":"refuse"},
		"list":{"items":{"from_untrusted":"refuse"}},"rows":{"items":{"properties":{"mail":{"from_untrusted":"allow"}}}}}}`)
	for path, want := range map[string]string{
		"to": "refuse arguments.send.properties.to", "to.x": "refuse arguments.send.properties.to", "note": "allow arguments.send.properties.note",
		"other": "hold arguments.send", "": "hold arguments.send", "tox": "hold arguments.send", "a": "hold arguments.send",
		"a.b": "refuse arguments.send.properties.a.b", "list": "refuse arguments.send.properties.list.items", "rows": "hold arguments.send",
		"rows.mail": "allow arguments.send.properties.rows.items.properties.mail",
	} {
		if action, key := c.Untrusted(path); string(action)+" "+key != want {
			t.Errorf("Untrusted(%q) = %s %s, want %s", path, action, key, want)
		}
	}
	if !c.RulesUntrusted() || open(`{"to":{"from_untrusted":"allow"}}`).RulesUntrusted() {
		t.Error("RulesUntrusted() does not tell rules that stop something from others")
	}
	if action, key := open(`{}`).Untrusted("to"); action != "" {
		t.Errorf("an empty ceiling says %s at %s", action, key)
	}
}

// TestRows says of each argument what is declared, said and granted.
func TestRows(t *testing.T) {
	t.Parallel()
	ceilings := []*ceiling.Ceiling{compile(t, `{"amount":{"maximum":5,"else":"hold"},"tags":{"items":{"known":"s"}},"party":{"properties":{"name":false}}}`), compile(t, `{"amount":{"maximum":9}}`)}
	narrowed, err := ceiling.Narrow(json.RawMessage(tool), ceilings)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range ceiling.Rows(json.RawMessage(tool), narrowed, ceilings) {
		got = append(got, fmt.Sprintf("%s: %s, said %s, granted %s, else %s at %s", r.Argument, r.Declared, r.Ceiling, r.Granted, r.Outside, r.Key))
	}
	want := []string{
		`/amount: {"minimum":1,"type":"number"}, said {"else":"hold","maximum":5}, granted {"maximum":9,"minimum":1,"type":"number"}, else hold at arguments.send.amount`,
		`/party/name: {"type":"string"}, said false, granted , else refuse at arguments.send.party.properties.name`,
		`/tags/*: {"type":"string"}, said {"known":["s"]}, granted {"type":"string"}, else refuse at arguments.send.tags.items`,
		`/amount: {"minimum":1,"type":"number"}, said {"maximum":9}, granted {"maximum":9,"minimum":1,"type":"number"}, else refuse at arguments.send.amount`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Rows() (-want +got):\n%s", diff)
	}
}
