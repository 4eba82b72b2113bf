package schema

import (
	"maps"
	"slices"
)

// caseVariants finds keys in the wrong case.
type caseVariants struct {
	path   []string
	faults Faults
}

func (w *caseVariants) addFault(key, message string) {
	if len(w.faults) <= maxFaults {
		w.faults = append(w.faults, Fault{formatPointer(append(w.path, key)), message})
	}
}

// walkValue visits a value with the subschemas that apply to it.
func (w *caseVariants) walkValue(nodes []*node, v any) {
	if !isContainer(v) {
		return
	}
	reach := unionOf(nodes, func(n *node) []*node { return n.reach })
	switch v := v.(type) {
	case map[string]any:
		w.compareKeys(nodes, v)
		for key, value := range v {
			var next []*node
			for _, n := range reach {
				next = n.appendProperty(key, next)
			}
			w.path = append(w.path, key)
			w.walkValue(next, value)
			w.path = w.path[:len(w.path)-1]
		}
	case []any:
		for i, value := range v {
			var next []*node
			for _, n := range reach {
				next = n.appendItem(i, next)
			}
			w.path = append(w.path, itoa(i))
			w.walkValue(next, value)
			w.path = w.path[:len(w.path)-1]
		}
	}
}

// compareKeys compares the keys of one object with the declared names, and
// those that are not declared with each other.
func (w *caseVariants) compareKeys(nodes []*node, m map[string]any) {
	var undeclared map[string]string
next:
	for _, key := range slices.Sorted(maps.Keys(m)) {
		for _, n := range nodes {
			if n.declaresProperty(key) {
				continue next
			}
		}
		folded := foldCase(key)
		for _, n := range nodes {
			if name, ok := n.folded[folded]; ok {
				w.addFault(key, "is not a known property; did you mean "+quoteName(name)+"?")
				continue next
			}
		}
		if other, ok := undeclared[folded]; ok {
			w.addFault(key, "differs from "+quoteName(other)+" in case only")
		}
		if undeclared == nil {
			undeclared = map[string]string{}
		}
		undeclared[folded] = key
	}
}
