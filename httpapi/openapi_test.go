package httpapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// document reads the OpenAPI document of a caller.
func (k *kit) document(token string) (text string, doc map[string]any) {
	k.t.Helper()
	got := k.do("GET", "/v1/openapi.json", "", "Authorization", "Bearer "+token)
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" {
		k.t.Fatalf("openapi.json = %d %s", got.status, got.text)
	}
	if err := json.Unmarshal([]byte(got.text), &doc); err != nil {
		k.t.Fatal(err)
	}
	if dir := os.Getenv("OPENAPI_OUT"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, token+".json"), []byte(got.text), 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	return got.text, doc
}

// at follows keys into a document.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// TestTheDocumentHasTheFormOfOpenAPI checks what the specification asks of
// every document, and what a generator of clients needs.
func TestTheDocumentHasTheFormOfOpenAPI(t *testing.T) {
	k := newKit(t, nil)
	if err := k.registry.Register(oddSchemaTools()...); err != nil {
		t.Fatal(err)
	}
	_, doc := k.document("alice")
	if v, _ := doc["openapi"].(string); !strings.HasPrefix(v, "3.1.") || at(doc, "info", "title") == nil || at(doc, "info", "version") != "v1.2.3" {
		t.Errorf("openapi %v, info %v", doc["openapi"], doc["info"])
	}
	if at(doc, "components", "securitySchemes", "bearer", "scheme") != "bearer" {
		t.Errorf("security schemes = %v", at(doc, "components", "securitySchemes"))
	}
	ids := map[any]bool{}
	paths, _ := doc["paths"].(map[string]any)
	if want := len(k.ids("/v1/actions", "alice")); len(paths) != want {
		t.Errorf("%d paths, want one for each of %d actions", len(paths), want)
	}
	for path, item := range paths {
		op := at(item, "post")
		id, _ := at(op, "operationId").(string)
		if path != "/v1/actions/"+id+"/execute" || ids[id] {
			t.Errorf("%s has the operation %q", path, id)
		}
		ids[id] = true
		responses, _ := at(op, "responses").(map[string]any)
		for _, status := range []string{"200", "400", "401", "403", "404", "409", "413", "415", "429", "502", "503"} {
			if responses[status] == nil {
				t.Errorf("%s does not say what %s means", path, status)
			}
		}
		if at(op, "requestBody", "content", "application/json", "schema") == nil {
			t.Errorf("%s has no body", path)
		}
		multipart := at(op, "requestBody", "content", "multipart/form-data") != nil
		if multipart != (id == "files") {
			t.Errorf("%s takes files = %v", path, multipart)
		}
	}
	if n := references(t, doc, doc); n < len(paths) {
		t.Errorf("%d references lead somewhere, want one for each action at least", n)
	}
	for name, s := range at(doc, "components", "schemas").(map[string]any) {
		// Alone a schema lacks what it refers to outside itself.
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"#/components`) {
			continue
		}
		if _, err := schema.CompileAny(text); err != nil {
			t.Errorf("the schema %s does not compile: %v", name, err)
		}
	}
}

// references follows every reference that begins at the root of the document
// and returns how many there are.
func references(t *testing.T, doc map[string]any, v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += references(t, doc, item)
		}
	case map[string]any:
		if _, own := v["$id"]; own {
			return n
		}
		if ref, ok := v["$ref"].(string); ok {
			n++
			keys := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
			if !strings.HasPrefix(ref, "#/components/") || at(doc, keys...) == nil {
				t.Errorf("the reference %s leads nowhere", ref)
			}
		}
		for name, inner := range v {
			switch name {
			case "const", "default", "enum": // data
			default:
				n += references(t, doc, inner)
			}
		}
	}
	return n
}

