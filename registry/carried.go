package registry

import (
	"encoding/json"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/output"
)

// traceCarried finds out what of the arguments was in what the marks stand for, for the
// rules about it and for the record. A past call has that from its record.
//
// Arguments that are too long to be recorded are not traced: the rules look for them.
func (c *call) traceCarried(known []sallyport.FactMark) {
	if c.past != nil {
		c.carried, c.reads = c.past.Carried, provenance.Recall(c.past.Carried)
		return
	}
	c.carried = nil
	c.reads = c.r.conversations.Reads.Reading(c.caller.Principal.Name, c.caller.Session, c.id, known)
	if len(c.doc.JSON) > recordArgs {
		return
	}
	tracer := provenance.NewTracer(&c.reads)
	s := carrySearch{call: c, tracer: tracer}
	s.visit("", "", c.doc.Value)
	c.carried = tracer.Carried()
	c.carried.Kinds = c.kindsDigest()
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

// kindsDigest names what is said of the arguments that name places; it is empty when
// nothing is.
func (c *call) kindsDigest() string {
	kinds := c.destinations()
	if len(kinds) == 0 {
		return ""
	}
	text, err := json.Marshal(kinds) // in the order of the names
	if err != nil {
		return ""
	}
	return facts.ShortDigest(string(text))
}
