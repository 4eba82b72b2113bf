package registry

import (
	"cmp"
	"context"
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
// Arguments that are too long to be recorded are not traced: the rules look for them. A
// search that ends with its call says nothing of them.
func (c *call) traceCarried(ctx context.Context, known []sallyport.FactMark, now time.Time) error {
	if c.past != nil {
		c.carried, c.reads = c.past.Carried, provenance.Recall(c.past.Carried)
		return nil
	}
	ctx = c.untilEnded(ctx)
	c.carried, c.others = nil, nil
	c.reads = c.r.conversations.Reads.Reading(c.caller.Principal.Name, c.caller.Session, c.id, known, now)
	if len(c.doc.JSON) > recordArgs {
		return nil
	}
	var few [16]provenance.Value // on the stack: enough for most calls
	all, undeclared := c.appendArguments(few[:0])
	tracer := provenance.NewTracer(&c.reads)
	err := tracer.Add(ctx, all...)
	if err == nil && tracer.IsFull() {
		tracer = provenance.NewTracer(&c.reads) // which pieces it names is not left to chance
		slices.SortFunc(all, func(a, b provenance.Value) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
		})
		err = tracer.Add(ctx, all...)
	}
	switch {
	case err != nil:
		return err
	case tracer.FoundNothing() && len(undeclared) == 0 && !c.mayBeCopied():
		c.carried = c.plan().nothing
		return nil
	}
	c.carried = tracer.Carried()
	c.carried.Kinds = c.kindsDigest(undeclared)
	if c.mayBeCopied() {
		return c.traceCopied(ctx, all)
	}
	return nil
}

// traceCopied finds out what of the arguments other sessions had read.
func (c *call) traceCopied(ctx context.Context, values []provenance.Value) error {
	tracer := provenance.NewTracer(c.readOfOthers())
	if err := tracer.Add(ctx, values...); err != nil {
		c.carried = nil
		return err
	}
	of := tracer.Carried()
	c.carried.Copied, c.carried.Wordless, c.carried.More = of.Pieces, of.Unknown, c.carried.More || of.More
	return nil
}

// readOfOthers returns what other sessions of the principal read, which is asked for once
// for each judgement.
func (c *call) readOfOthers() *provenance.Reading {
	if c.others == nil {
		others := c.r.conversations.Reads.Others(c.caller.Principal.Name, c.caller.Session, c.task.After)
		c.others = &others
	}
	return c.others
}

// noteCopied is traceCopied for a call that may be refused before it is known what it
// carries: the record says that there may be more.
func (c *call) noteCopied(ctx context.Context) error {
	if c.carried != nil || len(c.doc.JSON) > recordArgs {
		return nil
	}
	all, undeclared := c.appendArguments(nil)
	c.carried = &facts.Carried{More: true, Kinds: c.kindsDigest(undeclared)}
	return c.traceCopied(ctx, all)
}

// appendArguments appends what the arguments hold, in any order, and returns the names among
// them that the tool does not declare.
func (c *call) appendArguments(all []provenance.Value) (_ []provenance.Value, undeclared []string) {
	if !c.values.found {
		c.lookUpArguments()
	}
	p, v := c.plan(), &c.values
	g := argumentGathering{plan: p}
	if v.n < len(c.doc.Value) {
		all = g.appendValue(all, "", c.doc.Value)
		return all, g.undeclared
	}
	for i, kind := range p.placed { // as most calls have it
		switch item := v.few[i].(type) {
		case nil:
		case string:
			all = append(all, provenance.Value{Kind: kind, Text: item})
		case json.Number:
			all = append(all, provenance.Value{Kind: kind, Text: string(item)})
		default:
			all = g.appendValue(all, p.names.properties[i], item)
		}
	}
	return all, g.undeclared
}

// argumentGathering gathers the values of the arguments of a call.
type argumentGathering struct {
	plan *argumentPlan
	// undeclared are the names that the schema of the tool does not have: the caller chose
	// them like values.
	undeclared []string
}

// appendValue appends what a value holds. The path leaves out the places in lists, as
// destinations do.
func (g *argumentGathering) appendValue(all []provenance.Value, path string, v any) []provenance.Value {
	switch v := v.(type) {
	case string:
		return append(all, provenance.Value{Kind: kindAt(g.plan.kinds, path), Text: v})
	case json.Number:
		return append(all, provenance.Value{Kind: kindAt(g.plan.kinds, path), Text: string(v)})
	case []any:
		for _, item := range v {
			all = g.appendValue(all, path, item)
		}
	case map[string]any:
		for name, item := range v {
			if !g.plan.names.all[name] {
				all = append(all, provenance.Value{Kind: kindAt(g.plan.kinds, path), Text: name})
				g.undeclared = append(g.undeclared, name)
			}
			all = g.appendValue(all, joinPath(path, name), item)
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
	_, undeclared := c.appendArguments(nil)
	return undeclared
}

// kindsDigest names what is said of the arguments that name places, and which of their
// names the tool does not declare, in any order; it is empty when there is nothing of it.
func (c *call) kindsDigest(undeclared []string) string {
	said := c.plan().digest
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
