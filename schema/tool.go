package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
)

// Tool makes a tool from a typed Go function. In is a struct: its JSON names
// become the properties, a field without omitempty or omitzero is required,
// and no other property is accepted. Of the tags, jsonschema:"…" is the
// description, enum:"a,b" the allowed values, minimum:"1" and maximum:"9" the
// limits of a number, and default:"a" what an absent field is filled with: a
// string as it stands, anything else as JSON. A Schema that t brings along is
// kept instead of the inferred one and must be well formed. Run decodes the arguments into In and calls run;
// arguments that do not fit are input_invalid, also when Run is called outside
// a gate. The error says what of In or of the schema is not usable.
func Tool[In any](t sallyport.Tool, run func(ctx context.Context, c *sallyport.Call, in In) (sallyport.Result, error)) (sallyport.Tool, error) {
	if run == nil {
		return sallyport.Tool{}, fmt.Errorf("tool %s: no function", t.Name)
	}
	written := t.Schema != nil
	if !written {
		var err error
		if t.Schema, written, err = inferInput[In](); err != nil {
			return sallyport.Tool{}, fmt.Errorf("tool %s: arguments: %w", t.Name, err)
		}
	}
	// What is inferred from types alone is well formed. It is compiled at the
	// first call: a program makes all its tools before it answers anything.
	raw := slices.Clone(t.Schema)
	compiled := sync.OnceValues(func() (*Schema, error) { return ofTools.Compile(raw) })
	if written {
		if _, err := compiled(); err != nil {
			return sallyport.Tool{}, fmt.Errorf("tool %s: schema: %w", t.Name, err)
		}
	}
	t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		s, err := compiled()
		if err != nil {
			return sallyport.Result{}, fmt.Errorf("schema: %w", err)
		}
		var in In
		if err := s.decodeInto(c.Args, c.Checked, &in); err != nil {
			return sallyport.Result{}, err
		}
		return run(ctx, c, in)
	}
	return t, nil
}

// ofTools has the schemas of the tools of this program, which are registered afterwards.
var ofTools Cache

// MustTool is [Tool] for declarations that are constants of a program: it
// panics on an error.
func MustTool[In any](t sallyport.Tool, run func(ctx context.Context, c *sallyport.Call, in In) (sallyport.Result, error)) sallyport.Tool {
	made, err := Tool(t, run)
	if err != nil {
		panic(err)
	}
	return made
}

// ToolWithOutput is [Tool] for a function whose result is a struct as well.
// It becomes Structured, its JSON text the value, and its schema Returns
// unless t brings one along. An error of run is the tool's failure.
func ToolWithOutput[In, Out any](t sallyport.Tool, run func(ctx context.Context, c *sallyport.Call, in In) (Out, error)) (sallyport.Tool, error) {
	if run == nil {
		return sallyport.Tool{}, fmt.Errorf("tool %s: no function", t.Name)
	}
	if t.Returns == nil {
		raw, err := inferOutput[Out]()
		if err != nil {
			return sallyport.Tool{}, fmt.Errorf("tool %s: result: %w", t.Name, err)
		}
		t.Returns = raw
	}
	if _, err := ofTools.CompileAny(t.Returns); err != nil {
		return sallyport.Tool{}, fmt.Errorf("tool %s: returns: %w", t.Name, err)
	}
	return Tool(t, func(ctx context.Context, c *sallyport.Call, in In) (sallyport.Result, error) {
		out, err := run(ctx, c, in)
		if err != nil {
			return sallyport.Result{}, err
		}
		return newStructuredResult(out)
	})
}

// newStructuredResult turns a typed result into a Result.
func newStructuredResult(out any) (sallyport.Result, error) {
	text, err := json.Marshal(out)
	if err != nil {
		return sallyport.Result{}, fmt.Errorf("encode result: %w", err)
	}
	v, err := Decode(text, nil)
	if err != nil {
		return sallyport.Result{}, fmt.Errorf("encode result: %w", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return sallyport.Result{}, errors.New("encode result: not an object")
	}
	r := sallyport.OK(string(text))
	r.Structured = m
	return r, nil
}

// decodeInto validates arguments, unless the gate did, and decodes them into a
// pointer.
func (s *Schema) decodeInto(args json.RawMessage, checked bool, in any) error {
	if !checked && !s.acceptsText(args) {
		doc, err := s.Arguments(args)
		if err != nil {
			return err
		}
		args = doc.JSON
	}
	err := json.Unmarshal(args, in)
	if err == nil {
		return nil
	}
	f := oneFault("", "does not fit the type that the tool takes")
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		f[0] = Fault{formatPointer(strings.Split(e.Field, ".")), "does not fit the type " + e.Type.String()}
		if e.Field == "" {
			f[0].Pointer = ""
		}
	}
	return &sallyport.Error{Code: sallyport.CodeInputInvalid, Detail: f.textFor("arguments"), Err: err}
}

// acceptsText reports whether a text surely is what Arguments accepts as it
// stands, which it is inside a gate.
func (s *Schema) acceptsText(args json.RawMessage) bool {
	var d jsonDecoder
	_, ok := d.readText(args, (*Limits)(nil).orDefault(), s.compileForm().rule)
	return ok && !d.unsure && !d.absent
}
