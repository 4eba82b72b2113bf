// Package schema says what the arguments of a tool may be, and makes a tool
// from a typed Go function.
//
// Start with [Tool], which infers the schema from a struct, or with
// [Compile], which takes the text of a JSON Schema (2020-12, or an older draft
// that the text names) and returns a [Schema]. [Schema.Arguments] decodes a
// call's arguments strictly, fills in defaults and validates: it reports every
// fault with its place, so that a model repairs its call in one turn.
//
// It promises that nothing is fetched or read while a schema is compiled, that
// patterns run in linear time, that schemas, values and the work of
// validation are bounded, and that no fault repeats a value that was found.
// It does not repair broken JSON and does not convert one type into another.
//
// The register of promises is docs/guarantees.md: G-SCHEMA, G-BOUND.
package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport"
)

// The bounds of a schema. The largest ones in use describe whole APIs in some
// 100 KiB; beyond these bounds compilation and validation get slow.
const (
	maxSchemaBytes = 256 << 10
	maxSchemaNodes = 20_000
)

// Schema is a schema that is known to be well formed. It is immutable and safe
// for concurrent use.
type Schema struct {
	raw       json.RawMessage
	arguments bool     // a schema of arguments, whose defaults are filled in
	headers   []Header // arguments that clients repeat
	// compiled is nil while the form is not kept: it is compiled when it is asked
	// for.
	compiled  atomic.Pointer[compiledForm]
	compiling sync.Mutex
	kept      *keptForms // nil when the form is kept as long as the schema
}

// compiledForm is a schema in the form that values are checked against.
type compiledForm struct {
	root     *node
	rule     *valueRule       // of root; nil accepts anything
	nodes    map[string]*node // by the location that the validator reports
	defaults bool             // some property has a default
	decoders sync.Pool        // of *jsonDecoder: one is as large as all it makes of small arguments
}

// noProperties is the schema of a tool that declares none.
const noProperties = `{"type":"object","additionalProperties":false}`

// Compile compiles the schema of a tool's arguments. Its top level is an
// object: type object, or properties without a type. A nil raw means an
// object without properties. What it says of [Headers] must be right. The error
// is [Faults] with pointers into the schema. The result keeps a copy of raw.
func Compile(raw json.RawMessage) (*Schema, error) { return newSchema(raw, true, nil) }

// CompileAny compiles a schema without asking for an object at the top, as for
// the returns of a tool. Defaults are neither checked nor filled in. A nil raw
// accepts anything.
func CompileAny(raw json.RawMessage) (*Schema, error) { return newSchema(raw, false, nil) }

// newSchema makes a schema; that of arguments must describe an object. It is compiled at
// once, except that one whose form may be dropped, and which surely compiles, is compiled
// when it is used first.
func newSchema(raw json.RawMessage, arguments bool, kept *keptForms) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("true")
		if arguments {
			raw = json.RawMessage(noProperties)
		}
	}
	doc, headers, err := decodeSchema(raw, arguments)
	if err != nil {
		return nil, err
	}
	s := &Schema{raw: bytes.Clone(raw), arguments: arguments, headers: headers, kept: kept}
	if kept != nil && isPlainSchema(doc, arguments) {
		return s, nil
	}
	f, err := compileDocument(doc, arguments)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		s.compiled.Store(f)
	} else {
		kept.keepForm(s, f)
	}
	return s, nil
}

// decodeSchema decodes a schema; that of arguments must describe an object.
func decodeSchema(raw json.RawMessage, arguments bool) (doc any, headers []Header, err error) {
	if doc, err = Decode(raw, &Limits{Bytes: maxSchemaBytes, Nodes: maxSchemaNodes}); err != nil || !arguments {
		return doc, nil, err
	}
	if err = requireObject(doc); err == nil {
		headers, err = Headers(doc)
	}
	return doc, headers, err
}

// compileDocument compiles a decoded schema.
func compileDocument(doc any, arguments bool) (*compiledForm, error) {
	validator, err := compileValidator(doc)
	if err != nil {
		return nil, err
	}
	f := new(compiledForm)
	if err := f.buildNodes(doc, validator, arguments); err != nil {
		return nil, err
	}
	made := ruleBuilder{cache: map[ruleKey]*valueRule{}}
	f.rule = made.ruleFor(f.root, true)
	return f, nil
}

// compileForm returns the compiled form, which is compiled when it is not kept.
func (s *Schema) compileForm() *compiledForm {
	if f := s.compiled.Load(); f != nil {
		return f
	}
	return s.compileAgain()
}

// compileAgain compiles the form, unless another one does.
func (s *Schema) compileAgain() *compiledForm {
	s.compiling.Lock()
	defer s.compiling.Unlock()
	if f := s.compiled.Load(); f != nil {
		return f
	}
	doc, _, err := decodeSchema(s.raw, s.arguments)
	var f *compiledForm
	if err == nil {
		f, err = compileDocument(doc, s.arguments)
	}
	if err != nil {
		// The text compiled before, or surely does. Nothing may pass that was not checked.
		f = refuseAll()
	}
	s.kept.keepForm(s, f)
	return f
}

