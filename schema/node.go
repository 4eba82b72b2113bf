package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxReach bounds how many subschemas apply to one place through references
// and combinations, over the whole schema. Real schemas stay below a few
// hundred; a chain of thousands is an attack on the validator.
const maxReach = 50_000

// node is one subschema: what it says about children, for the walks that the
// validator does not do.
type node struct {
	schema *jsonschema.Schema

	props    map[string]*node
	patterns []patternNode
	// rest applies to properties that neither of the above names.
	rest     []*node
	names    *node
	prefix   []*node
	items    []*node // for items after prefix
	contains *node   // for any item

	// here applies to the same value: references, combinations, conditions.
	here []*node
	// always is the part of here that holds for every valid value, so that
	// defaults found there hold too.
	always []*node
	// reach is everything that here leads to, this node included; sure is
	// what always leads to.
	reach, sure []*node

	// defaults is what absent properties of this node are filled with.
	defaults map[string]any
	// folded maps the folded name of every property in reach to its name.
	folded map[string]string
}

type patternNode struct {
	pattern pattern
	node    *node
}

// buildNodes makes the nodes of a compiled schema, doc being its decoded text.
func (c *compiledForm) buildNodes(doc any, validator *jsonschema.Schema, defaults bool) error {
	b := nodeBuilder{bySchema: map[*jsonschema.Schema]*node{}}
	c.root = b.nodeFor(validator)
	for len(b.queue) > 0 {
		n := b.queue[0]
		b.queue = b.queue[1:]
		b.connectNode(n)
	}
	c.nodes = make(map[string]*node, len(b.all))
	for _, n := range b.all {
		c.nodes[n.schema.Location] = n
	}
	if n := b.findDynamic(doc); n != nil {
		return oneFault(schemaPointer(n.schema.Location), "uses dynamic references, which are not supported where their target depends on the path")
	}
	if n := b.findCycle(); n != nil {
		return oneFault(schemaPointer(n.schema.Location), "refers to itself without an end")
	}
	for _, n := range b.all {
		if !b.computeReach(n) {
			return oneFault("", "combines too many subschemas at one place")
		}
	}
	if !defaults {
		return nil
	}
	return c.buildDefaults(b.all)
}

// nodeBuilder builds the nodes of a schema.
type nodeBuilder struct {
	bySchema map[*jsonschema.Schema]*node
	all      []*node
	queue    []*node
	reach    int
}

// nodeFor returns the node of a subschema, nil for nil.
func (b *nodeBuilder) nodeFor(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n := b.bySchema[s]; n != nil {
		return n
	}
	n := &node{schema: s}
	b.bySchema[s] = n
	b.all = append(b.all, n)
	b.queue = append(b.queue, n)
	return n
}

// nodesFor returns the nodes of those subschemas that exist.
func (b *nodeBuilder) nodesFor(schemas ...*jsonschema.Schema) []*node {
	var list []*node
	for _, s := range schemas {
		if n := b.nodeFor(s); n != nil {
			list = append(list, n)
		}
	}
	return list
}

func (b *nodeBuilder) connectNode(n *node) {
	s := n.schema
	if s.Ref != nil && s.DraftVersion < 2019 {
		// Up to draft 7 a reference hides its neighbours.
		n.always = b.nodesFor(s.Ref)
		n.here = n.always
		return
	}
	b.connectObject(n)
	b.connectArray(n)
	n.always = append(b.nodesFor(s.Ref), b.nodesFor(s.AllOf...)...)
	n.here = append(n.here, n.always...)
	n.here = append(n.here, b.nodesFor(s.AnyOf...)...)
	n.here = append(n.here, b.nodesFor(s.OneOf...)...)
	n.here = append(n.here, b.nodesFor(s.Not, s.If, s.Then, s.Else, s.RecursiveRef)...)
	if s.DynamicRef != nil {
		n.here = append(n.here, b.nodesFor(s.DynamicRef.Ref)...)
	}
	for _, dep := range s.DependentSchemas {
		n.here = append(n.here, b.nodeFor(dep))
	}
	for _, dep := range s.Dependencies {
		if sub, ok := dep.(*jsonschema.Schema); ok {
			n.here = append(n.here, b.nodeFor(sub))
		}
	}
}

func (b *nodeBuilder) connectObject(n *node) {
	s := n.schema
	if len(s.Properties) > 0 {
		n.props = make(map[string]*node, len(s.Properties))
		for name, sub := range s.Properties {
			n.props[name] = b.nodeFor(sub)
		}
	}
	for re, sub := range s.PatternProperties {
		n.patterns = append(n.patterns, patternNode{re.(pattern), b.nodeFor(sub)})
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		n.rest = b.nodesFor(sub)
	}
	n.rest = append(n.rest, b.nodesFor(s.UnevaluatedProperties)...)
	if s.PropertyNames != nil {
		n.names = b.nodeFor(s.PropertyNames)
		s.Extensions = append(s.Extensions, propertyNames{s.PropertyNames})
		s.PropertyNames = nil
	}
}

