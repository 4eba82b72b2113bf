package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

const shopKey = "k3y-of-the-shop-0123456789"

// newShop starts a server that publishes its own description.
func newShop(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.json" {
			_, _ = io.WriteString(w, strings.ReplaceAll(shopDocument, "SERVER", "http://"+r.Host))
			return
		}
		if r.Header.Get("X-Key") != shopKey {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": 7, "seen": r.Method + " " + r.RequestURI + " " + string(body)})
	}))
	t.Cleanup(s.Close)
	return s
}

const shopDocument = `{
  "openapi": "3.1.0", "info": {"title": "Shop", "version": "1"},
  "servers": [{"url": "SERVER/v1"}], "security": [{"key": []}],
  "paths": {"/items/{id}": {
    "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
    "get": {"operationId": "getItem", "parameters": [{"name": "lang", "in": "query", "schema": {"type": "string", "enum": ["en", "de"]}}],
      "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}}}},
    "put": {"operationId": "putItem", "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}}, "responses": {}}
  }},
  "components": {
    "schemas": {"Item": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer", "readOnly": true}, "name": {"type": "string"}}}},
    "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
  }
}`

// fetched stores the description of a server in a file.
func fetched(t *testing.T, url, path string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestImportedActionsAreCalled imports the description of a server and calls
// the actions that result.
func TestImportedActionsAreCalled(t *testing.T) {
	t.Parallel()
	shop, dir := newShop(t), configured(t, `version: 1
secrets: [{dir: secrets}]
personalities: {agent: {toolset: ["@action"], safety: {network: {allow_private_urls: true}}}}
principals: {local: {permissions: [http:read]}}
`)
	keep(t, filepath.Join(dir, "secrets", "shop"), "key", shopKey)
	if err := os.Chmod(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	fetched(t, shop.URL, filepath.Join(dir, "shop.json"))
	runSallyport(t, dir, "import", "openapi", "shop.json", "--out", "actions.yaml", "--secret", "key=shop/key")
	both := []string{"--config", app.ConfigName, "--config", "actions.yaml"}
	runSallyport(t, dir, append(both, "check")...)
	out := runSallyport(t, dir, append(both, "call", "getItem", `{"id": "a/b?c", "lang": "de"}`, "--json")...)
	if want := `GET /v1/items/a%2Fb%3Fc?lang=de `; !strings.Contains(out, want) || strings.Contains(out, shopKey) {
		t.Errorf("call getItem = %s, want %q", out, want)
	}
	if out := refused(t, dir, append(both, "call", "getItem", `{"id": "a", "lang": "fr"}`)...); !strings.Contains(out, "/lang") {
		t.Errorf("call getItem in another language = %s, want a fault at /lang", out)
	}
	if out := refused(t, dir, append(both, "call", "putItem", `{"id": "a", "name": "n"}`)...); !strings.Contains(out, "Permission denied: putItem requires 127.0.0.1:write") {
		t.Errorf("call putItem = %s, want a denial", out)
	}
	place(t, dir, "writer.yaml", "version: 1\nsecurity: {default_permissions: [\"127.0.0.1:write\"]}\n")
	out = runSallyport(t, dir, append(both, "--config", "writer.yaml", "call", "putItem", `{"id": "a", "name": "n"}`, "--json")...)
	if want := `PUT /v1/items/a {\\\"name\\\":\\\"n\\\"}`; !strings.Contains(out, want) {
		t.Errorf("call putItem = %s, want %s", out, want)
	}
}

// largeDocument describes sixty operations in the usual style of such
// documents: shared parameters, schemas that refer to each other, errors,
// several schemes.
func largeDocument() string {
	var paths, schemas strings.Builder
	for i := range 12 {
		name := fmt.Sprintf("thing%d", i)
		page := "{$ref: '#/components/parameters/Page'}, {$ref: '#/components/parameters/Size'}"
		schema := fmt.Sprintf("{$ref: '#/components/schemas/Thing%d'}", i)
		answer := func(s string) string {
			return "{'200': {description: ok, content: {application/json: {schema: " + s + "}}}, default: {$ref: '#/components/responses/Problem'}}"
		}
		fmt.Fprintf(&paths, `  /%[1]s:
    get: {operationId: "%[1]s/list", tags: [%[1]s], summary: List them., parameters: [%[2]s, {name: sort, in: query, schema: {type: string, enum: [name, "-name"], default: name}}], responses: %[3]s}
    post: {operationId: "%[1]s/create", tags: [%[1]s], security: [{bearer: []}], requestBody: {required: true, content: {application/json: {schema: %[4]s}}}, responses: %[5]s}
  /%[1]s/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string, format: uuid}}]
    get: {operationId: "%[1]s/get", tags: [%[1]s], responses: %[5]s}
    patch: {operationId: "%[1]s/update", tags: [%[1]s], requestBody: {content: {application/merge-patch+json: {schema: %[4]s}}}, responses: %[5]s}
    delete: {operationId: "%[1]s/delete", tags: [%[1]s], security: [{oauth: [write]}], responses: {'204': {description: gone}}}
`, name, page, answer("{type: object, properties: {items: {type: array, items: "+schema+"}, next: {type: string, nullable: true}}}"), schema, answer(schema))
		fmt.Fprintf(&schemas, "    Thing%d:\n      allOf:\n        - {$ref: '#/components/schemas/Base'}\n        - type: object\n          required: [name]\n          properties:\n            next: {$ref: '#/components/schemas/Thing%d'}\n", i, (i+1)%12)
		for j := range 30 {
			fmt.Fprintf(&schemas, "            field%d: {type: [string, number, boolean][%d], description: \"The field number %d of it, in a sentence or two.\"}\n", j, j%3, j)
		}
		schemas.WriteString("            name: {type: string, maxLength: 80}\n")
	}
	text := "openapi: 3.0.3\ninfo: {title: Things, version: 2.1.0}\nservers: [{url: 'https://things.example/v2'}]\nsecurity: [{key: []}]\npaths:\n" + paths.String() +
		"components:\n  securitySchemes: {key: {type: apiKey, in: query, name: key}, bearer: {type: http, scheme: bearer}, oauth: {type: oauth2, flows: {}}}\n" +
		"  parameters: {Page: {name: page, in: query, schema: {type: integer, minimum: 1, default: 1}}, Size: {name: size, in: query, schema: {type: integer, maximum: 100}}}\n" +
		"  responses: {Problem: {description: no, content: {application/problem+json: {schema: {type: object}}}}}\n" +
		"  schemas:\n    Base: {type: object, properties: {id: {type: string, readOnly: true}, created: {type: string, format: date-time, readOnly: true}}}\n" + schemas.String()
	for j, kind := range []string{"string", "number", "boolean"} {
		text = strings.ReplaceAll(text, fmt.Sprintf("[string, number, boolean][%d]", j), kind)
	}
	return text
}

func TestALargeDocumentPassesCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place(t, dir, "things.yaml", largeDocument())
	var report struct {
		Config     string
		Operations int
		Actions    []string
		Notes      []any
	}
	if err := json.Unmarshal([]byte(runSallyport(t, dir, "import", "openapi", "things.yaml", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Actions) != 60 || report.Operations != 60 {
		t.Errorf("%d of %d operations were taken, want 60 of 60: %v", len(report.Actions), report.Operations, report.Notes)
	}
	place(t, dir, app.ConfigName, report.Config+"\nsecrets: [{env: SALLYPORT_SECRET_}]\n")
	cmd := sallyportCommand(dir, "check")
	cmd.Env = append(cmd.Env, "SALLYPORT_SECRET_PROVIDERS_THINGS_EXAMPLE_BEARER=bearer-of-things", "SALLYPORT_SECRET_PROVIDERS_THINGS_EXAMPLE_KEY=key-of-things")
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "default      73     0") {
		t.Errorf("check = %s (%v), want 73 tools without a misfit", out, err)
	}
}

// BenchmarkImport measures the complete command on the document of sixty
// operations.
func BenchmarkImport(b *testing.B) {
	dir := b.TempDir()
	place(b, dir, "things.yaml", largeDocument())
	for b.Loop() {
		runSallyport(b, dir, "import", "openapi", "things.yaml")
	}
}
