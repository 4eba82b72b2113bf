package registry

import (
	"context"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
)

// probeAccess refuses a call that the accessors would refuse anyway, with the
// words of their refusal, before a person is asked about it.
func (c *call) probeAccess(ctx context.Context) bool {
	touches := c.entry.tool.Touches
	if len(touches) == 0 {
		return true
	}
	c.describeToTool()
	if _, err := c.scope.Bind(ctx, &c.out, scoped.Turn{}, c.addDecision); err != nil {
		return c.refuseUnavailable(err)
	}
	for _, t := range touches {
		for _, item := range c.touchedItems(t) {
			if err := scoped.Probe(&c.out, t.Capability, item); err != nil {
				res := sallyport.ErrorResult(err)
				return c.refuse(sallyport.Decision{
					Step: sallyport.StepAccess, Capability: t.Capability, Resource: item,
					Why: "the call would be refused, so no person was asked: " + res.Error,
				}, res.Code, res.Error)
			}
		}
	}
	return true
}

// touchedItems returns what the arguments name as one touch.
func (c *call) touchedItems(t sallyport.Touch) []string {
	if t.Item != "" {
		return []string{t.Item}
	}
	switch v := c.doc.Value[t.Argument].(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		items := make([]string, 0, len(v))
		for _, item := range v {
			if s, ok := item.(string); ok && s != "" {
				items = append(items, s)
			}
		}
		return items
	}
	return nil
}