// refuseAll returns the form that accepts no value.
var refuseAll = sync.OnceValue(func() *compiledForm {
	f, err := compileDocument(false, false)
	if err != nil {
		panic(err) // A constant of the program.
	}
	return f
})

func requireObject(doc any) error {
	m, ok := doc.(map[string]any)
	if !ok {
		return oneFault("", "must be an object schema")
	}
	t, typed := m["type"]
	_, properties := m["properties"]
	if t == "object" || !typed && properties {
		return nil
	}
	return oneFault("/type", `must be "object": arguments are passed by name`)
}

// Raw returns the text of the schema. It is shared: read only.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Document is the arguments of one call, decoded and validated.
type Document struct {
	// JSON is the text with defaults filled in: the input itself when
	// nothing was added.
	JSON json.RawMessage
	// Value is the decoded text, defaults filled in. Numbers are
	// [json.Number]. Read only.
	Value map[string]any

	text string // what was decoded
	// by is the schema whose rule was looked at while decoding; unsure and
	// absent are what that said.
	by             *Schema
	unsure, absent bool
}

// Canonical returns the one canonical text of the arguments, by RFC 8785:
// sorted keys, no space, the fewest escapes, canonical numbers. Arguments that
// are equal as JSON values have equal texts, others different ones: numbers
// that no double holds keep all their digits, where the RFC would round. It is
// computed at each call; the caller owns the slice.
func (d *Document) Canonical() []byte {
	return appendJSON(make([]byte, 0, len(d.JSON)), d.Value, true)
}

// Digest returns the SHA-256 of [Document.Canonical] in hexadecimal digits.
func (d *Document) Digest() string {
	var few [512]byte // on the stack
	sum := sha256.Sum256(appendJSON(few[:0], d.Value, true))
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// Parse decodes the arguments of a call strictly, before it is known which
// schema they must satisfy. Empty data means {}. The error is a
// *sallyport.Error with code input_invalid. The document does not keep data
// beyond its JSON field, which must not be changed while in use.
func Parse(data json.RawMessage) (Document, error) { return parseDocument(data, nil) }

// Parse is the function Parse for a document that Check of the same schema
// will be asked about: it looks at the text once for both.
func (s *Schema) Parse(data json.RawMessage) (Document, error) { return parseDocument(data, s) }

// parseDocument parses arguments, checking the rule of a schema where there
// is one.
func parseDocument(data json.RawMessage, s *Schema) (Document, error) {
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	var r *valueRule
	var d *jsonDecoder
	if s != nil {
		f := s.compileForm()
		r = f.rule
		if d, _ = f.decoders.Get().(*jsonDecoder); d == nil {
			d = &jsonDecoder{}
		}
		defer f.decoders.Put(d)
	} else {
		d = &jsonDecoder{}
	}
	*d = jsonDecoder{build: true}
	v, ok := d.readText(data, (*Limits)(nil).orDefault(), r)
	if !ok {
		return Document{}, inputError(d.faultList())
	}
	m, ok := v.(map[string]any)
	if !ok {
		return Document{}, inputError(oneFault("", "must be an object"))
	}
	return Document{JSON: data, Value: m, text: d.s, by: s, unsure: d.unsure, absent: d.absent}, nil
}

// Check fills defaults into a parsed document and validates it. Beyond Parse
// it refuses a key that is a declared property in another case, and two
// undeclared keys of one object that are equal under case folding, because
// decoders differ in which of them they take. The error is a *sallyport.Error
// with code input_invalid whose Detail lists all faults and whose cause is
// Faults; the document is then not for use.
func (s *Schema) Check(d *Document) error {
	f := s.compileForm()
	if d.by != s {
		var scan jsonDecoder
		scan.checkText(d.text, f.rule)
		d.by, d.unsure, d.absent = s, scan.unsure, scan.absent
	}
	if d.unsure && !isAffordable(f.root, d.Value) {
		return inputError(tooCostly())
	}
	if d.unsure || d.absent {
		added, ok := f.fillDefaults(d.Value)
		if !ok {
			return inputError(oneFault("", "would be filled with too many defaults"))
		}
		if added {
			d.JSON = appendJSON(make([]byte, 0, len(d.JSON)+64), d.Value, false)
			d.text = string(d.JSON)
		}
	}
	if d.unsure {
		if faults := f.checkValue(d.Value); len(faults) > 0 {
			return inputError(faults)
		}
	}
	return nil
}

// Arguments is Parse followed by Check.
func (s *Schema) Arguments(data json.RawMessage) (Document, error) {
	d, err := s.Parse(data)
	if err != nil {
		return Document{}, err
	}
	if err := s.Check(&d); err != nil {
		return Document{}, err
	}
	return d, nil
}

func inputError(f Faults) error {
	return &sallyport.Error{Code: sallyport.CodeInputInvalid, Detail: f.textFor("arguments"), Err: f}
}
