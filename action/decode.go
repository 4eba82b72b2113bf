package action

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/schema"
)

// DecodeOptions say where a definition stands. nil means the zero value.
type DecodeOptions struct {
	// Dir is the absolute folder of the configuration file, at which the
	// paths of handlers are anchored; empty refuses relative paths.
	Dir string
	// Workspace and Home are what ${workspace} and ${home} mean in them;
	// empty refuses the variable. ${self} is Dir.
	Workspace, Home string
	// Run is the Go function of the action, for a definition without a handler: a
	// definition that has one is then a fault. nil requires a handler.
	Run func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error)
}

// Decode reads one action, as JSON. The text is decoded strictly: an unknown
// key, a key that is there twice and a wrong type are faults. The error is
// [Faults] and lists everything that is wrong, what [Definition.Tool] would
// refuse included.
//
// Parameters whose own type is the text "object" are a schema. Otherwise each
// key is a property, and "required": true on it is collected. Undeclared
// arguments are refused unless the schema says otherwise.
func Decode(data json.RawMessage, o *DecodeOptions) (*Definition, error) {
	if o == nil {
		o = &DecodeOptions{}
	}
	tree, err := schema.Decode(data, &schema.Limits{Bytes: definition.MaxBytes})
	if err != nil {
		b := toolBuilder{}
		b.schemaFaults("", err)
		return nil, b.faults.Tidy()
	}
	d := &actionDecoder{Decoder: definition.Decoder{Folders: definition.Folders{Dir: o.Dir, Workspace: o.Workspace, Home: o.Home}}, run: o.Run}
	top := d.Object("", tree)
	if top == nil {
		return nil, d.Faults.Tidy()
	}
	def := d.decodeDefinition(top)
	top.Done()
	if err := d.checkDefinition(def); err != nil {
		return nil, err
	}
	return def, nil
}

type actionDecoder struct {
	definition.Decoder
	// short is true when the parameters are a mapping of names to schemas.
	short bool
	// byPath is true when the handler is a path.
	byPath bool
	// run is the Go function; nil where the text has the handler.
	run runFunc
	// priceInShort is true when the price is a number.
	priceInShort bool
}

// checkDefinition joins what is wrong with the text to what is wrong with what it
// says. A part that could not be read is not judged again.
func (d *actionDecoder) checkDefinition(def *Definition) error {
	faults := d.Faults
	if _, err := def.Tool(); err != nil {
		if more, ok := errors.AsType[Faults](err); ok {
			for _, f := range more {
				f.Pointer = d.writtenPointer(f.Pointer)
				if !d.Broken(f.Pointer) {
					faults = append(faults, f)
				}
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return faults.Tidy()
}

// writtenPointer returns where something is in the short forms of the text.
func (d *actionDecoder) writtenPointer(pointer string) string {
	if rest, ok := strings.CutPrefix(pointer, "/parameters/properties/"); ok && d.short {
		return "/parameters/" + rest
	}
	if d.priceInShort && strings.HasPrefix(pointer, "/cost/") {
		return "/cost"
	}
	if d.byPath && strings.HasPrefix(pointer, "/handler/") {
		return "/handler"
	}
	return pointer
}

func (d *actionDecoder) decodeDefinition(top *definition.Object) *Definition {
	def := &Definition{
		ID: top.Text("id", "", true), Name: top.Text("name", "", false), Description: top.Text("description", "", false),
		Permissions: top.Texts("permissions"), Toolset: top.Text("toolset", "", false),
		Idempotent: top.Flag("idempotent", ""), ReadOnly: top.Flag("readOnly", "read_only"),
		MaxResultChars: top.Count("maxResultChars", "max_result_chars"),
		Does:           d.Effects(top), Destinations: d.Destinations(top),
	}
	if v, at, ok := top.Take("parameters", ""); ok {
		def.Parameters = d.decodeParameters(at, v)
	}
	if v, at, ok := top.Take("returns", ""); ok {
		def.Returns = d.Raw(at, v)
	}
	if v, at, ok := top.Take("rateLimit", "rate_limit"); ok {
		def.RateLimit = d.RateLimit(at, v)
	}
	if v, at, ok := top.Take("cost", ""); ok {
		d.decodeCost(def, at, v)
	}
	if v, at, ok := top.Take("cache", ""); ok {
		def.Cache = d.decodeCache(at, v)
	}
	if v, at, ok := top.Take("available", ""); ok {
		d.decodeAvailable(def, at, v)
	}
	if v, at, ok := top.Take("timeout", ""); ok {
		def.Timeout = d.Timeout(at, v)
	}
	if v, at, ok := top.Take("capabilities", ""); ok {
		def.Capabilities = d.Capabilities(at, v)
	}
	v, at, ok := top.Take("handler", "")
	switch {
	case ok && d.run != nil:
		d.Fault(at, "the Go function is the handler of this action: remove the key")
		return def
	case d.run != nil:
		def.Handler = Handler{Run: d.run}
		return def
	case !ok:
		d.Fault("/handler", `is missing: expected {"http": …}, {"exec": …} or the path of a program`)
		return def
	}
	def.Handler = d.decodeHandler(at, v)
	return def
}

func (d *actionDecoder) decodeHandler(at string, v any) Handler {
	if path, ok := v.(string); ok {
		d.byPath = true
		return Handler{Exec: d.decodeProgram(at, path)}
	}
	o := d.Object(at, v)
	if o == nil {
		return Handler{}
	}
	var h Handler
	if v, at, ok := o.Take("http", ""); ok {
		h.HTTP = d.decodeHTTP(at, v)
	}
	if v, at, ok := o.Take("exec", ""); ok {
		h.Exec = d.decodeExec(at, v)
	}
	o.Done()
	return h
}

func (d *actionDecoder) decodeHTTP(at string, v any) *HTTP {
	o := d.Object(at, v)
	if o == nil {
		return &HTTP{}
	}
	h := &HTTP{
		Method: o.Text("method", "", false), URL: o.Text("url", "", true),
		Query: d.decodeTemplates(o, "query"), Headers: d.decodeTemplates(o, "headers"),
	}
	if v, at, ok := o.Take("body", ""); ok {
		h.Body = d.Raw(at, v)
	}
	if v, at, ok := o.Take("response", ""); ok {
		if r := d.Object(at, v); r != nil {
			h.Response = Response{Value: r.Text("value", "", false), Structured: r.Text("structured", "", false)}
			r.Done()
		}
	}
	o.Done()
	return h
}

// decodeTemplates reads a mapping of names to templates; numbers and truth values
// stand for their text.
func (d *actionDecoder) decodeTemplates(o *definition.Object, key string) map[string]string {
	v, at, ok := o.Take(key, "")
	if !ok {
		return nil
	}
	members, ok := v.(map[string]any)
	if !ok {
		d.Fault(at, "expected a mapping of names to texts")
		return nil
	}
	out := make(map[string]string, len(members))
	for name, v := range members {
		text, err := scalarText("", v)
		if err != nil || v == nil {
			d.Fault(definition.Below(at, name), "expected a text, a number, true or false")
		}
		out[name] = text
	}
	return out
}
