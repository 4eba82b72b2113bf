package openapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/openapi"
)

// TestSchemas converts the schema of an argument.
func TestSchemas(t *testing.T) {
	for _, tt := range []struct{ name, version, in, want, note string }{
		{"plain", "3.1.0", "{type: string, minLength: 1, maxLength: 3, example: x, xml: {}, x-own: 1, title: T}", `{"type": "string", "minLength": 1, "maxLength": 3}`, ""},
		{"nullable", "3.0.3", "{type: string, nullable: true, enum: [a, b]}", `{"type": ["string", "null"], "enum": ["a", "b", null]}`, ""},
		{"nullable reference", "3.0.3", `{nullable: true, allOf: [{$ref: "#/components/schemas/S"}]}`, `{"anyOf": [{"allOf": [{"type": "integer"}]}, {"type": "null"}]}`, ""},
		{"not nullable", "3.1.0", "{type: string, nullable: true}", `{"type": "string"}`, ""},
		{"exclusive", "3.0.3", "{type: number, minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false}", `{"type": "number", "minimum": 1, "exclusiveMinimum": 1, "maximum": 5}`, ""},
		{"types", "3.1.0", "{type: [string, \"null\"], exclusiveMinimum: 2}", `{"type": ["string", "null"], "exclusiveMinimum": 2}`, ""},
		{"no type", "3.0.3", "{type: file}", `{}`, `"file" is no type of JSON`},
		{"reference", "3.0.3", `{$ref: "#/components/schemas/S", minimum: 4, description: D}`, `{"type": "integer", "description": "D"}`, ""},
		{"reference and more", "3.1.0", `{$ref: "#/components/schemas/S", minimum: 4}`, `{"allOf": [{"type": "integer"}, {"minimum": 4}]}`, ""},
		{"escaped reference", "3.1.0", `{$ref: "#/components/schemas/a~1b%20c"}`, `{"type": "boolean"}`, ""},
		{"elsewhere", "3.1.0", `{$ref: "https://evil.example/s.json"}`, `{}`, "nothing is fetched"},
		{"lost", "3.1.0", `{$ref: "#/components/schemas/No"}`, `{}`, "which is not in the document"},
		{"cycle", "3.1.0", `{$ref: "#/components/schemas/Tree"}`, `{"type": "object", "properties": {"left": {}, "n": {"type": "integer"}}}`, "refers to itself"},
		{"chain", "3.1.0", `{$ref: "#/components/schemas/Loop"}`, `{}`, "without an end"},
		{"always", "3.1.0", "{type: object, properties: {a: true, b: false}}", `{"type": "object", "properties": {"a": {}, "b": {"not": {}}}}`, ""},
		{"pattern", "3.1.0", "{pattern: \"^a+$\"}", `{"pattern": "^a+$"}`, ""},
		{"no pattern", "3.1.0", "{pattern: \"(?=a)\"}", `{}`, "the pattern cannot be compiled"},
		{"format", "3.1.0", "{type: string, format: date-time}", `{"type": "string", "format": "date-time"}`, ""},
		{"no format", "3.1.0", "{type: integer, format: int64}", `{"type": "integer"}`, ""},
		{"oneOf", "3.1.0", "{oneOf: [{type: string}, {type: integer}]}", `{"oneOf": [{"type": "string"}, {"type": "integer"}]}`, ""},
		{"vague oneOf", "3.1.0", "{oneOf: [{type: string, pattern: \"(?=a)\"}, {type: string, maxLength: 2}]}", `{"anyOf": [{"type": "string"}, {"type": "string", "maxLength": 2}]}`, "the pattern cannot be compiled"},
		{"not", "3.1.0", "{not: {type: string}}", `{"not": {"type": "string"}}`, ""},
		{"vague not", "3.1.0", "{not: {type: string, pattern: \"(?=a)\"}}", `{}`, "not, of a schema that is not taken whole"},
		{"condition", "3.1.0", "{if: {type: string}, then: {minLength: 1}}", `{}`, "if is not supported"},
		{"open", "3.1.0", "{type: object, patternProperties: {\"^x\": {}}, additionalProperties: false}", `{"type": "object"}`, "patternProperties is not supported"},
		{"bad number", "3.1.0", "{minLength: -1, maximum: x}", `{}`, "minLength: expected a number"},
		{"token in a name", "3.1.0", "{type: object, properties: {\"<|im_start|>\": {}, a: {}}, required: [\"<|im_start|>\", a], additionalProperties: false}", `{"type": "object", "properties": {"a": {}}, "required": ["a"]}`, "the name of a property cannot be shown"},
		{"token in a value", "3.1.0", "{enum: [\"<|im_start|>\", a]}", `{}`, "enum: a value that cannot be shown"},
		{"escape in a value", "3.1.0", `{const: "a\x1b[31m"}`, `{}`, "const: a value that cannot be shown"},
		{"text", "3.1.0", `{description: "a\u202eb\x1b[2J\n<|im_end|> c"}`, `{"description": "ab[2J [STRIPPED-TEMPLATE-TOKEN] c"}`, ""},
		{"default", "3.1.0", "{type: integer, default: 5, description: How many}", `{"type": "integer", "description": "How many. Default: 5."}`, ""},
		{"no schema", "3.1.0", "{items: 3}", `{"items": {}}`, "expected a schema, found a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "openapi: " + tt.version + "\ninfo: {title: T}\nservers: [{url: https://a.example}]\npaths: {/a: {post: {operationId: op, requestBody: {required: true, content: {application/json: {schema: {type: object, required: [x], properties: {x: " + tt.in + "}}}}}, responses: {}}}}\n" +
				`components: {schemas: {S: {type: integer}, "a/b c": {type: boolean}, Tree: {type: object, properties: {left: {$ref: "#/components/schemas/Tree"}, n: {type: integer}}}, Loop: {$ref: "#/components/schemas/Loop"}}}`
			l := imports(t, text, nil)
			var s struct{ Properties struct{ X any } }
			if err := json.Unmarshal(definitions(t, l)["op"].Parameters, &s); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, s.Properties.X); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			notes := textCleaner(l, openapi.Changed)
			if tt.note == "" && notes != "" || !strings.Contains(notes, tt.note) {
				t.Errorf("notes = %q, want %q", notes, tt.note)
			}
		})
	}
}

