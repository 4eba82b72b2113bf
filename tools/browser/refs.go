package browser

import (
	"strconv"

	"github.com/sallyport/sallyport"
)

// maxRefs bounds the references that are remembered of a document.
const maxRefs = 100_000

// refTable is the names of the nodes of a document. A node keeps its name as long as the
// document is there, and no later node gets it. The lock of the browser guards it.
type refTable struct {
	last   int
	names  map[int64]string
	nodes  map[string]int64
	labels map[string]string
}

func (r *refTable) forgetRefs() { r.names, r.nodes, r.labels = nil, nil, nil }

func (r *refTable) nameOf(node int64, label string) string {
	if name, ok := r.names[node]; ok {
		r.labels[name] = label
		return name
	}
	if len(r.names) >= maxRefs {
		return ""
	}
	if r.names == nil {
		r.names, r.nodes, r.labels = map[int64]string{}, map[string]int64{}, map[string]string{}
	}
	r.last++
	name := "e" + strconv.Itoa(r.last)
	r.names[node], r.nodes[name], r.labels[name] = name, node, label
	return name
}

// pageElement is a node of the page that a reference names.
type pageElement struct {
	ref, label string
	id         int64
}

// findNode returns the node of a reference.
func (t *tab) findNode(ref string) (pageElement, error) {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	id, ok := t.refs.nodes[ref]
	if !ok {
		return pageElement{}, sallyport.InputInvalid(ref + " is no element of this page as it is now; browser_snapshot shows those there are")
	}
	return pageElement{ref, t.refs.labels[ref], id}, nil
}
