package schema

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// kindSet is a set of JSON types.
type kindSet uint8

const (
	isNull kindSet = 1 << iota
	isBool
	isString
	isArray
	isObject
	// isInteger is a number without fraction and exponent; isOther is any
	// other number, 1.0 included.
	isInteger
	isOther

	anyKind = isNull | isBool | isString | isArray | isObject | isInteger | isOther
)

// maxRuleProps is how many properties fit the bit set of those seen.
const maxRuleProps = 64

// valueRule is what a subschema asks of a value, in a form that the decoder
// checks while it reads. It answers "surely valid" or "not sure", and
// whatever it is not sure of goes to the validator, which alone says what is
// wrong. So a rule may know little, but must never be sure of a value that
// the validator refuses. The nil rule accepts anything.
type valueRule struct {
	// hard is a subschema with keywords that only the validator knows.
	hard  bool
	kinds kindSet
	// forms holds one rule per type when the subschema is a choice by type.
	forms []*valueRule
	enum  *scalarEnum

	object objectRule
	array  arrayRule
	text   textRule
	number numberRule
}

// objectRule is the part for objects.
type objectRule struct {
	names []string
	subs  []*valueRule
	index map[string]int // position in names; nil when there are few
	// folded maps the folded name of a property to its name.
	folded map[string]string
	closed bool       // no other properties
	rest   *valueRule // for other properties
	// required and filled are bit sets over names: what must be there, and
	// what a default fills in.
	required, filled uint64
	least, most      int
}

// arrayRule is the part for arrays.
type arrayRule struct {
	items       *valueRule
	unique      bool
	least, most int
}

// textRule is the part for strings.
type textRule struct {
	least, most int
	pattern     *pattern
	format      *jsonschema.Format
}

// ruleBuilder builds the rules of nodes, each once.
type ruleBuilder struct{ cache map[ruleKey]*valueRule }

// ruleKey tells a subschema whose defaults are filled in from the same one
// inside a choice, where they are not.
type ruleKey struct {
	node   *node
	filled bool
}

func (rs *ruleBuilder) ruleFor(n *node, filled bool) *valueRule {
	key := ruleKey{n, filled}
	if r, ok := rs.cache[key]; ok {
		return r
	}
	if n.schema.Bool != nil && *n.schema.Bool {
		return nil
	}
	if to := n.aliasTarget(); to != nil {
		// A chain of references has an end, or the schema was refused.
		return rs.ruleFor(to, filled)
	}
	r := &valueRule{kinds: kindsOf(n.schema.Types)}
	rs.cache[key] = r
	switch {
	case !n.isPlainNode():
		r.hard = true
	case len(n.here) > 0:
		r.hard = !rs.setChoice(r, n)
	default:
		r.hard = !r.setEnum(n.schema) || !r.setNumber(n.schema) || !rs.setObject(r, n, filled)
		rs.setArray(r, n, filled)
		r.setText(n.schema)
	}
	return r
}

// isPlainNode reports whether a node uses no keyword that rules leave to the
// validator.
func (n *node) isPlainNode() bool {
	s := n.schema
	return s.Bool == nil && len(n.patterns) == 0 && n.names == nil && n.prefix == nil && n.contains == nil &&
		s.AdditionalItems == nil && s.UnevaluatedItems == nil && s.UnevaluatedProperties == nil &&
		s.Not == nil && s.If == nil && s.RecursiveRef == nil && s.DynamicRef == nil &&
		s.Dependencies == nil && s.DependentSchemas == nil && s.DependentRequired == nil &&
		s.ContentEncoding == nil && s.ContentMediaType == nil && s.ContentSchema == nil && s.Extensions == nil
}

// isBareNode reports whether a plain node asserts nothing besides what its
// references and combinations say.
func (n *node) isBareNode() bool {
	s := n.schema
	return s.Types == nil && s.Enum == nil && s.Const == nil && s.Format == nil &&
		s.Properties == nil && s.AdditionalProperties == nil && s.Required == nil &&
		s.MinProperties == nil && s.MaxProperties == nil &&
		n.items == nil && s.MinItems == nil && s.MaxItems == nil && !s.UniqueItems &&
		s.MinLength == nil && s.MaxLength == nil && s.Pattern == nil &&
		s.Minimum == nil && s.Maximum == nil && s.ExclusiveMinimum == nil && s.ExclusiveMaximum == nil &&
		s.MultipleOf == nil
}