// oddSchemaTools is tools whose schemas are hard to move into another document.
func oddSchemaTools() []sallyport.Tool {
	tool := func(name, schema string) sallyport.Tool {
		return sallyport.Tool{Name: name, Description: "Has an odd schema.", Schema: json.RawMessage(schema), Run: sum}
	}
	return []sallyport.Tool{
		tool("recursive", `{"type":"object","properties":{"next":{"$ref":"#"},"list":{"type":"array","items":{"anyOf":[{"$ref":"#/properties/next"},{"type":"null"}]}}}}`),
		tool("literal", `{"type":"object","properties":{"kind":{"const":{"$ref":"#/not/a/reference"}},"with":{"default":{"$ref":"#/x"},"enum":[{"$ref":"#/x"},{"properties":{"$ref":"#"}}]}}}`),
		tool("property", `{"type":"object","properties":{"$ref":{"type":"string"},"$id":{"type":"string"}}}`),
		tool("dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"n":{"type":"number"}},"properties":{"n":{"$ref":"#/definitions/n"}}}`),
		tool("anchor", `{"type":"object","$defs":{"n":{"$anchor":"num","type":"number"}},"properties":{"n":{"$ref":"#num"}}}`),
	}
}

func TestReferencesStayWithTheirSchema(t *testing.T) {
	k := newKit(t, nil)
	if err := k.registry.Register(oddSchemaTools()...); err != nil {
		t.Fatal(err)
	}
	_, doc := k.document("alice")
	schemas := at(doc, "components", "schemas")
	for _, tt := range []struct {
		want any
		keys []string
	}{
		{"#/components/schemas/recursive.parameters", []string{"recursive.parameters", "properties", "next", "$ref"}},
		{"#/not/a/reference", []string{"literal.parameters", "properties", "kind", "const", "$ref"}},
		{"#/x", []string{"literal.parameters", "properties", "with", "default", "$ref"}},
		{"string", []string{"property.parameters", "properties", "$ref", "type"}},
		{nil, []string{"property.parameters", "$id"}},
		{"#/definitions/n", []string{"dialect.parameters", "properties", "n", "$ref"}},
		{"urn:sallyport:dialect.parameters", []string{"dialect.parameters", "$id"}},
		{"#num", []string{"anchor.parameters", "properties", "n", "$ref"}},
		{"urn:sallyport:anchor.parameters", []string{"anchor.parameters", "$id"}},
		{"#/components/schemas/sum.parameters/$defs/n", []string{"sum.parameters", "properties", "a", "$ref"}},
	} {
		if got := at(schemas, tt.keys...); got != tt.want {
			t.Errorf("%s = %v, want %v", strings.Join(tt.keys, "."), got, tt.want)
		}
	}
}

func TestTheDocumentIsStableAndTagged(t *testing.T) {
	k := newKit(t, nil)
	first, doc := k.document("alice")
	if again, _ := k.document("alice"); again != first {
		t.Error("the document differs from one request to the next")
	}
	other, reader := k.document("bob")
	if other == first || len(at(reader, "paths").(map[string]any)) != 2 || len(at(doc, "paths").(map[string]any)) == 2 {
		t.Error("bob's document is not that of his role")
	}
	res := k.do("GET", "/v1/openapi.json", "")
	tag := res.header.Get("ETag")
	if tag == "" || !slices.Contains(res.header.Values("Vary"), "Authorization") || res.header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("the document has the headers %v", res.header)
	}
	for have, want := range map[string]int{tag: 304, `"x", W/` + tag: 304, "*": 304, `"x"`: 200} {
		if got := k.do("GET", "/v1/openapi.json", "", "If-None-Match", have); got.status != want || (want == 304) != (got.text == "") {
			t.Errorf("If-None-Match %s = %d, want %d", have, got.status, want)
		}
	}
	if got := k.do("GET", "/v1/openapi.json", "", "Authorization", "Bearer bob", "If-None-Match", tag); got.status != 200 {
		t.Errorf("alice's tag from bob = %d, want 200", got.status)
	}
	if got := k.do("HEAD", "/v1/openapi.json", ""); got.status != 200 || got.text != "" || got.header.Get("ETag") != tag {
		t.Errorf("HEAD = %d with tag %s", got.status, got.header.Get("ETag"))
	}
}
