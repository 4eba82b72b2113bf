package schema

import "encoding/json"

// maxSteps bounds the work of one validation. A step is one subschema applied
// to one value, about 200 ns; a text of 200,000 values against a simple schema
// takes that many.
const maxSteps = 1_000_000

// isAffordable reports whether validating v against n stays within the budget.
// It follows every subschema that the validator could apply, without applying
// any: schemas that multiply (two references where one would do, at each
// level) are found out before they cost anything.
func isAffordable(n *node, v any) bool {
	b := stepBudget{left: maxSteps}
	return b.visitNode(n, v)
}

// stepBudget counts down the steps that a validation may take.
type stepBudget struct{ left int }

// spendSteps spends steps, and reports whether there were enough.
func (b *stepBudget) spendSteps(steps int) bool {
	b.left -= steps
	return b.left >= 0
}

// visitNode spends what validating a value against one node costs.
func (b *stepBudget) visitNode(n *node, v any) bool {
	s := n.schema
	if !b.spendSteps(1) {
		return false
	}
	if s.Enum != nil && !b.spendSteps(len(s.Enum.Values)/4) {
		return false
	}
	if s.Const != nil && !b.spendSteps(countValues(v)/4) {
		return false
	}
	for _, next := range n.here {
		if !b.visitNode(next, v) {
			return false
		}
	}
	switch v := v.(type) {
	case string:
		return b.chargeText(n, v)
	case json.Number:
		return b.spendSteps(len(v) / 16)
	case map[string]any:
		return b.visitObject(n, v)
	case []any:
		return b.visitArray(n, v)
	default:
		return true
	}
}

func (b *stepBudget) chargeText(n *node, v string) bool {
	if n.schema.Format != nil && !b.spendSteps(len(v)/64) {
		return false
	}
	if p, ok := n.schema.Pattern.(pattern); ok {
		return b.spendSteps(p.matchSteps(len(v)))
	}
	return true
}

func (b *stepBudget) visitObject(n *node, v map[string]any) bool {
	for key, value := range v {
		if n.names != nil && !b.visitNode(n.names, key) {
			return false
		}
		if sub := n.props[key]; sub != nil && !b.visitNode(sub, value) {
			return false
		}
		for _, p := range n.patterns {
			if !b.spendSteps(p.pattern.matchSteps(len(key))) || !b.visitNode(p.node, value) {
				return false
			}
		}
		for _, sub := range n.rest {
			if !b.visitNode(sub, value) {
				return false
			}
		}
	}
	return true
}

func (b *stepBudget) visitArray(n *node, v []any) bool {
	if n.schema.UniqueItems && !b.spendSteps(countValues(v)*5) {
		return false
	}
	for i, value := range v {
		if i < len(n.prefix) && !b.visitNode(n.prefix[i], value) {
			return false
		}
		if n.contains != nil && !b.visitNode(n.contains, value) {
			return false
		}
		for _, sub := range n.items {
			if !b.visitNode(sub, value) {
				return false
			}
		}
	}
	return true
}

func countValues(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			n += countValues(item)
		}
	case []any:
		for _, item := range v {
			n += countValues(item)
		}
	}
	return n
}
