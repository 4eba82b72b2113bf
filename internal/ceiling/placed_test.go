package ceiling_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/effect"
)

// asks knows of kinds by paths, and of one member.
type asks struct {
	kinds map[string]sallyport.ValueKind
}

func (a asks) KindOf(path string) sallyport.ValueKind { return a.kinds[path] }

func (a asks) IsKnown(_ []string, kind sallyport.ValueKind, value string) (bool, error) {
	return kind == effect.Mail && value == "a", nil
}

// TestPlacedArgumentsAreJudgedLikeNamedOnes, whether the tool declares them or not.
func TestPlacedArgumentsAreJudgedLikeNamedOnes(t *testing.T) {
	t.Parallel()
	names := []string{"amount", "list", "party", "to"}
	rules := asks{map[string]sallyport.ValueKind{"to": effect.Mail, "party.mail": effect.Mail, "list": effect.Mail, "other": effect.Mail}}
	amounts := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 11))
		fragment := map[string]any{}
		for _, name := range append([]string{"other", "To"}, names...) {
			words := randomFragment(r)
			if r.IntN(3) == 0 {
				words["known"] = "set"
			}
			if r.IntN(2) == 0 {
				words["sum"] = map[string]any{"max": 5, "per": "1d", "by": [...]string{"to", "other", "list"}[r.IntN(3)]}
			}
			if r.IntN(3) == 0 {
				words["else"] = "hold"
			}
			if r.IntN(2) == 0 {
				fragment[name] = words
			}
		}
		fragment["party"] = map[string]any{"properties": map[string]any{"mail": map[string]any{"known": "set"}}}
		c, err := ceiling.Compile("arguments.t", encode(t, fragment), nil, nil)
		if err != nil {
			continue // it contradicts itself
		}
		c.PlaceIn(names)
		for range 10 {
			args := map[string]any{}
			for _, name := range append([]string{"other", "To", "TO", "AMOUNT"}, names...) {
				if r.IntN(2) == 0 {
					args[name] = randomValue(r)
				}
			}
			if r.IntN(2) == 0 {
				args["amount"] = json.Number([...]string{"0", "7", "12345678901234567890", "1.5", "-1", "x"}[r.IntN(6)])
			}
			args["party"] = map[string]any{"mail": randomValue(r)}
			placed := ceiling.Arguments{Named: args, Values: make([]any, len(names)), Kinds: make([]sallyport.ValueKind, len(names))}
			for i, name := range names {
				placed.Kinds[i] = rules.kinds[name]
				if item, ok := args[name]; ok {
					placed.Values[i] = item
					placed.Given |= 1 << i
				}
			}
			var room ceiling.Room
			got, err := c.Judge(&placed, rules, &room)
			want, bad := c.Judge(&ceiling.Arguments{Named: args}, rules, nil)
			amounts += len(want.Amounts)
			if err != nil || bad != nil || !isSame(&got, &want) {
				t.Fatalf("seed %d: %s judges %v\nplaced %+v, %v\nnamed %+v, %v", seed, encode(t, fragment), slices.Sorted(maps.Keys(args)), got, err, want, bad)
			}
		}
	}
	if amounts < 1000 {
		t.Errorf("there were %d amounts, want 1000 or more: the test says little", amounts)
	}
}

func isSame(a, b *ceiling.Judgement) bool {
	same := func(a, b ceiling.Amount) bool {
		equal := a.Value.Cmp(b.Value) == 0
		a.Value, b.Value = nil, nil
		return equal && a == b
	}
	return reflect.DeepEqual(a.Outside, b.Outside) && slices.EqualFunc(a.Amounts, b.Amounts, same)
}
