package registry

import (
	"cmp"

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
		said, near := "Unknown tool: "+c.q.Tool, c.suggestTool()
		if near != "" {
			said += "\nDid you mean " + near + "?"
		}
		return c.refuse(c.explainUnknown(near), sallyport.CodeNotAvailable, said)
	}
	return c.allowStep(sallyport.StepFind)
}

// explainUnknown says for the operator why no tool has the name of the call: what
// holds it back, where that is known, or the list of the role that leaves it out too.
func (c *call) explainUnknown(near string) sallyport.Decision {
	d := sallyport.Decision{Step: sallyport.StepFind, Why: "no tool of this name is registered"}
	m := c.explainMissing(&d, c.q.Tool)
	if m.Tool == "" {
		if near != "" {
			d.Why += "; did you mean " + near + "?"
		}
		return d
	}
	form, _ := sallyport.ParseID(c.q.Tool)
	shown := c.r.roleFor(c.caller.Personality).decideVisible(&sallyport.Tool{Name: m.Tool, Plugin: m.Plugin, Form: form}, c.caller.Exclude)
	if shown.Step = sallyport.StepFind; !shown.Allowed {
		return shown
	}
	return d
}

// maxSuggestTools bounds how many names an unknown one is compared with.
const maxSuggestTools = 2000

// suggestTool returns the name of the tool that was probably meant, of those that
// this caller sees; empty when none is near.
func (c *call) suggestTool() string { return c.r.suggestName(c.caller, c.q.Tool) }

// suggestName is suggestTool for any caller and name.
func (r *Registry) suggestName(caller *sallyport.Caller, name string) string {
	entries := r.visibleEntries(caller, sallyport.FormTool)
	if len(entries) > maxSuggestTools {
		return ""
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.id
	}
	return text.Nearest(name, names)
}

// explainMissing says in a refusal, for the operator, what holds back what an ID stands
// for, and what changes that. It returns what is known of it, with the name by which roles
// list it; the zero value when nothing is.
func (c *call) explainMissing(d *sallyport.Decision, id string) (m MissingTool) {
	if c.r.o.Missing != nil {
		m = c.r.o.Missing(id)
	}
	if m.Why == "" {
		return MissingTool{}
	}
	d.Why, d.Fix = m.Why, m.Fix
	_, name := sallyport.ParseID(id)
	m.Tool = cmp.Or(m.Tool, name)
	return m
}

// expectedReason says why the tool of the call may be there soon.
func (c *call) expectedReason() string {
	if c.r.o.Expected == nil {
		return ""
	}
	return c.r.o.Expected(c.q.Tool)
}
