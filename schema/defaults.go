package schema

import (
	"strconv"

	"github.com/sallyport/sallyport/internal/rawjson"
)

// maxFilled bounds how many defaults one call may add; the defaults of a
// schema may nest.
const maxFilled = 10_000

// buildDefaults collects the defaults of all properties and checks that each
// satisfies the schema it stands in.
func (c *compiledForm) buildDefaults(nodes []*node) error {
	for _, n := range nodes {
		for name, sub := range n.props {
			v, ok := defaultOf(sub)
			if !ok {
				continue
			}
			if n.defaults == nil {
				n.defaults = map[string]any{}
			}
			n.defaults[name] = v
			c.defaults = true
		}
	}
	var faults Faults
	for _, n := range nodes {
		for name, v := range n.defaults {
			faults = append(faults, c.checkDefault(n.props[name], v)...)
		}
	}
	if len(faults) > 0 {
		return faults.sortAndBound()
	}
	return nil
}

// defaultOf returns the default that a property's schema gives, directly or
// through what always holds.
func defaultOf(n *node) (any, bool) {
	for _, r := range n.sure {
		if r.schema.Default != nil {
			return *r.schema.Default, true
		}
	}
	return nil, false
}

func (c *compiledForm) checkDefault(n *node, v any) Faults {
	at := schemaPointer(n.schema.Location) + "/default"
	v = rawjson.CloneValue(v)
	f := defaultFiller{left: maxFilled}
	if f.fillValue([]*node{n}, v); f.left < 0 {
		return oneFault(at, "leads to more and more defaults")
	}
	faults := c.validateAt(n, v)
	for i := range faults {
		faults[i].Pointer = at + faults[i].Pointer
	}
	return faults
}

// fillDefaults adds the defaults of absent properties to a decoded value, in
// place, and reports whether it added any. ok is false when they are too
// many.
func (c *compiledForm) fillDefaults(v any) (added, ok bool) {
	if !c.defaults {
		return false, true
	}
	f := defaultFiller{left: maxFilled}
	f.fillValue([]*node{c.root}, v)
	return f.left < maxFilled, f.left >= 0
}

// defaultFiller fills in defaults, as many as are left.
type defaultFiller struct{ left int }

// fillValue visits a value with the subschemas that surely apply to it.
func (f *defaultFiller) fillValue(nodes []*node, v any) {
	sure := unionOf(nodes, func(n *node) []*node { return n.sure })
	if m, ok := v.(map[string]any); ok {
		for _, n := range sure {
			f.addDefaults(n, m)
		}
	}
	visitContainers(sure, v, func(_ string, next []*node, value any) {
		if f.left >= 0 {
			f.fillValue(next, value)
		}
	})
}

// visitContainers visits the objects and arrays directly in a value, each with
// its token in a pointer and the subschemas that the nodes apply to it.
func visitContainers(nodes []*node, v any, visit func(token string, next []*node, value any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if isContainer(value) {
				var next []*node
				for _, n := range nodes {
					next = n.appendProperty(key, next)
				}
				visit(key, next, value)
			}
		}
	case []any:
		for i, value := range v {
			if isContainer(value) {
				var next []*node
				for _, n := range nodes {
					next = n.appendItem(i, next)
				}
				visit(strconv.Itoa(i), next, value)
			}
		}
	}
}

func (f *defaultFiller) addDefaults(n *node, m map[string]any) {
	for name, v := range n.defaults {
		if _, ok := m[name]; ok {
			continue
		}
		if f.left--; f.left < 0 {
			return
		}
		m[name] = rawjson.CloneValue(v)
	}
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}
