package schema

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validate checks a value that a tool produced: what [Decode] returns, or Go
// values, which are taken as encoding/json would write them. Nil means valid.
func (s *Schema) Validate(v any) Faults {
	f := s.compileForm()
	if f.rule != nil && f.rule.isSureOf(v) {
		return nil
	}
	v, err := normalizeValue(v)
	if err != nil {
		return oneFault("", "is not a JSON value")
	}
	var scan jsonDecoder
	scan.checkText(string(appendJSON(nil, v, false)), f.rule)
	if !scan.unsure && !scan.absent {
		return nil
	}
	return f.validateAt(f.root, v)
}

// checkValue validates a decoded value and looks for keys in the wrong case.
func (c *compiledForm) checkValue(v any) Faults {
	var w caseVariants
	w.walkValue([]*node{c.root}, v)
	f := c.validateAt(c.root, v)
	if len(w.faults) > 0 {
		// A key in the wrong case is reported once, with the suggestion.
		known := map[string]bool{}
		for _, one := range w.faults {
			known[one.Pointer] = true
		}
		for _, one := range f {
			if !known[one.Pointer] {
				w.faults = append(w.faults, one)
			}
		}
		f = w.faults.sortAndBound()
	}
	return f
}

// validateAt runs the validator on a decoded value, within bounds.
func (c *compiledForm) validateAt(n *node, v any) Faults {
	if !isAffordable(n, v) {
		return tooCostly()
	}
	err := runValidator(n.schema, v)
	if err == nil {
		return nil
	}
	verr, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return oneFault("", "does not match the schema")
	}
	return explainError(verr, c.nodes, false)
}

// runValidator runs the library. As in compileValidator, a defect that a
// schema from elsewhere triggers must refuse this value only.
func runValidator(s *jsonschema.Schema, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("validate: %v", r)
		}
	}()
	return s.Validate(v)
}

func tooCostly() Faults { return oneFault("", "takes too long to validate against the schema") }

func normalizeValue(v any) (any, error) {
	if isDecoded(v, defaultDepth) {
		return v, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("schema: encode value: %w", err)
	}
	return Decode(data, nil)
}

// isDecoded reports whether v consists of the types that the validator takes.
func isDecoded(v any, depth int) bool {
	if depth < 0 {
		return false
	}
	switch v := v.(type) {
	case nil, bool, string, int, int64:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case json.Number:
		return isNumber(string(v))
	case []any:
		for _, item := range v {
			if !isDecoded(item, depth-1) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, item := range v {
			if !isDecoded(item, depth-1) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// isNumber reports whether a text is one number and nothing else.
func isNumber(n string) bool {
	d := jsonDecoder{s: n}
	if n == "" || n[0] != '-' && !isDigit(n[0]) {
		return false
	}
	_, _, ok := d.readNumber()
	return ok && d.i == len(n)
}
