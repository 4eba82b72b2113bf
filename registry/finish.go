package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
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

// boundStructured replaces structured data whose text is too long.
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

// reduceResult applies the tool's reducer. Of what it returns the value, the
// error and the structured part count: it neither sees nor changes other
// parts. One that fails leaves the result as it was; the full value is kept
// for the operator.
func (c *call) reduceResult() {
	red := c.r.findReducer(c.q.Tool)
	if red == nil {
		return
	}
	before := c.result
	after, ok := c.runReducer(red)
	if !ok {
		return
	}
	tree, size, err := toPlainJSON(after.Structured)
	switch {
	case after.OK != before.OK || (!after.OK && after.Code != before.Code):
		c.addDecision(sallyport.Decision{Step: sallyport.StepReduce, Why: "the reducer changed the outcome; its result was ignored"})
		return
	case err != nil:
		c.addDecision(sallyport.Decision{Step: sallyport.StepReduce, Why: "the reducer's result was ignored: " + err.Error()})
		return
	}
	if before.OK && after.Value != before.Value {
		c.full = before.Value
	}
	if c.result.Structured = c.boundStructured(tree, size); before.OK {
		c.result.Value = after.Value
	} else if after.Error != "" {
		c.result.Error = after.Error
	}
	c.allowStep(sallyport.StepReduce)
}

// runReducer runs a reducer on a copy.
func (c *call) runReducer(red *sallyport.Reducer) (res sallyport.Result, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			c.logFault("reducer panicked", v)
			c.addDecision(sallyport.Decision{Step: sallyport.StepReduce, Why: "the reducer panicked; the result was left as it was"})
			ok = false
		}
	}()
	own := c.result
	own.Structured, own.Parts = cloneObject(own.Structured), nil
	args := append(json.RawMessage(nil), c.doc.JSON...)
	return red.Reduce(own, sallyport.ReducerContext{Args: args, Turn: c.caller.Turn}), true
}

// finishRefused finishes a call that a step stopped. The gate's own texts are
// not wrapped; they are cleaned, because they may repeat what the caller
// sent.
func (c *call) finishRefused(ctx context.Context) sallyport.Result {
	c.cleanResult()
	c.cleaned.err, _ = output.Trim(c.cleaned.err, c.budget)
	return c.recordOutcome(ctx)
}

// describeDryRun answers a dry run: no accessor is made and no limit consumed.
func (c *call) describeDryRun(ctx context.Context) sallyport.Result {
	var args bytes.Buffer
	if err := json.Compact(&args, c.doc.JSON); err != nil {
		// The text was decoded a moment ago, so that this cannot happen.
		args.WriteString("{}")
	}
	// Cleaning comes first, so that nothing is abridged within a secret.
	clean := c.cleaner().Text("[dry-run] " + c.q.Tool + " would be called with: " + args.String())
	c.result = sallyport.OK(string(abridgeJSON([]byte(clean))))
	c.result.CallID = c.id
	c.cleanResult()
	c.cleaned.value, _ = output.Trim(c.cleaned.value, c.budget)
	c.allowStep(sallyport.StepDryRun)
	return c.recordOutcome(ctx)
}

// abridgeJSON shortens string literals of more than 500 characters in JSON
// text, which keeps a described call readable.
func abridgeJSON(text []byte) []byte {
	const most = 500
	if len(text) <= most {
		return text
	}
	var out []byte
	for i := 0; i < len(text); {
		if text[i] != '"' {
			out = append(out, text[i])
			i++
			continue
		}
		end := i + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(text))
		out = append(out, abridgeLiteral(text[i:end], most)...)
		i = end
	}
	return out
}

// abridgeLiteral shortens one string literal.
func abridgeLiteral(literal []byte, most int) []byte {
	var s string
	if len(literal) <= most || json.Unmarshal(literal, &s) != nil {
		return literal
	}
	chars := utf8.RuneCountInString(s)
	if chars <= most {
		return literal
	}
	short, err := json.Marshal(fmt.Sprintf("%s...[truncated, %d chars]", text.FirstChars(s, most), chars))
	if err != nil {
		return literal
	}
	return short
}

// elapsedTime returns how long the call has taken.
func (c *call) elapsedTime() time.Duration { return time.Since(c.start) }
