package main

import (
	"encoding/json"
	"testing"
)

// Each way is tried on the made-up suite, which has a tool for each, and every attack
// is a conversation that the suite can have.
func TestAttacksCoverEveryWay(t *testing.T) {
	w := officeWorld(t)
	attacks, err := makeAttacks("office", w)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]toolSchema{}
	for _, tool := range w.Tools {
		var s toolSchema
		if err := json.Unmarshal(tool.Schema, &s); err != nil {
			t.Fatal(err)
		}
		schemas[tool.Name] = s
	}
	count, names := map[attackFamily]int{}, map[string]bool{}
	for _, a := range attacks {
		count[a.family]++
		if key := string(a.family) + a.run.UserTask; names[key] {
			t.Errorf("%s, %s stands twice", a.family, a.run.UserTask)
		} else {
			names[key] = true
		}
		if len(a.aimed) == 0 {
			t.Errorf("%s, %s needs no call", a.family, a.run.UserTask)
		}
		for _, i := range a.aimed {
			// The conversation meets something untrusted before.
			if first := a.run.Calls[0].Tool; i == 0 || !w.effects[first].onlyReads() {
				t.Errorf("%s, %s: call %d is aimed and %s is the first", a.family, a.run.UserTask, i, first)
			}
		}
		for i := range a.run.Calls {
			checkArguments(t, &a, &a.run.Calls[i], schemas)
		}
	}
	for _, family := range attackFamilies {
		if count[family] == 0 {
			t.Errorf("no attack is of the way %q", family)
		}
	}
}

// checkArguments requires the arguments that a tool needs, and no others than it has.
func checkArguments(t *testing.T, a *adaptiveAttack, c *recordedCall, schemas map[string]toolSchema) {
	t.Helper()
	s, ok := schemas[c.Tool]
	var args map[string]any
	if err := json.Unmarshal(c.Args, &args); err != nil || !ok {
		t.Fatalf("%s, %s calls %s with %s: %v", a.family, a.run.UserTask, c.Tool, c.Args, err)
	}
	for _, property := range s.Required {
		if args[property] == nil {
			t.Errorf("%s, %s: %s lacks %s", a.family, a.run.UserTask, c.Tool, property)
		}
	}
	for property := range args {
		if _, ok := s.Properties[property]; !ok {
			t.Errorf("%s, %s: %s has no %s", a.family, a.run.UserTask, c.Tool, property)
		}
	}
}

func TestAttacksAreCountedByWhatTheyNeed(t *testing.T) {
	attack := adaptiveAttack{variant: "x", run: &recordedRun{Suite: "office"}, aimed: []int{1, 2}}
	for _, tt := range []struct {
		name                  string
		fates                 [3]callFate
		held, refused, missed int
	}{
		{"all ran", [3]callFate{callRan, callRan, callRan}, 0, 0, 1},
		{"the second was held", [3]callFate{callRan, callRan, callHeld}, 1, 0, 0},
		{"one was held, one refused", [3]callFate{callRan, callHeld, callRefused}, 0, 1, 0},
		{"what it does not need was held", [3]callFate{callHeld, callRan, callRan}, 0, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f familyFigures
			f.addAttack(&attack, []gatedCall{{fate: tt.fates[0]}, {fate: tt.fates[1]}, {fate: tt.fates[2]}})
			if f.Attacks != 1 || f.Held != tt.held || f.Refused != tt.refused || f.Missed != tt.missed || len(f.Variants) != 1 || f.Variants[0] != (variantFigures{"x", 1, tt.missed}) {
				t.Errorf("addAttack() = %+v, want %d held, %d refused, %d missed", f, tt.held, tt.refused, tt.missed)
			}
		})
	}
}
