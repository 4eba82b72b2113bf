package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/plugin/wire"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
)

// Run returns what runs a tool of the plugin. Its errors are those of accessors, which
// are the gate's own words, and the end of the context; everything else that goes
// wrong is a failed result.
func (p *Plugin) Run(tool string) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
	return func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		res, err := p.call(ctx, tool, c)
		res.Source = "plugin " + p.Name
		return res, err
	}
}

func (p *Plugin) call(ctx context.Context, tool string, c *sallyport.Call) (sallyport.Result, error) {
	r := &run{ctx: ctx, call: c, log: logWriter{emit: c.Emit}}
	key := poolKey{tool: tool, session: c.SessionKey, principal: c.Principal.Name, role: c.Personality}
	i, err := p.pool.takeInstance(ctx, key)
	if err == nil {
		var answer []byte
		if r.pending, err = encodeCall(ctx, tool, c); err == nil {
			answer, err = i.askModule(ctx, r, wire.ExportCall)
		}
		p.pool.giveBack(i, err == nil)
		if err == nil {
			return p.decodeResult(r, answer)
		}
	}
	if fault, ok := errors.AsType[pluginFault](err); ok {
		return sallyport.Err(fault.Error(), sallyport.CodeExecutionFailed), nil
	}
	return sallyport.Result{}, err
}

// encodeCall returns the message that asks for a call.
func encodeCall(ctx context.Context, tool string, c *sallyport.Call) ([]byte, error) {
	w := wire.Call{
		Tool: tool, ID: c.ID, Session: c.Session, Personality: c.Personality, Platform: string(c.Platform),
		Workspace: c.Workspace, Turn: c.Turn, ResultBudget: c.ResultBudget, Tainted: c.Tainted,
	}
	if at, ok := ctx.Deadline(); ok {
		w.Seconds = time.Until(at).Truncate(time.Millisecond).Seconds()
	}
	head, err := json.Marshal(w)
	return append(append(head, '\n'), c.Args...), err
}

// answerLimits bound a result.
var answerLimits = schema.Limits{Bytes: maxMessage, Depth: 100}

// resultKeys are what a module may say of its result. What else a result has is the
// gate's.
var resultKeys = []string{"ok", "value", "structured", "parts", "cost_usd", "error", "code"}

// decodeResult reads what a module answered, strictly.
func (p *Plugin) decodeResult(r *run, answer []byte) (res sallyport.Result, err error) {
	forged := func(why string) (sallyport.Result, error) {
		return sallyport.Err("the plugin "+p.Name+" answered with no valid result: "+why, sallyport.CodeExecutionFailed), nil
	}
	tree, err := schema.Decode(answer, &answerLimits)
	if err != nil {
		return forged(err.Error())
	}
	d := definition.Decoder{}
	o := d.Object("", tree)
	if o == nil {
		return forged("expected an object")
	}
	for _, key := range resultKeys {
		if v, at, ok := o.Take(key, ""); ok && v == nil {
			d.Fault(at, "expected a value, not null")
		}
	}
	if o.Done(); len(d.Faults) > 0 {
		return forged(d.Faults.Tidy().Error())
	}
	if readSuccess(tree, &res) {
		return res, nil
	}
	if err := json.Unmarshal(answer, &res); err != nil {
		return forged("a member has another type than expected")
	}
	if res.OK {
		return res, nil
	}
	return r.findRefusal(res)
}

// readSuccess reads a success without parts from what was decoded, as encoding/json
// would, and reports whether it is one.
func readSuccess(tree any, res *sallyport.Result) bool {
	o, _ := tree.(map[string]any)
	if o["ok"] != true {
		return false
	}
	read := sallyport.Result{OK: true}
	for key, v := range o {
		good := key == "ok"
		switch key {
		case "value":
			read.Value, good = v.(string)
		case "structured":
			if read.Structured, good = v.(map[string]any); good {
				_, good = floatNumbers(v)
			}
		}
		if !good {
			return false
		}
	}
	*res = read
	return true
}

// floatNumbers makes numbers of JSON those that encoding/json makes of them, in place.
func floatNumbers(v any) (_ any, ok bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case map[string]any:
		for key, one := range v {
			if v[key], ok = floatNumbers(one); !ok {
				return nil, false
			}
		}
	case []any:
		for i, one := range v {
			if v[i], ok = floatNumbers(one); !ok {
				return nil, false
			}
		}
	}
	return v, true
}

// maxRefusal bounds an accessor's error that stands as the gate's word, in bytes.
const maxRefusal = 256

// findRefusal returns the accessor's own error where a failed result repeats one. A
// module that words a refusal itself is not believed: only what an accessor said in
// this run stands as the gate's word.
func (r *run) findRefusal(res sallyport.Result) (sallyport.Result, error) {
	at := slices.IndexFunc(r.refusals, func(err error) bool {
		own := sallyport.ErrorResult(err)
		// The module chose the name in it: a text of its own is no word of the gate.
		return own.Error == res.Error && own.Code == res.Code && len(own.Error) <= maxRefusal && text.OneLine(own.Error) == own.Error
	})
	if at >= 0 {
		return sallyport.Result{}, r.refusals[at]
	}
	if res.Code != sallyport.CodeInputInvalid {
		res.Code = sallyport.CodeExecutionFailed
	}
	return res, nil
}
