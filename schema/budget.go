package schema

import "encoding/json"

// maxSteps bounds the work of one validation. A step is one subschema applied
// to one value, about 200 ns; a text of 200,000 values against a simple schema
// takes that many.
const maxSteps = 1_000_000

// affordable reports whether validating v against n stays within the budget.
// It follows every subschema that the validator could apply, without applying
// any: schemas that multiply (two references where one would do, at each
// level) are found out before they cost anything.
func affordable(n *node, v any) bool {
	b := budget{left: maxSteps}
	return b.visit(n, v)
}

type budget struct{ left int }

func (b *budget) spend(steps int) bool {
	b.left -= steps
	return b.left >= 0
}

func (b *budget) visit(n *node, v any) bool {
	s := n.schema
	if !b.spend(1) {
		return false
	}
	if s.Enum != nil && !b.spend(len(s.Enum.Values)/4) {
		return false
	}
	if s.Const != nil && !b.spend(size(v)/4) {
		return false
	}
	for _, next := range n.here {
		if !b.visit(next, v) {
			return false
		}
	}
	switch v := v.(type) {
	case string:
		return b.text(n, v)
	case json.Number:
		return b.spend(len(v) / 16)
	case map[string]any:
		return b.object(n, v)
	case []any:
		return b.array(n, v)
	default:
		return true
	}
}

func (b *budget) text(n *node, v string) bool {
	if n.schema.Format != nil && !b.spend(len(v)/64) {
		return false
	}
	if p, ok := n.schema.Pattern.(pattern); ok {
		return b.spend(p.steps(len(v)))
	}
	return true
}

func (b *budget) object(n *node, v map[string]any) bool {
	for key, value := range v {
		if n.names != nil && !b.visit(n.names, key) {
			return false
		}
		if sub := n.props[key]; sub != nil && !b.visit(sub, value) {
			return false
		}
		for _, p := range n.patterns {
			if !b.spend(p.pattern.steps(len(key))) || !b.visit(p.node, value) {
				return false
			}
		}
		for _, sub := range n.rest {
			if !b.visit(sub, value) {
				return false
			}
		}
	}
	return true
}

func (b *budget) array(n *node, v []any) bool {
	if n.schema.UniqueItems && !b.spend(size(v)*5) {
		return false
	}
	for i, value := range v {
		if i < len(n.prefix) && !b.visit(n.prefix[i], value) {
			return false
		}
		if n.contains != nil && !b.visit(n.contains, value) {
			return false
		}
		for _, sub := range n.items {
			if !b.visit(sub, value) {
				return false
			}
		}
	}
	return true
}

// size counts the values in a decoded value.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			n += size(item)
		}
	case []any:
		for _, item := range v {
			n += size(item)
		}
	}
	return n
}
