package openapi

import (
	"slices"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// readNested reads a keyword that holds schemas. Where the schema is cut it is
// left out, and with it what refers to it.
func (k *keywordReader) readNested(m yamldoc.Member) {
	if k.depth >= k.c.depth {
		k.weak, k.c.cut = true, true
		return
	}
	switch m.Name {
	case "properties":
		k.readProperties(m.Node)
	case "required":
		k.readRequired(m.Node)
	case "additionalProperties":
		is, ok := m.Bool()
		switch {
		case !ok:
			k.readChild(m)
		case !is && !k.c.request:
			k.weak = true
		case !is || k.c.request:
			k.v.addMember(m.Name, is)
		}
	case "items":
		k.readChild(m)
	case "not":
		// What is below accepts more, so its opposite would accept less.
		if v, weak := k.c.convertNode(m.Node, k.depth+1); weak {
			k.noteDropped(m.Node, "not, of a schema that is not taken whole: it is left out")
		} else {
			k.v.addMember(m.Name, v)
		}
	case "prefixItems", "allOf", "anyOf", "oneOf":
		k.readList(m)
	}
}

func (k *keywordReader) readChild(m yamldoc.Member) {
	v, weak := k.c.convertNode(m.Node, k.depth+1)
	k.weak = k.weak || weak
	k.v.addMember(m.Name, v)
}

func (k *keywordReader) readList(m yamldoc.Member) {
	if len(m.Items()) == 0 {
		k.noteDropped(m.Node, "%s: expected a list of schemas: it is left out", m.Name)
		return
	}
	list, vague := []any{}, false
	for _, item := range m.Items() {
		if k.c.isFull() {
			return
		}
		v, weak := k.c.convertNode(item, k.depth+1)
		list, vague = append(list, v), vague || weak
	}
	name := m.Name
	if name == "oneOf" && vague && !k.v.hasMember("anyOf") && !k.n.Get("anyOf").Present() {
		// Of schemas that accept more, two may match where one did.
		name = "anyOf"
	} else if name == "oneOf" && vague {
		k.noteDropped(m.Node, "oneOf, beside anyOf and of schemas that are not taken whole: it is left out")
		return
	}
	k.weak = k.weak || vague
	k.v.addMember(name, list)
}

// readProperties reads the properties without those that the other side alone
// may write.
func (k *keywordReader) readProperties(n yamldoc.Node) {
	if !n.IsMapping() {
		k.noteDropped(n, "properties: expected a mapping, found %s", n.Kind())
		k.open = true
		return
	}
	out := orderedObject{}
	for _, m := range n.Members() {
		if k.c.isFull() {
			return
		}
		if k.c.request && k.c.isMarked(m.Node, "readOnly") {
			continue
		}
		if !k.c.im.texts.isExact(m.Name) {
			k.noteDropped(m.Node, "the name of a property cannot be shown as it stands: it is left out")
			k.open = true
			continue
		}
		v, weak := k.c.convertNode(m.Node, k.depth+1)
		k.weak = k.weak || weak
		out.addMember(m.Name, v)
	}
	k.v.addMember("properties", out)
}

// isMarked reports whether a property is for one direction only.
func (c *schemaConversion) isMarked(n yamldoc.Node, mark string) bool {
	if is, ok := n.Get(mark).Bool(); ok {
		return is
	}
	to, err := c.im.followRef(n)
	is, _ := to.Get(mark).Bool()
	return err == nil && is
}

func (k *keywordReader) readRequired(n yamldoc.Node) {
	// On a property of its own, where older drafts had it, it is a truth value.
	if _, ok := n.Bool(); ok {
		return
	}
	mark := "writeOnly"
	if k.c.request {
		mark = "readOnly"
	}
	var names []any
	for _, item := range n.Items() {
		if len(names) > k.c.most {
			k.c.nodes = k.c.most + 1
			return
		}
		name, ok := item.Text()
		if !ok || !k.c.im.texts.isExact(name) {
			k.noteDropped(item, "required: expected the name of a property: it is left out")
			continue
		}
		if !k.c.isMarked(k.n.Get("properties").Get(name), mark) && !slices.Contains(names, any(name)) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		k.v.addMember("required", names)
	}
}
