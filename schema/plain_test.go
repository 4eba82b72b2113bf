package schema

import (
	"encoding/json"
	"fmt"
	"testing"
)

// A schema that is plain compiles, and no other is taken for one: a fault that would show
// at the first call only is shown where the tool is registered.
func FuzzPlainSchemasCompile(f *testing.F) {
	for _, text := range []string{
		`true`, `{}`, `{"type":"object","properties":{"a":{"type":"string","default":"x","title":"A"},"b":{"type":["integer","null"],"minimum":1}},"required":["a"],"additionalProperties":false}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"list":{"type":"array","items":{"anyOf":[{"type":"string"},{"const":5}]},"default":[],"minItems":0}}}`,
		`{"type":"object","properties":{"n":{"type":"integer","default":7,"enum":[7,8]},"x":{"type":"string","pattern":"^a+$","format":"email","minLength":2}}}`,
		`{"type":"object","properties":{"n":{"type":"integer","default":"7"}}}`, `{"type":"object","properties":{"n":{"type":"string","default":"7","minLength":2}}}`,
		`{"type":"object","properties":{"n":{"type":"integer","default":1.5}}}`, `{"type":"object","properties":{"n":{"enum":["a"],"type":"string","default":"b"}}}`,
		`{"type":"object","properties":{"n":{"allOf":[{"default":1}],"type":"string"}}}`, `{"type":"strin"}`, `{"type":["string","string"]}`, `{"type":[]}`, `{"required":["a","a"]}`, `{"required":"a"}`,
		`{"minLength":-1}`, `{"minLength":1.5}`, `{"maxItems":"1"}`, `{"multipleOf":0}`, `{"pattern":"(?=a)"}`, `{"pattern":"("}`, `{"enum":[]}`, `{"enum":5}`, `{"items":[{"type":"string"}]}`,
		`{"items":5}`, `{"properties":[]}`, `{"properties":{"a":5}}`, `{"anyOf":[]}`, `{"oneOf":{}}`, `{"$ref":"#/a"}`, `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`,
		`{"$schema":"file:///etc/passwd"}`, `{"properties":{"a":{"$schema":"http://json-schema.org/draft-04/schema#"}}}`, `{"title":5}`, `{"uniqueItems":"yes"}`, `{"exclusiveMinimum":true}`, `{"$id":"http://x/"}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","enum":["a","b","a"]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","enum":[1,1.0]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","enum":[0,-0]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","enum":[1,10,true,null,"1"]}`,
		`{"examples":5}`, `{"properties":{"a/b~c":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`, `{"allOf":[{"type":"object"}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, arguments := range []bool{true, false} {
			doc, _, err := decodeSchema(json.RawMessage(text), arguments)
			if err != nil || !isPlainSchema(doc, arguments) {
				continue
			}
			if _, err := compileDocument(doc, arguments); err != nil {
				t.Errorf("%s is plain, and does not compile: %v", text, err)
			}
		}
	})
}

// The schemas of the official suite that are plain compile.
func TestPlainSchemasOfTheSuiteCompile(t *testing.T) {
	plain := 0
	for _, groups := range readSuite(t) {
		for i := range groups {
			doc, _, err := decodeSchema(groups[i].Schema, false)
			if err != nil || !isPlainSchema(doc, true) {
				continue
			}
			plain++
			if _, err := compileDocument(doc, true); err != nil {
				t.Errorf("%s is plain, and does not compile: %v", groups[i].Schema, err)
			}
		}
	}
	if plain < 50 {
		t.Errorf("%d schemas of the suite are plain, want 50 at least", plain)
	}
}

// A cache compiles a plain schema when it is used first, and any other at once.
func TestPlainSchemasAreCompiledWhenUsed(t *testing.T) {
	for _, tt := range []struct {
		text  string
		plain bool
	}{
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, true},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, false},
	} {
		s, err := NewCache().Compile(json.RawMessage(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if compiled := s.compiled.Load() != nil; compiled == tt.plain {
			t.Errorf("%s: compiled at once: %v", tt.text, compiled)
		}
		if _, err := s.Arguments(json.RawMessage(`{"a":5}`)); err == nil {
			t.Errorf("%s takes a number", tt.text)
		}
		if _, err := s.Arguments(json.RawMessage(`{"a":"x"}`)); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	// One that is too large to be sure of is compiled at once.
	many := `{"type":"object","properties":{"p":{"type":"string"}`
	for i := range maxPlainNodes {
		many += fmt.Sprintf(`,"p%d":{"type":"string"}`, i)
	}
	if s, err := NewCache().Compile(json.RawMessage(many + "}}")); err != nil || s.compiled.Load() == nil {
		t.Errorf("a schema of many properties is not compiled: %v", err)
	}
}
