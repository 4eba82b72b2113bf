package registry

import (
	"context"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

// checkReturns makes the structured part plain, validates that of a success
// against the tool's returns schema, and bounds it.
func (c *call) checkReturns() {
	held := c.result.OK && c.entry.returns != nil
	if c.result.Structured == nil && !held {
		return
	}
	tree, size, err := toPlainJSON(c.result.Structured)
	if err != nil && c.result.OK {
		c.replaceBroken(forbidden + err.Error())
		return
	}
	c.result.Structured = c.boundStructured(tree, size)
	if !held {
		return
	}
	if faults := c.entry.returns.Validate(tree); len(faults) > 0 {
		c.replaceBroken(forbidden + faults.Error())
		return
	}
	c.allowStep(sallyport.StepReturns)
}

func (c *call) boundStructured(tree map[string]any, size int) map[string]any {
	if size <= c.r.o.StructuredBytes {
		return tree
	}
	return map[string]any{"truncated": true, "bytes": size}
}

// forbidden begins the text of a failure of the returns schema.
const forbidden = "The tool returned what its returns schema forbids: "

// replaceBroken replaces a result that breaks the tool's own schema or form
// by an error.
func (c *call) replaceBroken(why string) {
	c.addDecision(sallyport.Decision{Step: sallyport.StepReturns, Why: why})
	cost := c.result.CostUSD
	c.result = sallyport.Err(why, sallyport.CodeExecutionFailed)
	c.result.CallID, c.result.CostUSD = c.id, cost
}

// finishRefused finishes a call that a step stopped before its tool ran. The gate's own
// texts are not wrapped; they are cleaned, because they may repeat what the caller
// sent.
func (c *call) finishRefused(ctx context.Context) sallyport.Result {
	c.takeBackSums(ctx)
	c.cleanResult()
	c.cleaned.err, _ = output.Trim(c.cleaned.err, c.budget)
	return c.recordOutcome(ctx)
}
