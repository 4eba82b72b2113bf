package output

import "unicode/utf8"

// automaton finds many patterns in one pass over a sequence of characters, after
// Aho and Corasick (1975). A node is a beginning of patterns; node 0 is the
// empty one.
type automaton struct {
	nodes []trieNode
	// single has the bytes that can be read in one way only, as themselves;
	// labels the characters of ASCII that are in any pattern.
	single *[256]bool
	labels [utf8.RuneSelf]bool
	// plain holds for each node the byte that is its last character where that
	// is one of those and no pattern ends there; else 0.
	plain string
	// others has the children that do not stand behind their parent.
	others map[trieEdge]int32
	// collapses says that a run of blanks or of backslashes is one character.
	collapses bool
}

// trieNode is a beginning of patterns. Its first child stands behind it, so
// that most patterns lie in one piece.
type trieNode struct {
	// label is the last character, or one of those below.
	label rune
	// fail is the longest proper end of the node that is a node too; skip is
	// the longest one that has a child the node does not have.
	fail, skip int32
	// depth is the number of characters.
	depth int32
	// found is the length of the longest pattern that the node ends with, 0
	// when there is none; lead and trail say that the character before or after
	// belongs to it.
	found       int32
	lead, trail bool
	// branches says that the automaton has other children.
	branches bool
	// first and size are the place of the node in the tree of fail links, and the
	// number of nodes below: those that end with it.
	first, size int32
}

const (
	labelRoot rune = -1 - iota
	// labelNone stands behind a node without a child.
	labelNone
)

type trieEdge struct {
	node  int32
	label rune
}

func newAutomaton(shape formShape) *automaton {
	return &automaton{
		single: plainOf(shape), collapses: shape == shapeText,
		nodes:  []trieNode{{label: labelRoot}, {label: labelNone}},
		others: make(map[trieEdge]int32),
	}
}

// addPattern adds a pattern of at least one character.
func (a *automaton) addPattern(chars []rune, lead, trail bool) {
	v, i := int32(0), 0
	for ; i < len(chars); i++ {
		c := a.childOf(v, chars[i])
		if c == 0 {
			break
		}
		v = c
	}
	if i < len(chars) {
		next := int32(len(a.nodes))
		a.others[trieEdge{v, chars[i]}] = next
		a.nodes[v].branches = true
		for ; i < len(chars); i++ {
			a.nodes = append(a.nodes, trieNode{label: chars[i], depth: int32(i) + 1, fail: v})
			v = int32(len(a.nodes) - 1)
		}
		a.nodes = append(a.nodes, trieNode{label: labelNone})
	}
	n := &a.nodes[v]
	n.found, n.lead, n.trail = n.depth, n.lead || lead, n.trail || trail
}

// childOf returns the child of v with a label, 0 when there is none.
func (a *automaton) childOf(v int32, label rune) int32 {
	switch {
	case a.nodes[v+1].label == label:
		return v + 1
	case a.nodes[v].branches:
		return a.others[trieEdge{v, label}]
	default:
		return 0
	}
}

// nextNode returns the longest node that is an end of v with one character
// more. The number of links that it follows is added to steps.
func (a *automaton) nextNode(v int32, label rune, steps *int) int32 {
	for {
		if c := a.childOf(v, label); c != 0 {
			return c
		}
		if v == 0 {
			return 0
		}
		v = a.nodes[v].skip
		*steps++
	}
}

// endsWith reports whether the characters of v end with those of o.
func (a *automaton) endsWith(v, o int32) bool {
	n := &a.nodes[o]
	return uint32(a.nodes[v].first-n.first) < uint32(n.size)
}

// link computes the links after all patterns were added. Until then, fail
// holds the parent.
func (a *automaton) link() {
	order := a.sortByDepth()
	var steps int
	for _, v := range order {
		n := &a.nodes[v]
		n.size = 1
		if n.depth > 1 {
			n.fail = a.nextNode(a.nodes[n.fail].fail, n.label, &steps)
		} else {
			n.fail = 0
		}
		end := &a.nodes[n.fail]
		if n.found == 0 {
			n.found, n.lead = end.found, end.lead
		}
		n.trail = n.trail || end.trail
		n.skip = n.fail
		if n.fail != 0 && a.hasChildrenOf(v, n.fail) {
			n.skip = a.nodes[n.fail].skip
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		n := &a.nodes[order[i]]
		a.nodes[n.fail].size += n.size
	}
	a.nodes[0].size++
	plain := make([]byte, len(a.nodes))
	for v, n := range a.nodes {
		if n.label < 0 || n.label >= utf8.RuneSelf {
			continue
		}
		a.labels[n.label] = true
		if n.found == 0 && a.single[n.label] {
			plain[v] = byte(n.label)
		}
	}
	a.plain = string(plain)
	taken := make([]int32, len(a.nodes))
	for _, v := range order {
		n := &a.nodes[v]
		n.first = a.nodes[n.fail].first + 1 + taken[n.fail]
		taken[n.fail] += n.size
	}
}

// hasChildrenOf reports whether v has a child for each one of o. It may be
// false for nodes with many.
func (a *automaton) hasChildrenOf(v, o int32) bool {
	if a.nodes[o].branches {
		return false
	}
	label := a.nodes[o+1].label
	return label == labelNone || a.childOf(v, label) != 0
}

// sortByDepth returns all nodes but the root, the short ones first.
func (a *automaton) sortByDepth() []int32 {
	var starts []int32
	for _, n := range a.nodes {
		for int(n.depth) >= len(starts) {
			starts = append(starts, 0)
		}
		if n.depth > 0 {
			starts[n.depth]++
		}
	}
	total := int32(0)
	for d, n := range starts {
		starts[d] = total
		total += n
	}
	order := make([]int32, total)
	for v, n := range a.nodes {
		if n.depth > 0 {
			order[starts[n.depth]] = int32(v)
			starts[n.depth]++
		}
	}
	return order
}
