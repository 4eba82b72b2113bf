package registry

import (
	"encoding/json"
	"fmt"

	"github.com/sallyport/sallyport"
)

// RegisterReducer adds the reducer of a tool, at most one each, and returns
// the function that removes it. Removing twice is safe and never removes a
// successor.
func (r *Registry) RegisterReducer(red sallyport.Reducer) (remove func(), err error) {
	if red.Reduce == nil {
		return nil, fmt.Errorf("registry: reducer for %q has no function", red.Tool)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reducers[red.Tool] != nil {
		return nil, fmt.Errorf("registry: a reducer is already registered for %q", red.Tool)
	}
	own := &red
	r.reducers[red.Tool] = own
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.reducers[red.Tool] == own {
			delete(r.reducers, red.Tool)
		}
	}, nil
}

func (r *Registry) findReducer(tool string) *sallyport.Reducer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.reducers[tool]
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