func (b *nodeBuilder) connectArray(n *node) {
	s := n.schema
	n.prefix = b.nodesFor(s.PrefixItems...)
	n.contains = b.nodeFor(s.Contains)
	n.items = b.nodesFor(s.Items2020, s.UnevaluatedItems)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		n.items = append(n.items, b.nodeFor(items))
	case []*jsonschema.Schema:
		n.prefix = b.nodesFor(items...)
	}
	if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		n.items = append(n.items, b.nodeFor(sub))
	}
}

// computeReach computes the reach of a node; false when it is too large.
func (b *nodeBuilder) computeReach(n *node) bool {
	n.reach = reachableFrom(n, func(n *node) []*node { return n.here })
	n.sure = reachableFrom(n, func(n *node) []*node { return n.always })
	if b.reach += len(n.reach); b.reach > maxReach {
		return false
	}
	for _, r := range n.reach {
		for name := range r.props {
			if n.folded == nil {
				n.folded = map[string]string{}
			}
			key := foldCase(name)
			if old, ok := n.folded[key]; !ok || name < old {
				n.folded[key] = name
			}
		}
	}
	return true
}

// findDynamic returns a node with a reference whose target depends on how the
// validator came there: the walks over nodes could not follow it. With a
// single anchor in the whole text there is only one target.
func (b *nodeBuilder) findDynamic(doc any) *node {
	single := countKeys(doc, "$dynamicAnchor", "$recursiveAnchor") <= 1
	for _, n := range b.all {
		s := n.schema
		if (s.DynamicRef != nil || s.RecursiveRef != nil) && !(single && strings.HasPrefix(s.Location, location)) {
			return n
		}
	}
	return nil
}

// countKeys counts the objects in a decoded value that have one of two keys.
func countKeys(v any, a, b string) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		if v[a] != nil || v[b] != nil {
			n++
		}
		for _, item := range v {
			n += countKeys(item, a, b)
		}
	case []any:
		for _, item := range v {
			n += countKeys(item, a, b)
		}
	}
	return n
}

// reachableFrom returns n and what it leads to, each once, nearest first.
func reachableFrom(n *node, next func(*node) []*node) []*node {
	all := []*node{n}
	if len(next(n)) == 0 {
		return all
	}
	seen := map[*node]bool{n: true}
	for i := 0; i < len(all); i++ {
		for _, m := range next(all[i]) {
			if !seen[m] {
				seen[m] = true
				all = append(all, m)
			}
		}
	}
	return all
}

// findCycle returns a node that leads back to itself at the same value, which
// no value could ever satisfy.
func (b *nodeBuilder) findCycle() *node {
	const active, done = 1, 2
	state := map[*node]int{}
	var visit func(n *node) *node
	visit = func(n *node) *node {
		switch state[n] {
		case active:
			return n
		case done:
			return nil
		}
		state[n] = active
		for _, next := range n.here {
			if found := visit(next); found != nil {
				return found
			}
		}
		state[n] = done
		return nil
	}
	for _, n := range b.all {
		if found := visit(n); found != nil {
			return found
		}
	}
	return nil
}

func (n *node) declaresProperty(name string) bool {
	return slices.ContainsFunc(n.reach, func(r *node) bool { return r.props[name] != nil })
}

// appendProperty adds the subschemas that apply to a property of this very
// node.
func (n *node) appendProperty(name string, to []*node) []*node {
	known := false
	if sub := n.props[name]; sub != nil {
		to, known = append(to, sub), true
	}
	for _, p := range n.patterns {
		if p.pattern.MatchString(name) {
			to, known = append(to, p.node), true
		}
	}
	if !known {
		to = append(to, n.rest...)
	}
	return to
}

// appendItem adds the subschemas that apply to item i of this very node.
func (n *node) appendItem(i int, to []*node) []*node {
	if i < len(n.prefix) {
		return append(to, n.prefix[i])
	}
	return append(to, n.items...)
}

// propertyNames replaces the library's own check of that keyword, which names
// a wrong place when siblings are visited later.
type propertyNames struct{ schema *jsonschema.Schema }

func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if p.schema.Validate(name) != nil {
			ctx.AddError(&kind.PropertyNames{Property: name})
		}
	}
}

// unionOf returns what the nodes lead to, each once.
func unionOf(nodes []*node, leads func(*node) []*node) []*node {
	if len(nodes) == 1 {
		return leads(nodes[0])
	}
	var all []*node
	seen := map[*node]bool{}
	for _, n := range nodes {
		for _, r := range leads(n) {
			if !seen[r] {
				seen[r] = true
				all = append(all, r)
			}
		}
	}
	return all
}
