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
	if m, ok := v.(map[string]any); ok {
		w.compareKeys(nodes, m)
	}
	reach := unionOf(nodes, func(n *node) []*node { return n.reach })
	visitContainers(reach, v, func(token string, next []*node, value any) {
		w.path = append(w.path, token)
		w.walkValue(next, value)
		w.path = w.path[:len(w.path)-1]
	})
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
