package registry

import (
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
)

// decodeArgs reads the arguments once, strictly. Everything after it works on
// what was decoded here. A tool that is known lends its schema, so that the
// text is looked at once.
func (c *call) decodeArgs() bool {
	parse := schema.Parse
	if c.entry != nil {
		parse = c.entry.args.Parse
	}
	doc, err := parse(c.q.Args)
	if err != nil {
		return c.refuse(sallyport.Decision{Step: sallyport.StepDecode, Why: err.Error()},
			sallyport.CodeInputInvalid, err.Error())
	}
	c.doc = doc
	return c.allowStep(sallyport.StepDecode)
}

// findTool refuses a call to a tool that is not registered, or by a caller
// who is not known.
func (c *call) findTool() bool {
	d := sallyport.Decision{Step: sallyport.StepFind}
	switch {
	case c.late:
		d.Why = "the registry is closed"
		return c.refuse(d, sallyport.CodeNotAvailable, "The gate is shutting down")
	case c.caller.Principal.Name == "":
		d.Why = "the edge named no principal"
		return c.refuse(d, sallyport.CodePermissionDenied, "Permission denied: the caller is not known")
	case c.entry == nil && c.expectedReason() != "":
		d.Why = c.expectedReason()
		return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
	case c.entry == nil:
		d.Why = "no tool of this name is registered"
		said := "Unknown tool: " + c.q.Tool
		if near := c.suggestTool(); near != "" {
			d.Why += "; did you mean " + near + "?"
			said += "\nDid you mean " + near + "?"
		}
		return c.refuse(d, sallyport.CodeNotAvailable, said)
	}
	return c.allowStep(sallyport.StepFind)
}

// maxSuggestTools bounds how many names an unknown one is compared with.
const maxSuggestTools = 2000

// suggestTool returns the name of the tool that was probably meant, of those that
// this caller sees; empty when none is near.
func (c *call) suggestTool() string {
	entries := c.r.visibleEntries(c.caller, sallyport.FormTool)
	if len(entries) > maxSuggestTools {
		return ""
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.id
	}
	return text.Nearest(c.q.Tool, names)
}

// expectedReason says why the tool of the call may be there soon.
func (c *call) expectedReason() string {
	if c.r.o.Expected == nil {
		return ""
	}
	return c.r.o.Expected(c.q.Tool)
}
