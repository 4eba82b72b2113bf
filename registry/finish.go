package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

// returns holds the structured part to the tool's returns schema.
func (c *call) returns() {
	if !c.result.OK {
		return
	}
	if len(c.result.Structured) > 0 || c.entry.returns != nil {
		tree, err := plain(c.result.Structured, c.r.o.StructuredBytes)
		if err != nil {
			c.broken(err.Error())
			return
		}
		c.result.Structured = tree
	}
	if c.entry.returns == nil {
		return
	}
	if faults := c.entry.returns.Validate(c.result.Structured); len(faults) > 0 {
		c.broken(faults.Error())
		return
	}
	c.allow(sallyport.StepReturns)
}

// broken replaces a result that breaks the tool's own promise.
func (c *call) broken(why string) {
	c.note(sallyport.Decision{Step: sallyport.StepReturns, Why: why})
	cost := c.result.CostUSD
	c.result = sallyport.Err("The tool returned what its returns schema forbids: "+why, sallyport.CodeExecutionFailed)
	c.result.CallID, c.result.CostUSD = c.out.ID, cost
}

// plain turns structured data, which may hold a tool's own types, into JSON's
// types, and bounds it.
func plain(v map[string]any, limit int) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("structured data is not JSON: %w", err)
	}
	if len(text) > limit {
		return map[string]any{"truncated": true, "bytes": len(text)}, nil
	}
	var tree map[string]any
	err = json.Unmarshal(text, &tree)
	return tree, err
}

// reduce applies the tool's reducer. One that panics leaves the result as it
// was; the full value is kept for the operator.
func (c *call) reduce() {
	red := c.r.reducer(c.q.Tool)
	if red == nil {
		return
	}
	before := c.result
	after, ok := c.reduced(red)
	if !ok {
		return
	}
	after.CallID = before.CallID
	if after.OK != before.OK || (!after.OK && after.Code != before.Code) {
		c.note(sallyport.Decision{Step: sallyport.StepReduce, Why: "the reducer changed the outcome; its result was ignored"})
		return
	}
	if after.Value != before.Value {
		c.full = before.Value
	}
	c.result = after
	c.allow(sallyport.StepReduce)
}

func (c *call) reduced(red *sallyport.Reducer) (res sallyport.Result, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			c.r.o.Logger.Error("reducer panicked", "call", c.out.ID, "tool", c.q.Tool, "panic", fmt.Sprint(v))
			c.note(sallyport.Decision{Step: sallyport.StepReduce, Why: "the reducer panicked; the result was left as it was"})
			ok = false
		}
	}()
	return red.Reduce(c.result, sallyport.ReducerContext{Args: c.out.Args, Turn: c.out.Turn}), true
}

// clean removes secrets, control sequences and template tokens from
// everything that leaves the gate.
func (c *call) clean() {
	cl := c.cleaner()
	c.result.Value = cl.Text(c.result.Value)
	c.result.Error = cl.Text(c.result.Error)
	c.full = cl.Text(c.full)
	if c.result.Structured != nil {
		c.result.Structured, _ = cl.Value(c.result.Structured).(map[string]any)
	}
}

// finish cuts the result to the budget, wraps what somebody else controls,
// records the outcome and returns.
func (c *call) finish(ctx context.Context) sallyport.Result {
	t := &c.entry.tool
	limit := c.limitChars()
	res := c.result
	var cut, cutError bool
	res.Value, cut = output.Trim(res.Value, limit)
	res.Error, cutError = output.Trim(res.Error, limit)
	if cut || cutError {
		c.note(sallyport.Decision{Step: sallyport.StepTrim, Allowed: true, Why: fmt.Sprintf("cut to %d characters", limit)})
	}
	if t.OutputIsUntrusted && !c.bare {
		c.wrap(&res)
	}
	c.result = res
	return c.record(ctx, c.result)
}

// limitChars is the value's bound: the call's share of the batch and the
// tool's own bound.
func (c *call) limitChars() int {
	own := c.entry.tool.MaxResultChars
	if own == 0 || own > c.budget {
		return c.budget
	}
	return own
}

// wrap marks a value or error whose text somebody else controls.
func (c *call) wrap(res *sallyport.Result) {
	source := res.Source
	if source == "" {
		source = output.Source(c.q.Tool, c.doc.Value)
	}
	source = c.cleaner().Text(source)
	if res.OK {
		res.Value = output.Wrap(res.Value, source, c.q.Tool)
		return
	}
	res.Error = output.Wrap(res.Error, source, c.q.Tool)
}

// refused ends a call that a step stopped. The gate's own texts are not
// wrapped; they are cleaned, because they may repeat what the caller sent.
func (c *call) refused(ctx context.Context) sallyport.Result {
	c.result.Error, _ = output.Trim(c.cleaner().Text(c.result.Error), c.budget)
	return c.record(ctx, c.result)
}

// describe answers a dry run: no accessor is made and no limit consumed.
func (c *call) describe(ctx context.Context) sallyport.Result {
	var args bytes.Buffer
	if err := json.Compact(&args, c.doc.JSON); err != nil {
		// The text was decoded a moment ago, so that this cannot happen.
		args.WriteString("{}")
	}
	text := "[dry-run] " + c.q.Tool + " would be called with: " + string(abridge(args.Bytes()))
	c.result = sallyport.OK(c.cleaner().Text(text))
	c.result.CallID = c.out.ID
	c.result.Value, _ = output.Trim(c.result.Value, c.budget)
	c.allow(sallyport.StepDryRun)
	return c.record(ctx, c.result)
}

// abridge shortens string literals of more than 500 characters in JSON text,
// which keeps a described call readable.
func abridge(text []byte) []byte {
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
		out = append(out, abridged(text[i:end], most)...)
		i = end
	}
	return out
}

// abridged shortens one string literal.
func abridged(literal []byte, most int) []byte {
	var s string
	if len(literal) <= most || json.Unmarshal(literal, &s) != nil {
		return literal
	}
	runes := []rune(s)
	if len(runes) <= most {
		return literal
	}
	short, err := json.Marshal(fmt.Sprintf("%s...[truncated, %d chars]", string(runes[:most]), len(runes)))
	if err != nil {
		return literal
	}
	return short
}

// elapsed is how long the call has taken.
func (c *call) elapsed() time.Duration { return time.Since(c.start) }
