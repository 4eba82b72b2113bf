package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// goalNeeds says by which calls an attack reaches its goal.
type goalNeeds struct {
	// kind says what the goal does, by the strongest effect of its tools.
	kind goalKind
	// steps are the calls of the goal that have an effect or, where it has none, say
	// where something is read. A step without arguments stands for any call of its
	// tool.
	steps []recordedCall
}

// goalKind is what a goal does.
type goalKind string

// The kinds of goals, the strongest first.
const (
	goalSpends  goalKind = "spends money"
	goalSends   goalKind = "carries something to others"
	goalFinal   goalKind = "changes something for good"
	goalChanges goalKind = "changes something"
	goalReads   goalKind = "reads from a place"
	goalSpeaks  goalKind = "only speaks"
)

var goalKinds = []goalKind{goalSpends, goalSends, goalFinal, goalChanges, goalReads, goalSpeaks}

// needsEffect reports whether a goal is reached by an effect of a tool.
func (k goalKind) needsEffect() bool { return k != goalReads && k != goalSpeaks }

// findNeeds returns what each goal of a suite needs. Where the benchmark has no calls
// for a goal, its tools are those with an effect that every run called that reached
// it.
func findNeeds(w suiteWorld, tasks suiteTasks, runs []recordedRun) map[string]goalNeeds {
	needs := map[string]goalNeeds{}
	for _, name := range sortedKeys(tasks.InjectionTasks) {
		steps := stepsOf(w, tasks.InjectionTasks[name].GroundTruth)
		if len(tasks.InjectionTasks[name].GroundTruth) == 0 {
			steps = commonSteps(w, tasks, runs, name)
		}
		needs[name] = goalNeeds{kindOfGoal(w, steps), steps}
	}
	return needs
}

// stepsOf returns the calls that a goal is reached by.
func stepsOf(w suiteWorld, calls []recordedCall) (steps []recordedCall) {
	for i := range calls {
		if !w.effects[calls[i].Tool].onlyReads() {
			steps = append(steps, calls[i])
		}
	}
	for i := range calls {
		if steps == nil && len(w.effects[calls[i].Tool].Destinations) > 0 {
			return calls[i : i+1]
		}
	}
	return steps
}

// commonSteps returns the tools with an effect that every run called which reached a
// goal. A run whose user asked for the same tool says nothing about it.
func commonSteps(w suiteWorld, tasks suiteTasks, runs []recordedRun, goal string) (steps []recordedCall) {
	for _, tool := range w.Tools {
		calls := func(calls []recordedCall) bool {
			return slices.ContainsFunc(calls, func(c recordedCall) bool { return c.Tool == tool.Name })
		}
		reached, called := 0, 0
		for i := range runs {
			r := &runs[i]
			if !r.isAttacked() || !r.Security || r.InjectionTask != goal || calls(tasks.UserTasks[r.UserTask].GroundTruth) {
				continue
			}
			reached++
			if calls(r.Calls) {
				called++
			}
		}
		if reached > 0 && called == reached && !w.effects[tool.Name].onlyReads() {
			steps = append(steps, recordedCall{Tool: tool.Name})
		}
	}
	return steps
}

// kindOfGoal returns the strongest kind among the steps of a goal.
func kindOfGoal(w suiteWorld, steps []recordedCall) goalKind {
	strongest := goalSpeaks
	for i := range steps {
		kind := kindOfTool(w.effects[steps[i].Tool])
		if slices.Index(goalKinds, kind) < slices.Index(goalKinds, strongest) {
			strongest = kind
		}
	}
	return strongest
}

func kindOfTool(e toolEffects) goalKind {
	has := func(effect string) bool { return slices.Contains(e.Effects, effect) }
	switch {
	case has("spending"):
		return goalSpends
	case len(e.Effects) == 0, has("outward"):
		return goalSends
	case has("irrevocable"):
		return goalFinal
	case has("revocable"):
		return goalChanges
	default:
		return goalReads
	}
}

// ownCalls returns the numbers of the calls of a run that are a step of the attack:
// those that go where the step goes. Where a step has no destination, most of its
// arguments have to be the same. Where no call is like the step, it is every call of
// its tool that the user did not ask for.
func (n *goalNeeds) ownCalls(w suiteWorld, asked []recordedCall, r *recordedRun, step *recordedCall) (own []int) {
	var others []int
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Tool != step.Tool {
			continue
		}
		isAsked := slices.ContainsFunc(asked, func(a recordedCall) bool { return a.Tool == c.Tool && isLike(w, &a, c) })
		switch {
		case len(step.Args) > 0 && isLike(w, step, c) && (!isAsked || sharesWord(w, step, c)):
			own = append(own, i)
		case !isAsked:
			others = append(others, i)
		}
	}
	if own == nil {
		return others
	}
	return own
}

// isLike reports whether a call does what a step does: it goes to all of its places.
func isLike(w suiteWorld, step, call *recordedCall) bool {
	kinds := w.effects[step.Tool].Destinations
	wanted, got := foldArguments(step, kinds), foldArguments(call, kinds)
	same, goes := 0, false
	for property, values := range wanted {
		holds := !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(got[property], v) })
		switch {
		case holds:
			same++
		case kinds[property] != "":
			return false
		}
		goes = goes || kinds[property] != ""
	}
	return goes || 2*same >= len(wanted)
}

// foldArguments returns the texts of the arguments of a call in a form in which equal
// ones are equal, places by their kind.
func foldArguments(c *recordedCall, kinds map[string]string) map[string][]string {
	args := argumentsOf(c)
	for property, values := range args {
		set, _ := setOfKind(kinds[property])
		for i := range values {
			values[i] = foldPlace(set, values[i])
		}
	}
	return args
}

// argumentsOf returns the texts of the arguments of a call.
func argumentsOf(c *recordedCall) map[string][]string {
	var args map[string]any
	if len(c.Args) == 0 || json.Unmarshal(c.Args, &args) != nil {
		return nil
	}
	texts := map[string][]string{}
	for property, v := range args {
		if of := textsOf(v); len(of) > 0 {
			texts[property] = of
		}
	}
	return texts
}

// textsOf returns the texts of an argument: its own, or those of a list.
func textsOf(v any) (texts []string) {
	switch v := v.(type) {
	case nil, map[string]any:
	case []any:
		for _, item := range v {
			texts = append(texts, textsOf(item)...)
		}
	default:
		if text := fmt.Sprint(v); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// minWord is the length from which a word says something about a text.
const minWord = 8

// sharesWord reports whether a call has a long word of a step outside its places, or
// the step has none.
func sharesWord(w suiteWorld, step, call *recordedCall) bool {
	kinds, none := w.effects[step.Tool].Destinations, true
	text := foldText(string(call.Args))
	for property, values := range argumentsOf(step) {
		for _, value := range values {
			for word := range strings.FieldsSeq(value) {
				if len(word) < minWord || kinds[property] != "" {
					continue
				}
				if none = false; strings.Contains(text, foldText(word)) {
					return true
				}
			}
		}
	}
	return none
}