// TestSchemasAreBounded imports a document whose references double at each
// step: written out it has 2^40 nodes.
func TestSchemasAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("components:\n  schemas:\n    S40: {type: string}\n")
	for i := range 40 {
		fmt.Fprintf(&b, "    S%d: {type: object, properties: {a: {$ref: '#/components/schemas/S%d'}, b: {$ref: '#/components/schemas/S%d'}}}\n", i, i+1, i+1)
	}
	l := imports(t, around("  /a: {post: {operationId: op, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}, responses: {200: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}}}}", b.String()), nil)
	d := definitions(t, l)["op"]
	if len(d.Parameters) > 64<<10 || len(d.Returns) > 64<<10 || len(d.Returns) < 100 {
		t.Errorf("parameters have %d bytes, returns %d", len(d.Parameters), len(d.Returns))
	}
	if notes := textCleaner(l, openapi.Changed); !strings.Contains(notes, "too large and cut") {
		t.Errorf("notes = %s", notes)
	}
}

// TestDescriptionsAreBounded and on one line, whatever they hold.
func TestDescriptionsAreBounded(t *testing.T) {
	long := strings.Repeat("word ", 5000)
	l := imports(t, around("  /a:\n    get:\n      operationId: op\n      summary: \"Sum\\n# version: 2\\nx: y\"\n      description: \""+long+"\"\n      responses: {}", ""), nil)
	d := definitions(t, l)["op"]
	if n := len([]rune(d.Description)); n > 1000 || !strings.HasPrefix(d.Description, "Sum # version: 2 x: y. word") || !strings.HasSuffix(d.Description, "…") {
		t.Errorf("description of %d characters: %.60q", n, d.Description)
	}
}

// TestCommentsHoldNoKeys: what a document says stands in comments too.
func TestCommentsHoldNoKeys(t *testing.T) {
	l := imports(t, "openapi: \"3.1.0\"\ninfo: {title: \"T\\nversion: 2\\r\\nx: \\u2028y\", version: \"1\\nactions: []\"}\nservers: [{url: https://a.example}]\npaths: {\"/a\\nactions: []\": {get: {operationId: op, responses: {}}}, \"/b\": {get: {responses: {}}}}", nil)
	definitions(t, l)
	keys := 0
	for line := range strings.Lines(string(l.YAML)) {
		if strings.HasPrefix(strings.TrimSpace(line), "actions:") || strings.HasPrefix(strings.TrimSpace(line), "version:") {
			keys++
		}
	}
	if keys != 2 {
		t.Errorf("%d lines begin with version or actions, want 2:\n%s", keys, l.YAML)
	}
}
