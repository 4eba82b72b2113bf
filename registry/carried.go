package registry

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/output"
)

// traceCarried finds out what of the arguments was in what the marks stand for, for the
// rules about it and for the record. A past call has that from its record.
//
// Arguments that are too long to be recorded are not traced: the rules look for them.
func (c *call) traceCarried(known []sallyport.FactMark, now time.Time) {
	if c.past != nil {
		c.carried, c.reads = c.past.Carried, provenance.Recall(c.past.Carried)
		return
	}
	c.carried = nil
	c.reads = c.r.conversations.Reads.Reading(c.caller.Principal.Name, c.caller.Session, c.id, known, now)
	if len(c.doc.JSON) > recordArgs {
		return
	}
	var few [16]provenance.Value // on the stack: enough for most calls
	v := c.newArgumentValues()
	all := v.appendArguments(few[:0], c.doc.Value)
	tracer := provenance.NewTracer(&c.reads)
	if tracer.Add(all...); tracer.IsFull() {
		tracer = provenance.NewTracer(&c.reads) // which pieces it names is not left to chance
		slices.SortFunc(all, func(a, b provenance.Value) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
		})
		tracer.Add(all...)
	}
	c.carried = tracer.Carried()
	c.carried.Kinds = c.kindsDigest(v.undeclared)
	if c.mayBeCopied() {
		c.traceCopied(all)
	}
}

// traceCopied finds out what of the arguments other sessions had read.
func (c *call) traceCopied(values []provenance.Value) {
	others := c.r.conversations.Reads.Others(c.caller.Principal.Name, c.caller.Session, c.task.After)
	tracer := provenance.NewTracer(&others)
	tracer.Add(values...)
	of := tracer.Carried()
	c.carried.Copied, c.carried.Wordless, c.carried.More = of.Pieces, of.Unknown, c.carried.More || of.More
}

// noteCopied is traceCopied for a call that may be refused before it is known what it
// carries: the record says that there may be more.
func (c *call) noteCopied() {
	if c.carried == nil && len(c.doc.JSON) <= recordArgs {
		v := c.newArgumentValues()
		all := v.appendArguments(nil, c.doc.Value)
		c.carried = &facts.Carried{More: true, Kinds: c.kindsDigest(v.undeclared)}
		c.traceCopied(all)
	}
}

// argumentValues gathers the values of the arguments of a call, in any order.
type argumentValues struct {
	declared   map[string]bool // see argumentNames
	properties []string        // see argumentNames
	kinds      map[string]sallyport.ValueKind
	// undeclared are the names that the schema of the tool does not have: the caller chose
	// them like values.
	undeclared []string
}

func (c *call) newArgumentValues() argumentValues {
	names := c.entry.argumentNames()
	return argumentValues{declared: names.all, properties: names.properties, kinds: c.destinations()}
}

// appendArguments appends what arguments hold.
func (a *argumentValues) appendArguments(all []provenance.Value, args map[string]any) []provenance.Value {
	declared, before := 0, len(all)
	for _, name := range a.properties {
		if item, ok := args[name]; ok {
			all = a.appendTo(all, joinPath("", name), item)
			declared++
		}
	}
	if declared == len(args) { // as most calls have it
		return all
	}
	a.undeclared = nil
	return a.appendTo(all[:before], "", args)
}

// appendTo appends what a value holds. The path leaves out the places in lists, as
// destinations do.
func (a *argumentValues) appendTo(all []provenance.Value, path string, v any) []provenance.Value {
	switch v := v.(type) {
	case string:
		return append(all, provenance.Value{Kind: kindAt(a.kinds, path), Text: v})
	case json.Number:
		return append(all, provenance.Value{Kind: kindAt(a.kinds, path), Text: string(v)})
	case []any:
		for _, item := range v {
			all = a.appendTo(all, path, item)
		}
	case map[string]any:
		for name, item := range v {
			if !a.declared[name] {
				all = append(all, provenance.Value{Kind: kindAt(a.kinds, path), Text: name})
				a.undeclared = append(a.undeclared, name)
			}
			all = a.appendTo(all, joinPath(path, name), item)
		}
	}
	return all
}

// carriesNothing reports whether nothing of the arguments can be found in what was read.
func (c *call) carriesNothing() bool {
	return c.carried != nil && len(c.carried.Pieces) == 0 && !c.carried.Unknown && !c.carried.More
}

// recordedCarried returns what the record says that the call carried; nil when a secret
// was removed from the arguments, which a digest of a piece could give away.
func (c *call) recordedCarried() *facts.Carried {
	if c.carried == nil {
		return nil
	}
	whole, err := output.Plain().JSON(c.doc.Value)
	if err != nil || whole != c.recorded.event.Args {
		return nil
	}
	return c.carried
}

// undeclaredNames returns the names among the arguments that the tool does not declare.
func (c *call) undeclaredNames() []string {
	v := c.newArgumentValues()
	v.appendArguments(nil, c.doc.Value)
	return v.undeclared
}

// kindsDigest names what is said of the arguments that name places, and which of their
// names the tool does not declare, in any order; it is empty when there is nothing of it.
func (c *call) kindsDigest(undeclared []string) string {
	said := c.role.digestKinds(c.entry, c.destinations())
	if len(undeclared) == 0 {
		return said
	}
	slices.Sort(undeclared)
	text, err := json.Marshal(append([]string{said}, slices.Compact(undeclared)...))
	if err != nil {
		return ""
	}
	return facts.ShortDigest(string(text))
}

// digestKinds names what is said of the arguments of a tool that name places; it is empty
// when nothing is.
func (ro *compiledRole) digestKinds(e *toolEntry, kinds map[string]sallyport.ValueKind) string {
	if len(kinds) == 0 {
		return ""
	}
	if known, ok := ro.kinds.Load(e); ok {
		return known.(string)
	}
	text, err := json.Marshal(kinds) // in the order of the names
	if err != nil {
		return ""
	}
	said := facts.ShortDigest(string(text))
	ro.kinds.Store(e, said)
	return said
}
