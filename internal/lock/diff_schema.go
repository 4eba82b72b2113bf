package lock

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// schemaDiff compares two JSON Schemas keyword by keyword.
type schemaDiff struct {
	*changeCollector
	// other is the rule of what is not known to widen or narrow.
	other Rule
	// directed says that a narrower keyword makes the whole narrower. It is
	// not so under "not" or "if", nor for what is referred to from anywhere.
	directed bool
}

// addDirected reports a difference. Where the direction counts for nothing, the rule
// of the other differences is used.
func (s schemaDiff) addDirected(r Rule, path string, was, is any) {
	if !s.directed && r != RuleText {
		r = s.other
	}
	s.addChange(r, path, was, is)
}

// compareSchemas compares two schemas.
func (s schemaDiff) compareSchemas(path string, was, is any) {
	if equalJSON(was, is) {
		return
	}
	a, b := membersOf(was), membersOf(is)
	switch {
	case a != nil && b != nil:
		for _, key := range unionKeys(a, b) {
			if x, y := memberOrAbsent(a, key), memberOrAbsent(b, key); !equalJSON(x, y) {
				s.compareKeyword(path+"/"+key, key, x, y)
			}
		}
	case admitsEverything(is):
		s.addDirected(RuleWidened, path, was, is)
	case is == false:
		s.addDirected(RuleNarrowed, path, was, is)
	default:
		s.addChange(s.other, path, was, is)
	}
}

// admitsEverything reports whether a schema admits everything: it is absent, true or
// empty.
func admitsEverything(v any) bool {
	switch v := v.(type) {
	case absentValue:
		return true
	case bool:
		return v
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

// compareKeyword compares the values of one keyword, which differ.
func (s schemaDiff) compareKeyword(path, key string, was, is any) {
	switch key {
	case "title", "description", "$comment", "examples":
		s.addDirected(RuleText, path, was, is)
	case "properties":
		s.compareSchemaMaps(path, was, is, RuleArgument)
	case "patternProperties", "$defs", "definitions", "dependentSchemas":
		s.withoutDirection().compareSchemaMaps(path, was, is, s.other)
	case "additionalProperties", "unevaluatedProperties", "items":
		s.compareSchemas(path, was, is)
	case "contains", "propertyNames", "unevaluatedItems", "not", "if", "then", "else", "contentSchema":
		s.withoutDirection().compareSchemas(path, was, is)
	case "allOf", "anyOf", "prefixItems":
		s.compareSchemaLists(path, was, is)
	case "oneOf":
		s.withoutDirection().compareSchemaLists(path, was, is)
	case "required":
		s.compareRequired(path, was, is)
	case "enum", "type":
		s.compareChoices(path, was, is)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		s.compareBounds(path, was, is, false)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		s.compareBounds(path, was, is, true)
	default:
		s.addChange(s.other, path, was, is)
	}
}

func (s schemaDiff) withoutDirection() schemaDiff {
	s.directed = false
	return s
}

// compareSchemaMaps compares maps of schemas. A property that is gone was perhaps the
// only bound on an argument that is still taken.
func (s schemaDiff) compareSchemaMaps(path string, was, is any, fresh Rule) {
	a, b := membersOf(was), membersOf(is)
	before := len(s.out)
	for _, name := range unionKeys(a, b) {
		x, y := memberOrAbsent(a, name), memberOrAbsent(b, name)
		at := path + "/" + name
		switch {
		case x == absentValue{}:
			s.addDirected(fresh, at, x, y)
		case y == absentValue{}:
			s.addChange(s.other, at, x, y)
		default:
			s.compareSchemas(at, x, y)
		}
	}
	if len(s.out) == before {
		s.addChange(s.other, path, was, is)
	}
}

// compareSchemaLists compares lists of schemas place by place.
func (s schemaDiff) compareSchemaLists(path string, was, is any) {
	a, _ := was.([]any)
	b, _ := is.([]any)
	if len(a) == 0 || len(a) != len(b) {
		s.addChange(s.other, path, was, is)
		return
	}
	for i := range a {
		s.compareSchemas(path+"/"+strconv.Itoa(i), a[i], b[i])
	}
}

// compareRequired compares the names of required properties.
func (s schemaDiff) compareRequired(path string, was, is any) {
	before := len(s.out)
	for _, v := range elementsBeyond(is, was) {
		s.addDirected(RuleRequired, path, absentValue{}, v)
	}
	for _, v := range elementsBeyond(was, is) {
		s.addDirected(RuleWidened, path, v, absentValue{})
	}
	if len(s.out) == before {
		s.addChange(s.other, path, was, is)
	}
}

// compareChoices compares the values or types that are admitted. No list admits all.
func (s schemaDiff) compareChoices(path string, was, is any) {
	switch {
	case is == absentValue{}, was != absentValue{} && len(elementsBeyond(is, was)) > 0:
		s.addDirected(RuleWidened, path, was, is)
	case was == absentValue{}, len(elementsBeyond(was, is)) > 0:
		s.addDirected(RuleNarrowed, path, was, is)
	default:
		s.addChange(s.other, path, was, is)
	}
}

// elementsBeyond returns the elements of v that w does not have, by digest.
func elementsBeyond(v, w any) (out []any) {
	a, b := elementsByDigest(v), elementsByDigest(w)
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if _, ok := b[k]; !ok {
			out = append(out, a[k])
		}
	}
	return out
}

// elementsByDigest returns the elements of a list, or a single value, by digest.
func elementsByDigest(v any) map[string]any {
	if v == (absentValue{}) {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	m := make(map[string]any, len(list))
	for _, x := range list {
		m[digestOf(x)] = x
	}
	return m
}

// compareBounds compares numbers of which a higher one admits more if upper, else
// less. What no float64 tells apart has no direction.
func (s schemaDiff) compareBounds(path string, was, is any, upper bool) {
	a, aok := float64Of(was)
	b, bok := float64Of(is)
	_, gone := is.(absentValue)
	_, fresh := was.(absentValue)
	switch {
	case gone, aok && bok && (b > a) == upper && a != b:
		s.addDirected(RuleWidened, path, was, is)
	case fresh, aok && bok && a != b:
		s.addDirected(RuleNarrowed, path, was, is)
	default:
		s.addChange(s.other, path, was, is)
	}
}

func float64Of(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
