package registry

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/facts"
)

// argumentPlan is what a role and a tool say of calls that may carry something, and of the
// names of their arguments, resolved once for all calls. It does not change.
type argumentPlan struct {
	does []sallyport.Effect // beside the answer
	flow flowLists
	// names are those that the schema of the tool has.
	names *argumentNames
	// kinds says which arguments say where something goes.
	kinds map[string]sallyport.ValueKind
	// placed are the kinds of names.properties; nil where arguments are looked up one by one.
	placed []sallyport.ValueKind
	digest string // of kinds; empty when there are none
	// nothing is what most calls carry of what was read.
	nothing *facts.Carried
}

// flowLists says which lists of the role's flow rules have a tool.
type flowLists struct{ allow, approve, refuse bool }

// plan returns what the role says of the names of the tool's arguments.
func (c *call) plan() *argumentPlan {
	if c.planned == nil {
		c.planned = c.role.planFor(c.entry)
	}
	return c.planned
}

func (ro *compiledRole) planFor(e *toolEntry) *argumentPlan {
	v, ok := ro.plans.Load(e)
	if !ok {
		v, _ = ro.plans.LoadOrStore(e, ro.newPlan(e))
	}
	return v.(*argumentPlan)
}

func (ro *compiledRole) newPlan(e *toolEntry) *argumentPlan {
	p := &argumentPlan{does: e.tool.Does, names: e.argumentNames(), kinds: e.tool.Destinations}
	if own := ro.personality; own != nil {
		p.flow = flowLists{listsTool(own.Flow.Allow, &e.tool), listsTool(own.Flow.Approve, &e.tool), listsTool(own.Flow.Refuse, &e.tool)}
		if does := own.Effects[e.id]; does != nil {
			p.does = does
		}
		if kinds := own.Destinations[e.id]; kinds != nil {
			p.kinds = kinds
		}
	}
	if len(p.kinds) > 0 {
		if text, err := json.Marshal(p.kinds); err == nil { // in the order of the names
			p.digest = facts.ShortDigest(string(text))
		}
	}
	p.nothing = &facts.Carried{Kinds: p.digest}
	names := p.names.properties
	if len(names) > len(argumentValues{}.few) || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") }) {
		return p // those whose name begins with a dot have two paths
	}
	p.placed = make([]sallyport.ValueKind, len(names))
	for i, name := range names {
		p.placed[i] = kindAt(p.kinds, name)
	}
	return p
}

// argumentValues are the values of the arguments that the tool declares, in the order of
// their names: they are looked up once for all that judges them.
type argumentValues struct {
	few   [16]any
	given uint64 // a bit for each that is there
	n     int    // how many
	found bool   // they were looked up
}

// lookUpArguments looks up the values of the arguments.
func (c *call) lookUpArguments() {
	p, v := c.plan(), &c.values
	v.given, v.n, v.found = 0, 0, true
	if p.placed == nil {
		return
	}
	for i, name := range p.names.properties {
		item, ok := c.doc.Value[name]
		if v.few[i] = item; ok {
			v.given |= 1 << i
			v.n++
		}
	}
}

// arguments returns the arguments with those values that were looked up.
func (c *call) arguments() (a ceiling.Arguments) {
	a = ceiling.Arguments{Named: c.doc.Value}
	if p := c.plan(); p.placed != nil {
		a.Values, a.Given, a.Kinds = c.values.few[:len(p.placed)], c.values.given, p.placed
	}
	return a
}
