package ceiling_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/schema"
)

// randomFragment returns words of JSON Schema about one value.
func randomFragment(r *rand.Rand) map[string]any {
	words := map[string]any{}
	for _, choose := range []func(){
		func() { words["minimum"] = r.IntN(20) - 10 },
		func() { words["maximum"] = r.IntN(20) - 5 },
		func() { words["exclusiveMaximum"] = r.IntN(20) },
		func() { words["multipleOf"] = 1 + r.IntN(4) },
		func() { words["minLength"] = r.IntN(3) },
		func() { words["maxLength"] = r.IntN(5) },
		func() { words["enum"] = []any{"a", "bb", 1, 2.5, r.IntN(10), nil} },
		func() { words["type"] = [...]any{"string", "number", "integer", []any{"string", "number"}}[r.IntN(4)] },
		func() { words["pattern"] = [...]string{"^a", "b+$", "^[a-z]{1,3}$"}[r.IntN(3)] },
		func() { words["maxItems"] = r.IntN(3) },
		func() { words["not"] = map[string]any{"const": r.IntN(10)} },
	} {
		if r.IntN(4) == 0 {
			choose()
		}
	}
	return words
}

func randomValue(r *rand.Rand) any {
	switch r.IntN(6) {
	case 0:
		return [...]any{"", "a", "bb", "abc", "zzzzzz"}[r.IntN(5)]
	case 1:
		return json.Number(fmt.Sprint(float64(r.IntN(80)-40) / 4))
	case 2:
		return []any{"a", json.Number("1"), nil}[:r.IntN(4)]
	case 3:
		return nil
	case 4:
		return r.IntN(2) == 0
	default:
		return json.Number(fmt.Sprint(r.IntN(20) - 10))
	}
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// isWithin reports whether ceilings say nothing against arguments.
func isWithin(t *testing.T, args map[string]any, ceilings ...*ceiling.Ceiling) bool {
	t.Helper()
	for _, c := range ceilings {
		j, err := c.Check(args, &ceiling.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Outside) > 0 {
			return false
		}
	}
	return true
}

// TestTheNarrowedSchemaIsTheConjunction: a value satisfies the schema that lists show
// when it satisfies that of the tool and each ceiling, and never otherwise; a further
// ceiling never lets more through.
func TestTheNarrowedSchemaIsTheConjunction(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 9))
		tool := encode(t, map[string]any{"type": "object", "properties": map[string]any{"x": randomFragment(r)}})
		declared, err := schema.Compile(tool)
		if err != nil {
			t.Fatal(err)
		}
		var ceilings []*ceiling.Ceiling
		for range 1 + r.IntN(2) {
			c, err := ceiling.Compile("arguments.t", encode(t, map[string]any{"x": randomFragment(r)}), tool, nil)
			if err != nil && !strings.Contains(err.Error(), "nothing is at least") && !strings.Contains(err.Error(), "no number is within") {
				t.Fatal(err)
			}
			if err == nil { // else the fragment contradicts itself
				ceilings = append(ceilings, c)
			}
		}
		if len(ceilings) == 0 {
			continue
		}
		narrowed, contradiction := ceiling.Narrow(tool, ceilings)
		var shown *schema.Schema
		if contradiction == nil {
			if shown, err = schema.Compile(narrowed); err != nil {
				t.Fatalf("seed %d: the narrowed schema %s: %v", seed, narrowed, err)
			}
		}
		for range 60 {
			value := randomValue(r)
			args := map[string]any{"x": value}
			both := len(declared.Validate(args)) == 0 && isWithin(t, args, ceilings...)
			switch {
			case isWithin(t, args, ceilings...) && !isWithin(t, args, ceilings[0]):
				t.Fatalf("seed %d: a further ceiling lets %v through", seed, value)
			case shown != nil && (len(shown.Validate(args)) == 0) != both:
				t.Fatalf("seed %d: %v: within both sides is %v, the narrowed schema %s says otherwise (tool %s)", seed, value, both, narrowed, tool)
			}
		}
	}
}

// TestNarrowingTwiceIsNarrowingOnce, whatever the order of the ceilings.
func TestNarrowingTwiceIsNarrowingOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 10))
		tool := encode(t, map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"minimum": -5, "maximum": 15}}})
		compile := func() *ceiling.Ceiling {
			c, err := ceiling.Compile("arguments.t", encode(t, map[string]any{"x": map[string]any{"maximum": r.IntN(20), "minimum": -r.IntN(20)}}), tool, nil)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		a, b := compile(), compile()
		once, err := ceiling.Narrow(tool, []*ceiling.Ceiling{a, b})
		other, bad := ceiling.Narrow(tool, []*ceiling.Ceiling{b, a, b, a})
		if err != nil || bad != nil || string(once) != string(other) {
			t.Fatalf("seed %d: %s, %v, and in another order %s, %v", seed, once, err, other, bad)
		}
	}
}
