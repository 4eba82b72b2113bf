package openapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/schema"
)

// The bounds of one schema. A model reads those of arguments whole.
const (
	maxNodes   = 400
	maxBytes   = 24 << 10
	maxNesting = 12
	maxChoices = 200 // of an enumeration
)

// schemaConversion is one conversion of a schema of the document into a JSON
// Schema. What it leaves out makes the schema accept more, never less.
type schemaConversion struct {
	im *importer
	// request is true for arguments, whose descriptions are kept. Answers are
	// held to types and members, not to values: a server that adds a word to an
	// enumeration would make calls fail that had their effect.
	request bool
	// depth is where the schema is cut, most the nodes that it may have.
	depth, most int
	nodes       int
	cut         bool
	// path is the references that are being followed.
	path []yamldoc.Node
}

// convertSchema converts a schema within the bounds: the deepest one that fits.
func (im *importer) convertSchema(n yamldoc.Node, request bool, most int) (v orderedObject, cut bool) {
	for _, depth := range []int{maxNesting, 8, 6, 5, 4, 3, 2, 1} {
		c, before := schemaConversion{im: im, request: request, depth: depth, most: most}, im.markNotes()
		v, _ = c.convertNode(n, 0)
		if !c.isFull() && jsonSize(v) <= maxBytes {
			return v, c.cut
		}
		im.dropNotes(before)
	}
	return orderedObject{}, true
}

// convertNode returns the schema of a node; weak is true when it accepts more than
// the document says.
func (c *schemaConversion) convertNode(n yamldoc.Node, depth int) (v orderedObject, weak bool) {
	if c.nodes++; c.isFull() {
		c.cut = true
		return orderedObject{}, true
	}
	if always, ok := n.Bool(); ok {
		if always {
			return orderedObject{}, false
		}
		return orderedObject{{"not", orderedObject{}}}, false
	}
	if !n.IsMapping() {
		return orderedObject{}, c.noteDropped(n, "expected a schema, found %s", n.Kind())
	}
	if n.Get("$ref").Present() {
		return c.inlineReference(n, depth)
	}
	k := keywordReader{c: c, n: n, depth: depth}
	return k.readSchema()
}

// isFull reports whether the schema is over its bound, so that what comes of it
// is not used and need not be looked at.
func (c *schemaConversion) isFull() bool { return c.nodes > c.most }

func (c *schemaConversion) noteDropped(n yamldoc.Node, format string, args ...any) (weak bool) {
	c.im.addNote(n, Changed, format, args...)
	return true
}

// inlineReference puts the target in the place of a reference.
func (c *schemaConversion) inlineReference(n yamldoc.Node, depth int) (v orderedObject, weak bool) {
	to, err := c.im.followRef(n)
	if err != nil {
		return orderedObject{}, c.noteDropped(n, "the schema %v: anything is accepted here", err)
	}
	if slices.ContainsFunc(c.path, to.Same) {
		return orderedObject{}, c.noteDropped(n, "the schema refers to itself: anything is accepted from here on")
	}
	c.path = append(c.path, to)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	v, weak = c.convertNode(to, depth)
	if text, ok := n.Get("description").Text(); ok && c.request {
		if text = c.im.texts.cleanText(text, maxArgument); text != "" {
			v = slices.Clone(v)
			v.setMember("description", text)
		}
	}
	if c.im.old || !hasConstraints(n) {
		// In OpenAPI 3.0 what stands beside a reference does not count.
		return v, weak
	}
	k := keywordReader{c: c, n: n, depth: depth}
	own, more := k.readSchema()
	own.removeMember("description")
	return orderedObject{{"allOf", []any{v, own}}}, weak || more
}

// hasConstraints reports whether more than annotations stand beside a reference.
func hasConstraints(n yamldoc.Node) bool {
	return slices.ContainsFunc(n.Members(), func(m yamldoc.Member) bool {
		switch m.Name {
		case "$ref", "description", "summary", "title", "default", "deprecated", "example", "examples", "readOnly", "writeOnly", "$comment":
			return false
		}
		return !strings.HasPrefix(m.Name, "x-")
	})
}

// plainValue returns a value of the document as it is; ok is false for one that
// cannot be shown so.
func (c *schemaConversion) plainValue(n yamldoc.Node, depth int) (v any, ok bool) {
	if s, is := n.Text(); is {
		return s, c.im.texts.isExact(s)
	}
	if s, is := n.Number(); is {
		return json.Number(s), isNumber(s)
	}
	if b, is := n.Bool(); is {
		return b, true
	}
	switch {
	case n.IsNull():
		return nil, true
	case n.IsList() && depth < 4:
		list := []any{}
		for _, item := range n.Items() {
			v, ok := c.plainValue(item, depth+1)
			if !ok || len(list) >= maxChoices {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case n.IsMapping() && depth < 4:
		o := orderedObject{}
		for _, m := range n.Members() {
			v, ok := c.plainValue(m.Node, depth+1)
			if !ok || !c.im.texts.isExact(m.Name) || len(o) >= maxChoices {
				return nil, false
			}
			o.addMember(m.Name, v)
		}
		return o, true
	default:
		return nil, false
	}
}

// isNumber reports whether a text is a number that a schema may hold.
func isNumber(s string) bool {
	_, err := schema.Decode([]byte(s), nil)
	return err == nil && json.Valid([]byte(s))
}

func isCount(s string) bool {
	n, err := strconv.ParseInt(s, 10, 32)
	return err == nil && n >= 0
}

// isPattern reports whether a pattern can be compiled here.
func (im *importer) isPattern(s string) bool {
	ok, known := im.patterns[s]
	if !known {
		_, err := schema.CompileAny(json.RawMessage(`{"type":"string","pattern":` + jsonText(s) + `}`))
		if ok = err == nil; len(im.patterns) < maxKept {
			im.patterns[s] = ok
		}
	}
	return ok
}

// onlyTypes reports whether the types of a schema are all among some.
func onlyTypes(v orderedObject, types ...string) bool {
	t, ok := v.memberValue("type")
	if !ok {
		return false
	}
	list, many := t.([]any)
	if !many {
		list = []any{t}
	}
	return !slices.ContainsFunc(list, func(one any) bool {
		s, _ := one.(string)
		return !slices.Contains(types, s)
	})
}
