package schema

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// location is the address under which the validator knows a schema. Nothing
// can be resolved below this scheme.
const location = "sallyport://schema/text"

// errOutside refuses every reference that leaves the schema.
var errOutside = errors.New("references outside the schema are not followed")

// sealedLoader is a loader that loads nothing: neither files nor URLs.
type sealedLoader struct{}

func (sealedLoader) Load(string) (any, error) { return nil, errOutside }

func compileValidator(doc any) (s *jsonschema.Schema, err error) {
	defer func() {
		// The text may come from an upstream server. A defect of the library
		// that it triggers must refuse this schema, not end the process.
		if r := recover(); r != nil {
			s, err = nil, oneFault("", "cannot be compiled")
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(sealedLoader{})
	c.UseRegexpEngine(compilePattern)
	c.AssertFormat()
	if err := c.AddResource(location, doc); err != nil {
		return nil, oneFault("", err.Error())
	}
	s, err = c.Compile(location)
	if err != nil {
		return nil, compileFaults(err)
	}
	return s, nil
}

func compileFaults(err error) Faults {
	if e, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		verr, ok := errors.AsType[*jsonschema.ValidationError](e.Err)
		if !ok {
			return oneFault(schemaPointer(e.URL), "is not a valid schema")
		}
		f := explainError(verr, nil, true)
		for i := range f {
			f[i].Pointer = schemaPointer(e.URL) + f[i].Pointer
		}
		return f
	}
	if e, ok := errors.AsType[*jsonschema.InvalidRegexError](err); ok {
		return oneFault(schemaPointer(e.URL), "must be "+re2)
	}
	if e, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return oneFault("", "refers to "+quoteName(strings.TrimPrefix(e.URL, "sallyport://schema"))+": "+errOutside.Error())
	}
	if e, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return oneFault("", "refers to "+quoteName(schemaPointer(e.URL))+", which does not exist")
	}
	if e, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return oneFault("", "refers to "+quoteName(strings.TrimPrefix(e.Reference, location))+", which does not exist")
	}
	return oneFault("", escapeVisible(strings.ReplaceAll(err.Error(), location, ""), maxPointerSize))
}

// schemaPointer returns the pointer in an address of the library's.
func schemaPointer(url string) string {
	_, p, _ := strings.Cut(url, "#")
	return p
}
