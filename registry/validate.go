package registry

import (
	"fmt"
	"slices"

	"github.com/sallyport/sallyport"
)

func (c *call) checkPermissions() bool {
	for _, p := range c.entry.tool.Permissions {
		if !slices.Contains(c.caller.Principal.Permissions, p) {
			d := sallyport.Decision{
				Step:   sallyport.StepPermit,
				Why:    fmt.Sprintf("principal %s does not hold %s", c.caller.Principal.Name, p),
				Source: c.entry.tool.Source("permissions"),
				Fix:    fmt.Sprintf("add %s to principals.%s.permissions", p, c.caller.Principal.Name),
			}
			return c.refuse(d, sallyport.CodePermissionDenied,
				"Permission denied: "+c.q.Tool+" requires "+p)
		}
	}
	return c.allowStep(sallyport.StepPermit)
}

func (c *call) validateArgs() bool {
	if err := c.entry.args.Check(&c.doc); err != nil {
		return c.refuse(sallyport.Decision{Step: sallyport.StepValidate, Why: err.Error()},
			sallyport.CodeInputInvalid, err.Error())
	}
	return true
}

// checkResourceURI refuses a URI that the tool does not list. It is judged
// where the arguments are, because it is one.
func (c *call) checkResourceURI() bool {
	if c.entry.reads == nil {
		return c.allowStep(sallyport.StepValidate)
	}
	uri, _ := c.doc.Value["uri"].(string)
	if c.entry.reads.match(uri) != readsNot {
		return c.allowStep(sallyport.StepValidate)
	}
	d := sallyport.Decision{
		Step: sallyport.StepValidate, Resource: uri,
		Why: "the URI is neither listed by " + c.q.Tool + " nor matched by one of its templates",
	}
	c.explainMissing(&d, string(sallyport.FormResource)+":"+uri)
	return c.refuse(d, sallyport.CodeNotAvailable, "Unknown resource: "+uri)
}