// aliasTarget returns the node that n merely stands for: the target of a
// reference or the only member of an allOf, with nothing but annotations
// beside it.
func (n *node) aliasTarget() *node {
	if len(n.always) == 1 && len(n.here) == 1 && n.isPlainNode() && n.isBareNode() {
		return n.always[0]
	}
	return nil
}

// setChoice sets the rule of anyOf or oneOf whose members differ by type, so
// that the type of a value selects the one that can accept it.
func (rs *ruleBuilder) setChoice(r *valueRule, n *node) bool {
	s := n.schema
	branches := len(s.AnyOf)
	if branches == 0 {
		branches = len(s.OneOf)
	}
	if branches != len(n.here) || !n.isBareNode() {
		return false
	}
	var all kindSet
	var forms []*valueRule
	for _, b := range n.here {
		sub := rs.ruleFor(b, false)
		if sub == nil || sub.kinds&all != 0 {
			return false
		}
		all |= sub.kinds
		forms = append(forms, sub)
	}
	r.kinds, r.forms = all, forms
	return true
}

func (rs *ruleBuilder) setObject(r *valueRule, n *node, filled bool) bool {
	s, o := n.schema, &r.object
	if len(n.props) > maxRuleProps {
		return false
	}
	o.folded = n.folded
	o.least, o.most = boundsOf(s.MinProperties, s.MaxProperties)
	o.closed = s.AdditionalProperties == false
	if len(n.rest) == 1 {
		o.rest = rs.ruleFor(n.rest[0], filled)
	}
	for _, name := range slices.Sorted(maps.Keys(n.props)) {
		if _, ok := n.defaults[name]; ok && filled {
			o.filled |= 1 << len(o.names)
		}
		o.names = append(o.names, name)
		o.subs = append(o.subs, rs.ruleFor(n.props[name], filled))
	}
	if len(o.names) > 8 {
		o.index = make(map[string]int, len(o.names))
		for i, name := range o.names {
			o.index[name] = i
		}
	}
	for _, name := range s.Required {
		i := o.propertyIndex(name)
		if i < 0 {
			return false
		}
		o.required |= 1 << i
	}
	return true
}

func (rs *ruleBuilder) setArray(r *valueRule, n *node, filled bool) {
	r.array.unique = n.schema.UniqueItems
	r.array.least, r.array.most = boundsOf(n.schema.MinItems, n.schema.MaxItems)
	if len(n.items) == 1 {
		r.array.items = rs.ruleFor(n.items[0], filled)
	}
}

func (r *valueRule) setText(s *jsonschema.Schema) {
	r.text.least, r.text.most = boundsOf(s.MinLength, s.MaxLength)
	r.text.format = s.Format
	if p, ok := s.Pattern.(pattern); ok {
		r.text.pattern = &p
	}
}

// propertyIndex returns the position of a property, -1 when it is not declared.
func (o *objectRule) propertyIndex(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.Index(o.names, name)
}

// hasSureCounts reports whether an object with so many members, of which
// those in the bit set are declared, surely has all that are required and
// neither too few nor too many.
func (o *objectRule) hasSureCounts(members int, seen uint64) bool {
	members += bits.OnesCount64(o.filled &^ seen)
	return o.required&^(seen|o.filled) == 0 && o.least <= members && members <= o.most
}

// boundsOf returns a pair of bounds with the absent ones replaced.
func boundsOf(least, most *int) (int, int) {
	low, high := 0, math.MaxInt
	if least != nil {
		low = *least
	}
	if most != nil {
		high = *most
	}
	return low, high
}

func kindsOf(types *jsonschema.Types) kindSet {
	if types == nil {
		return anyKind
	}
	var k kindSet
	for _, name := range types.ToStrings() {
		k |= kindNames[name]
	}
	return k
}

var kindNames = map[string]kindSet{
	"null": isNull, "boolean": isBool, "string": isString, "array": isArray, "object": isObject,
	"integer": isInteger, "number": isInteger | isOther,
}
