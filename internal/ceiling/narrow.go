package ceiling

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
)

// Narrow returns the schema of a tool as the ceilings leave it, for those who choose
// arguments: what is refused outside is left out. Members of sets are not shown, nor is
// what only holds a call. The error is a [Faults] where nothing satisfies both.
func Narrow(tool json.RawMessage, ceilings []*Ceiling) (json.RawMessage, error) {
	declared, err := decodeDeclared(tool)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, c := range ceilings {
		did, err := narrowSchema(declared, c.root)
		if err != nil {
			return nil, err
		}
		changed = changed || did
	}
	if !changed {
		return tool, nil
	}
	return json.Marshal(declared)
}

// faultOf places an error at a fragment.
func (n *node) faultOf(err error) Faults { return Faults{{Key: n.key, Message: err.Error()}} }

// narrowSchema writes what a fragment says into a schema.
func narrowSchema(declared map[string]any, n *node) (changed bool, err error) {
	if n.plain != nil && n.outside == Refuse {
		if err := mergeWords(declared, n.held); err != nil {
			return false, n.faultOf(err)
		}
		changed = true
	}
	narrowChild := func(holder map[string]any, name string, sub *node) error {
		child, ok := holder[name].(map[string]any)
		if !ok {
			return nil
		}
		did, err := narrowSchema(child, sub)
		changed = changed || did
		return err
	}
	if props, ok := declared["properties"].(map[string]any); ok {
		for _, name := range n.names {
			if n.props[name] == nil {
				continue
			}
			if n.props[name].never {
				if err := dropProperty(declared, props, name); err != nil {
					return false, n.props[name].faultOf(err)
				}
				changed = true
			}
			if err := narrowChild(props, name, n.props[name]); err != nil {
				return false, err
			}
		}
	}
	if n.items != nil {
		err = narrowChild(declared, "items", n.items)
	}
	return changed, err
}

// dropProperty leaves out an argument that may have no value.
func dropProperty(declared, props map[string]any, name string) error {
	if required, _ := declared["required"].([]any); slices.Contains(required, any(name)) {
		return errors.New("no value is permitted, and the tool requires it")
	}
	delete(props, name)
	return nil
}

// mergeWords writes keywords into a schema that may have them already: the narrower
// side wins, and where it cannot be told which one that is, both stand.
func mergeWords(declared, words map[string]any) error {
	rest := map[string]any{}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		have, ok := declared[word]
		merge := mergers[word]
		switch {
		case word == "description":
		case !ok || reflect.DeepEqual(have, words[word]):
			declared[word] = words[word]
		case merge == nil:
			rest[word] = words[word]
		default:
			merged, err := merge(have, words[word])
			if err != nil {
				return fmt.Errorf("%s contradicts the schema of the tool: %w", word, err)
			}
			declared[word] = merged
		}
	}
	if len(rest) > 0 {
		all, _ := declared["allOf"].([]any)
		declared["allOf"] = append(slices.Clone(all), rest)
	}
	return checkBounds(declared)
}

// mergers say of a keyword which of two values is the narrower one.
var mergers = map[string]func(a, b any) (any, error){
	"enum": commonValues, "type": commonTypes,
	"minimum": largerNumber, "exclusiveMinimum": largerNumber, "minLength": largerNumber, "minItems": largerNumber, "minProperties": largerNumber,
	"maximum": smallerNumber, "exclusiveMaximum": smallerNumber, "maxLength": smallerNumber, "maxItems": smallerNumber, "maxProperties": smallerNumber,
	"required": allNames, "const": neitherValue,
}

func commonValues(a, b any) (any, error) {
	list, _ := a.([]any)
	other, _ := b.([]any)
	common := slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		return !slices.ContainsFunc(other, func(o any) bool { return reflect.DeepEqual(v, o) })
	})
	if len(common) == 0 {
		return nil, fmt.Errorf("no value is in both lists")
	}
	return common, nil
}

func commonTypes(a, b any) (any, error) {
	asList := func(v any) []any {
		if list, ok := v.([]any); ok {
			return list
		}
		return []any{v}
	}
	list, other := asList(a), asList(b)
	// A whole number is a number.
	if slices.Contains(list, any("number")) && slices.Contains(other, any("integer")) {
		list = append(slices.Clone(list), "integer")
	}
	if slices.Contains(other, any("number")) && slices.Contains(list, any("integer")) {
		other = append(slices.Clone(other), "integer")
	}
	common, err := commonValues(list, other)
	if err != nil {
		return nil, fmt.Errorf("no type is in both")
	}
	if types := common.([]any); len(types) == 1 {
		return types[0], nil
	}
	return common, nil
}

func neitherValue(any, any) (any, error) { return nil, fmt.Errorf("the values differ") }

func allNames(a, b any) (any, error) {
	list, _ := a.([]any)
	other, _ := b.([]any)
	all := slices.Clone(list)
	for _, name := range other {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, nil
}

func largerNumber(a, b any) (any, error) { return chooseNumber(a, b, 1) }

func smallerNumber(a, b any) (any, error) { return chooseNumber(a, b, -1) }

// chooseNumber returns the larger of two numbers for the sign 1, the smaller for -1.
func chooseNumber(a, b any, sign int) (any, error) {
	x, _ := a.(json.Number)
	y, _ := b.(json.Number)
	left, ok := Exact(x)
	right, also := Exact(y)
	if !ok || !also {
		return nil, fmt.Errorf("expected two numbers of at most 40 digits")
	}
	if left.Cmp(right)*sign > 0 {
		return a, nil
	}
	return b, nil
}

// checkBounds refuses bounds between which there is nothing.
func checkBounds(s map[string]any) error {
	for _, bound := range [][2]string{{"minimum", "maximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"}, {"minProperties", "maxProperties"}} {
		least, ok := numberOf(s, bound[0])
		most, also := numberOf(s, bound[1])
		if ok && also && least.Cmp(most) > 0 {
			return fmt.Errorf("nothing is at least %s and at most %s", s[bound[0]], s[bound[1]])
		}
	}
	return checkSteps(s)
}

// checkSteps refuses bounds of a number between which no step of it lies, and open ones
// between which nothing does.
func checkSteps(s map[string]any) error {
	least, from := numberOf(s, "minimum")
	if above, ok := numberOf(s, "exclusiveMinimum"); ok && (!from || above.Cmp(least) >= 0) {
		least, from = above, false
	} else if !ok && !from {
		return nil
	}
	most, to := numberOf(s, "maximum")
	if below, ok := numberOf(s, "exclusiveMaximum"); ok && (!to || below.Cmp(most) <= 0) {
		most, to = below, false
	} else if !ok && !to {
		return nil
	}
	step, stepped := numberOf(s, "multipleOf")
	if !stepped && s["type"] == "integer" {
		step, stepped = big.NewRat(1, 1), true
	}
	if stepped && step.Sign() > 0 { // the least multiple that is not too small
		n := new(big.Rat).Quo(least, step)
		whole := new(big.Int).Div(n.Num(), n.Denom())
		if !n.IsInt() || !from {
			whole.Add(whole, big.NewInt(1))
		}
		least, from = new(big.Rat).Mul(new(big.Rat).SetInt(whole), step), true
	}
	if c := least.Cmp(most); c > 0 || c == 0 && !(from && to) {
		return errors.New("no number is within minimum, maximum and multipleOf together")
	}
	return nil
}

// numberOf returns the number that a keyword holds.
func numberOf(s map[string]any, word string) (*big.Rat, bool) {
	n, _ := s[word].(json.Number)
	return Exact(n)
}
