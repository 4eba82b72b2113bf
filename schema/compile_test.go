package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestCompileRefuses(t *testing.T) {
	wide := `{"type":"object","properties":{` + strings.Repeat(`"a":1,`, 1) + `"b":2}}`
	tests := []struct{ name, schema, want string }{
		{"not JSON", `{"type":"object"`, "is not valid JSON: unexpected end of text at byte 17"},
		{"repeated key", `{"type":"object","type":"object"}`, `repeats the key "type"`},
		{"true", `true`, "must be an object schema"},
		{"array", `{"type":"array"}`, `/type: must be "object": arguments are passed by name`},
		{"types", `{"type":["object"]}`, `/type: must be "object": arguments are passed by name`},
		{"nothing", `{}`, `/type: must be "object": arguments are passed by name`},
		{"every fault", `{"type":"object","properties":{"a":{"type":"strin"},"b":{"minLength":-1}},"required":"a"}`, `/properties/a/type: must be one of "array", "boolean", "integer", "null", "number", "object", "string"; /properties/b/minLength: must be at least 0; /required: must be an array`},
		{"properties are schemas", wide, `/properties/a: must be a boolean or an object; /properties/b: must be a boolean or an object`},
		{"look-ahead", `{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`, "/properties/a/pattern: must be a pattern of RE2 syntax, without look-around and back references, and of moderate size"},
		{"back reference", `{"type":"object","patternProperties":{"(a)\\1":{}}}`, `uses the name "(a)\1", which is not allowed in its place; one of patternProperties must be a pattern of RE2 syntax, without look-around and back references, and of moderate size`},
		{"pattern too costly", `{"type":"object","properties":{"a":{"pattern":"(.{100}){10}(.{100}){10}(.{100}){10}(.{100}){10}(.{100}){10}(.{100}){10}(.{100}){10}(.{100}){10}(.{100}){10}(.{100}){10}"}}}`, "/properties/a/pattern: must be a pattern of RE2 syntax, without look-around and back references, and of moderate size"},
		{"file reference", `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `refers to "file:///etc/passwd": references outside the schema are not followed`},
		{"absolute path reference", `{"type":"object","properties":{"a":{"$ref":"/etc/passwd"}}}`, `refers to "/etc/passwd": references outside the schema are not followed`},
		{"http reference", `{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json#/x"}}}`, `refers to "https://example.com/s.json": references outside the schema are not followed`},
		{"metadata reference", `{"type":"object","properties":{"a":{"$ref":"http://169.254.169.254/"}}}`, `refers to "http://169.254.169.254/": references outside the schema are not followed`},
		{"unknown dialect", `{"$schema":"https://example.com/dialect","type":"object"}`, `refers to "https://example.com/dialect": references outside the schema are not followed`},
		{"dangling pointer", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}`, `refers to "/$defs/x", which does not exist`},
		{"dangling anchor", `{"type":"object","properties":{"a":{"$ref":"#x"}}}`, `refers to "#x", which does not exist`},
		{"reference to itself", `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, "/properties/a: refers to itself without an end"},
		{"references in a ring", `{"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"properties":{"p":{"$ref":"#/$defs/a"}}}`, "/$defs/a: refers to itself without an end"},
		{"default of wrong type", `{"type":"object","properties":{"a":{"type":"string","default":3}}}`, "/properties/a/default: must be a string"},
		{"default outside enum", `{"type":"object","properties":{"a":{"enum":["x"],"default":"y"}}}`, `/properties/a/default: must be one of "x"`},
		{"default deep", `{"type":"object","properties":{"o":{"properties":{"a":{"type":"array","items":{"type":"integer"},"default":[1,"x"]}}}}}`, "/properties/o/properties/a/default/1: must be an integer"},
		{"default misses a property", `{"type":"object","properties":{"o":{"required":["a"],"default":{}}}}`, "/properties/o/default/a: is required"},
		{"default without end", `{"type":"object","properties":{"child":{"$ref":"#","default":{}}}}`, "/properties/child/default: leads to more and more defaults"},
		{"too large", `{"type":"object","description":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "is larger than 262144 bytes"},
		{"too deep", `{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 40) + `{}` + strings.Repeat(`}}`, 40) + `}`, "/properties" + strings.Repeat("/a/properties", 18) + "/a/properti…: is nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile(json.RawMessage(tt.schema))
			if err == nil {
				t.Fatalf("Compile(%.200s) = nil, want %v", tt.schema, tt.want)
			}
			if _, ok := errors.AsType[Faults](err); !ok || err.Error() != tt.want {
				t.Errorf("Compile(%.200s) = %T %v, want Faults %v", tt.schema, err, err, tt.want)
			}
		})
	}
}

