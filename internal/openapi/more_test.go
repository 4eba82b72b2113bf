package openapi_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/openapi"
	"github.com/sallyport/sallyport/schema"
)

// someSchema draws a schema of the keywords that an import takes, changes or
// leaves out.
func someSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 19).Draw(t, "constant") == 0 {
		return rapid.Bool().Draw(t, "always")
	}
	s := map[string]any{}
	names := []string{"type", "enum", "const", "minimum", "maxLength", "minItems", "required", "maxProperties", "pattern", "uniqueItems"}
	if depth > 0 {
		names = append(names, "items", "prefixItems", "properties", "additionalProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains", "patternProperties", "propertyNames", "dependentRequired")
	}
	sub := func() any { return someSchema(t, depth-1) }
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID[string]).Draw(t, "keywords") {
		switch name {
		case "type":
			s[name] = rapid.SampledFrom([]any{"string", "integer", "object", "array", "null", []any{"string", "object"}}).Draw(t, name)
		case "enum":
			s[name] = rapid.SampledFrom([]any{[]any{"a", 1, nil}, []any{"<|im_start|>", "b"}, []any{map[string]any{"a": 1}}}).Draw(t, name)
		case "const":
			s[name] = rapid.SampledFrom([]any{"a", 1, "\x1b", []any{}}).Draw(t, name)
		case "minimum", "maxLength", "minItems", "maxProperties":
			s[name] = rapid.IntRange(0, 2).Draw(t, name)
		case "required":
			s[name] = rapid.SampledFrom([]any{[]any{"a"}, []any{"a", "<|im_start|>"}}).Draw(t, name)
		case "pattern":
			s[name] = "^a"
		case "uniqueItems":
			s[name] = true
		case "properties":
			s[name] = map[string]any{"a": sub(), "<|im_start|>": sub()}
		case "patternProperties":
			s[name] = map[string]any{"^b": sub()}
		case "dependentRequired":
			s[name] = map[string]any{"a": []any{"b"}}
		case "prefixItems", "allOf", "anyOf", "oneOf":
			var all []any
			for range rapid.IntRange(1, 3).Draw(t, "length") {
				all = append(all, sub())
			}
			s[name] = all
		default:
			s[name] = sub()
		}
	}
	return s
}

func someValue(t *rapid.T, depth int) any {
	most := 3
	if depth > 0 {
		most = 5
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]any{"a", "b", "", "abc", "<|im_start|>", "\x1b"}).Draw(t, "text")
	case 1:
		return rapid.IntRange(-1, 3).Draw(t, "number")
	case 2:
		return nil
	case 3:
		return true
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, someValue(t, depth-1))
		}
		return list
	default:
		o := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "<|im_start|>", "c"}), 0, 3, rapid.ID[string]).Draw(t, "members") {
			o[name] = someValue(t, depth-1)
		}
		return o
	}
}

// TestAnImportedSchemaAcceptsMoreNeverLess: a value that the document allows
// is allowed by the action.
func TestAnImportedSchemaAcceptsMoreNeverLess(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		one := someSchema(t, 3)
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatalf("Marshal = %v", err)
		}
		original, err := schema.CompileAny(text)
		if err != nil {
			t.Skip("no schema:", err)
		}
		l, err := openapi.Import("doc.json", []byte(`{"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": {"/a": {"post": {"operationId": "op", "requestBody": {"content": {"application/json": {"schema": {"type": "array", "prefixItems": [`+string(text)+`]}}}}}}}}`), nil)
		if err != nil {
			t.Fatalf("Import of %s = %v", text, err)
		}
		c, err := config.Parse("layer.yaml", l.YAML, &config.Options{Dir: "/"})
		if err != nil {
			t.Fatalf("Parse = %v of\n%s", err, l.YAML)
		}
		var a struct{ Parameters json.RawMessage }
		var s struct {
			Properties struct{ Body json.RawMessage }
		}
		if json.Unmarshal(c.Actions[0].JSON, &a) != nil || json.Unmarshal(a.Parameters, &s) != nil {
			t.Fatalf("no schema in %s", c.Actions[0].JSON)
		}
		imported, err := schema.CompileAny(s.Properties.Body)
		if err != nil {
			t.Fatalf("CompileAny(%s) = %v", s.Properties.Body, err)
		}
		for range 20 {
			v := someValue(t, 3)
			if original.Validate(v) != nil {
				continue
			}
			compared++
			if faults := imported.Validate([]any{v}); faults != nil {
				t.Fatalf("%s accepts %v, and %s does not: %v", text, v, s.Properties.Body, faults)
			}
		}
	})
	if compared == 0 {
		t.Error("no value was accepted")
	}
}