// Each of these would compile if the reference were followed.
func TestCompileReadsNoFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, ref := range []string{"file://" + filepath.ToSlash(file), filepath.ToSlash(file), "s.json", "./s.json#"} {
		if _, err := Compile(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"` + ref + `"}}}`)); err == nil {
			t.Errorf("Compile with $ref %s = nil, want an error", ref)
		}
		if _, err := Compile(json.RawMessage(`{"$schema":"` + ref + `","type":"object"}`)); err == nil {
			t.Errorf("Compile with $schema %s = nil, want an error", ref)
		}
	}
}

func TestCompileAccepts(t *testing.T) {
	tests := []struct{ name, schema string }{
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a"}},"dependencies":{"a":["b"]}}`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`},
		{"2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"$recursiveRef":"#"}}}`},
		{"2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`},
		{"draft 7 meta-schema", `{"type":"object","properties":{"schema":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`},
		{"own id", `{"$id":"https://example.com/tool","type":"object","$defs":{"a":{"$anchor":"x","type":"string"}},"properties":{"a":{"$ref":"#x"},"b":{"$ref":"tool#/$defs/a"}}}`},
		{"recursion", `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`},
		{"unknown keywords", `{"type":"object","x-order":3,"properties":{"a":{"type":"string","format":"made-up","x":1}}}`},
		{"one dynamic anchor", `{"type":"object","$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Compile(json.RawMessage(tt.schema)); err != nil {
				t.Errorf("Compile(%s) = %v", tt.schema, err)
			}
		})
	}
}

// Each of these would run for minutes or longer without a bound.
func TestBombs(t *testing.T) {
	var doubling, ring strings.Builder
	doubling.WriteString(`{"type":"object","properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{"d60":{"type":"string"}`)
	ring.WriteString(`{"type":"object","properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{"d5000":{}`)
	for i := range 60 {
		fmt.Fprintf(&doubling, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	for i := range 5000 {
		fmt.Fprintf(&ring, `,"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1)
	}
	doubling.WriteString(`}}`)
	ring.WriteString(`}}`)
	nested := strings.Repeat(`{"v":`, 60) + `"x"` + strings.Repeat(`}`, 60)
	tests := []struct{ name, schema, args, want string }{
		{"doubling references", doubling.String(), `{"v":1}`, "arguments: takes too long to validate against the schema"},
		{"doubling with depth", `{"type":"object","properties":{"v":{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"not":{"$ref":"#"}}]}}}`, nested, "arguments: takes too long to validate against the schema"},
		{"long chain", ring.String(), "", "combines too many subschemas at one place"},
		{"slow pattern, long text", `{"type":"object","properties":{"v":{"pattern":"^(.{1,20}x){40}$"}}}`, `{"v":"` + strings.Repeat("a", 4<<20) + `"}`, "arguments: takes too long to validate against the schema"},
		{"such a pattern of names", `{"type":"object","additionalProperties":{"propertyNames":{"pattern":"(a{0,20}){0,20}b"}}}`, `{"v":{"` + strings.Repeat("a", 50_000) + `":1}}`, "arguments: takes too long to validate against the schema"},
		{"such a pattern of properties", `{"type":"object","additionalProperties":{"patternProperties":{"(a{0,20}){0,20}b":{}}}}`, `{"v":{"` + strings.Repeat("a", 50_000) + `":1}}`, "arguments: takes too long to validate against the schema"},
		{"such a pattern of items", `{"type":"object","properties":{"v":{"items":{"pattern":"(a{0,20}){0,20}b"}}}}`, `{"v":["` + strings.Repeat(strings.Repeat("a", 1000)+`","`, 50) + `"]}`, "arguments: takes too long to validate against the schema"},
		{"pattern with every instruction alive", `{"type":"object","properties":{"v":{"pattern":"(a{0,20}){0,20}b"}}}`, `{"v":"` + strings.Repeat("a", 50_000) + `"}`, "arguments: takes too long to validate against the schema"},
		{"wide allOf over a long array", `{"type":"object","properties":{"v":{"items":{"allOf":[` + strings.Repeat(`{"type":"string"},`, 1000) + `{}]}}}}`, `{"v":[` + strings.Repeat(`1,`, 100_000) + `1]}`, "arguments: takes too long to validate against the schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Compile(json.RawMessage(tt.schema))
			if err == nil && tt.args != "" {
				_, err = s.Arguments(json.RawMessage(tt.args))
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %.300v, want %v", err, tt.want)
			}
		})
	}
}

// TestBoundOfPatternsHoldsForResults checks that the structured part of a result is
// held to the same bound as arguments are.
func TestBoundOfPatternsHoldsForResults(t *testing.T) {
	t.Parallel()
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{"v":{"pattern":"(a{0,20}){0,20}b"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]string{100: "must match the pattern", 250_000: "takes too long to validate against the schema"} {
		if faults := s.Validate(map[string]any{"v": strings.Repeat("a", size)}); !strings.Contains(faults.Error(), want) {
			t.Errorf("Validate() with %d characters = %.200v, want %q", size, faults, want)
		}
	}
}

func TestCacheSharesSchemas(t *testing.T) {
	var c Cache
	var wg sync.WaitGroup
	got := make([]*Schema, 8)
	for i := range got {
		wg.Go(func() {
			s, err := c.Compile([]byte(weatherSchema))
			if err != nil {
				t.Error(err)
			}
			got[i] = s
		})
	}
	wg.Wait()
	for i, s := range got {
		if s == nil || s != got[0] {
			t.Errorf("Compile in goroutine %d = %p, want the first's %p", i, s, got[0])
		}
	}
	if string(got[0].Raw()) != weatherSchema {
		t.Errorf("Raw() = %s, want %s", got[0].Raw(), weatherSchema)
	}
	if s, err := c.CompileAny([]byte(weatherSchema)); err != nil || s == got[0] {
		t.Errorf("CompileAny = %p, %v, want another schema than Compile's", s, err)
	}
}

func TestCacheRemembersFaultsAndStaysBounded(t *testing.T) {
	c := NewCache()
	for range 2 {
		if _, err := c.Compile([]byte(`{"type":"array"}`)); err == nil {
			t.Error("Compile of an array schema = nil, want an error")
		}
	}
	for i := range 2*maxCached + 10 {
		_, _ = c.Compile([]byte(`{"n":` + strconv.Itoa(i) + `}`))
	}
	if n := len(c.entries); n > maxCached {
		t.Errorf("cache holds %d entries, want at most %d", n, maxCached)
	}
}

func TestCompiledFormsStayBoundedAndComeBack(t *testing.T) {
	c := NewCache()
	var all []*Schema
	compile := func(text string) {
		t.Helper()
		s, err := c.Compile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	countForms := func() (forms, bytes int) {
		for _, s := range all {
			if s.compiled.Load() != nil {
				forms, bytes = forms+1, bytes+len(s.raw)
			}
		}
		return forms, bytes
	}
	for i := range 2 * maxKeptForms {
		compile(`{"$comment":"compiled at once","type":"object","properties":{"a":{"type":"integer","minimum":` + strconv.Itoa(i) + `}},"required":["a"]}`)
	}
	if n, _ := countForms(); n != maxKeptForms {
		t.Errorf("%d forms are kept, want %d", n, maxKeptForms)
	}
	// Whichever form was dropped, each schema says what it says, to all at once.
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := g; i < len(all); i += 1 + g {
				if _, err := all[i].Arguments([]byte(`{"a":` + strconv.Itoa(i) + `}`)); err != nil {
					t.Errorf("schema %d refuses what it allows: %v", i, err)
				}
				d, err := all[i].Parse([]byte(`{"a":` + strconv.Itoa(i-1) + `}`))
				if err == nil {
					err = all[i].Check(&d)
				}
				if err == nil {
					t.Errorf("schema %d accepts less than its minimum", i)
				}
			}
		})
	}
	wg.Wait()
	if n, _ := countForms(); n > maxKeptForms {
		t.Errorf("%d forms are kept after use, want at most %d", n, maxKeptForms)
	}
	for i := range 40 {
		compile(`{"$comment":"","type":"object","title":"` + strconv.Itoa(i) + `","description":"` + strings.Repeat("x", maxSchemaBytes-100) + `"}`)
	}
	if _, n := countForms(); n > maxKeptBytes {
		t.Errorf("forms of %d bytes are kept, want at most %d", n, maxKeptBytes)
	}
}

func TestAFormThatDoesNotCompileRefusesEverything(t *testing.T) {
	c := NewCache()
	s := &Schema{raw: json.RawMessage(`{"type":"strin"}`), arguments: true, kept: &c.kept}
	if _, err := s.Arguments([]byte(`{}`)); err == nil {
		t.Error("Arguments without a form = nil, want an error")
	}
	if f := s.Validate("x"); len(f) == 0 {
		t.Error("Validate without a form accepts a value")
	}
}
