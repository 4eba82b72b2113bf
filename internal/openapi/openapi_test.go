package openapi_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/openapi"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// around is a document of one operation, or of whatever stands under paths.
func around(paths, rest string) string {
	return "openapi: 3.1.0\ninfo: {title: Test API, version: \"1\"}\nservers: [{url: https://api.example/v1}]\npaths:\n" + paths + "\n" + rest
}

// imports imports a document that must be good.
func imports(t testing.TB, text string, o *openapi.Options) *openapi.Layer {
	t.Helper()
	l, err := openapi.Import("doc.yaml", []byte(text), o)
	if err != nil {
		t.Fatalf("Import = %v of\n%s", err, text)
	}
	return l
}

// definitions reads a layer as check does.
func definitions(t testing.TB, l *openapi.Layer) map[string]*action.Definition {
	t.Helper()
	c, err := config.Parse("layer.yaml", l.YAML, &config.Options{Dir: "/"})
	if err != nil {
		t.Fatalf("Parse = %v of\n%s", err, l.YAML)
	}
	out := map[string]*action.Definition{}
	for _, a := range c.Actions {
		d, err := action.Decode(a.JSON, &action.DecodeOptions{Dir: "/"})
		if err != nil {
			t.Fatalf("Decode = %v of\n%s", err, a.JSON)
		}
		out[a.ID] = d
	}
	if len(out) != len(l.IDs) {
		t.Fatalf("the layer holds %d actions, IDs %d", len(out), len(l.IDs))
	}
	return out
}

// textCleaner are the notes of a verdict, without places.
func textCleaner(l *openapi.Layer, v openapi.Verdict) string {
	var b strings.Builder
	for _, n := range l.Notes {
		if n.Verdict == v {
			fmt.Fprintf(&b, "%s: %s\n", n.Action, n.Text)
		}
	}
	return b.String()
}

func TestPetstore(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "petstore.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	l := imports(t, string(data), nil)
	definitions(t, l)
	got := string(l.YAML)
	for _, n := range l.Notes {
		got += "\n## " + n.String()
	}
	golden := filepath.Join("testdata", "petstore.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the layer of petstore.yaml differs (-want +got):\n%s", diff)
	}
	again := imports(t, string(data), nil)
	if diff := cmp.Diff(l.YAML, again.YAML); diff != "" {
		t.Errorf("a second import differs:\n%s", diff)
	}
}

func TestBadDocumentsAreRefusedAtTheirPlaces(t *testing.T) {
	const get = "  /a: {get: {responses: {}}}"
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "doc.yaml:1:1: the file is empty"},
		{"no mapping", "[1]", "doc.yaml:1:1: expected an OpenAPI document, found a list"},
		{"another file", "version: 1", "doc.yaml:1:1: missing key openapi"},
		{"swagger", "swagger: \"2.0\"\npaths: {}", "doc.yaml:1:1: a Swagger 2.0 document"},
		{"version", "openapi: 3.2.0\npaths: {}", "doc.yaml:1:1: openapi: expected a text such as 3.0.3"},
		{"a number", "info: {}\nopenapi: 3.1", "doc.yaml:2:1: openapi: expected a text such as 3.0.3"},
		{"not YAML", "openapi: [", "not YAML"},
		{"not JSON", "{\"openapi\": \"3.1.0\",\n \"paths\": {]}", "doc.yaml:2"},
		{"twice", "openapi: 3.1.0\nopenapi: 3.1.0", "doc.yaml:2:1: the key \"openapi\" stands twice: first in line 1"},
		{"anchor", "openapi: &a 3.1.0", "anchors and aliases are not accepted"},
		{"control", "openapi: \"3.1.0\x01\"", "control character U+0001"},
		{"no paths", "openapi: 3.1.0\nservers: [{url: https://a.example}]", "doc.yaml:1:1: paths: expected a mapping"},
		{"paths", "openapi: 3.1.0\nservers: [{url: https://a.example}]\npaths: []", "doc.yaml:3:1: paths: expected a mapping"},
		{"no operations", around("  {}", ""), "doc.yaml:4:1: paths: the document has no operations"},
		{"path", around("  /a: 1", ""), "doc.yaml:5:3: /a: expected operations, found a number"},
		{"operation", around("  /a:\n    get: []", ""), "doc.yaml:6:5: get /a: expected an operation, found a list"},
		{"no server", "openapi: 3.1.0\npaths:\n" + get, "servers: the document names no server: choose the address with --server"},
		{"two servers", "openapi: 3.1.0\nservers: [{url: https://a.example}, {url: https://b.example}]\npaths:\n" + get, "doc.yaml:2:1: servers: expected one server, found 2"},
		{"variables", "openapi: 3.1.0\nservers: [{url: \"https://{x}.example\"}]\npaths:\n" + get, "the address has variables: choose"},
		{"relative", "openapi: 3.1.0\nservers: [{url: /v1}]\npaths:\n" + get, "expected an absolute address"},
		{"plain", "openapi: 3.1.0\nservers: [{url: http://a.example}]\npaths:\n" + get, "expected https: http is for a server on this machine"},
		{"user", "openapi: 3.1.0\nservers: [{url: \"https://u:p@a.example\"}]\npaths:\n" + get, "servers: "},
		{"scheme", around(get, "components: {securitySchemes: {k: 1}}"), "doc.yaml:6:32: k: expected a security scheme"},
		{"nothing taken", around("  /a/{b}: {get: {responses: {}}}", ""), "no operation could be taken\n  doc.yaml:5:12: left out get_a_b: GET /a/{b}: the path names {b}, which is no parameter of it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := openapi.Import("doc.yaml", []byte(tt.text), nil)
			if err == nil || l != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Import = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFaultsShowTheirLine(t *testing.T) {
	_, err := openapi.Import("doc.yaml", []byte("openapi: 3.1.0\nservers: [{url: https://a.example}]\npaths: []"), nil)
	faults, ok := errors.AsType[yamldoc.Faults](err)
	if !ok || len(faults) != 1 || faults[0].Line != 3 || !strings.Contains(faults[0].Snippet, "paths: []") {
		t.Errorf("Import = %v, want one fault that shows line 3", err)
	}
}

func TestOptionsThatNameNothingAreRefused(t *testing.T) {
	text := around("  /a: {get: {operationId: listThings, tags: [thing], responses: {}}}", "components: {securitySchemes: {key: {type: apiKey, in: header, name: K}, login: {type: oauth2}, session: {type: apiKey, in: cookie, name: S}}}")
	for _, tt := range []struct {
		name string
		o    openapi.Options
		want string
	}{
		{"only", openapi.Options{Only: []string{"listThing"}}, `--only "listThing": no tag and no operation of the document has this name; did you mean "listThings"?`},
		{"no secret", openapi.Options{Secrets: map[string]string{"kez": "a/b"}}, `--secret kez: the document has no such security scheme; did you mean "key"?`},
		{"bad reference", openapi.Options{Secrets: map[string]string{"key": "a/../b"}}, "the reference"},
		{"bracket", openapi.Options{Secrets: map[string]string{"key": "a/{b}"}}, "the reference"},
		{"oauth2", openapi.Options{Secrets: map[string]string{"login": "a/b"}}, "--secret login: oauth2 is not supported"},
		{"cookie", openapi.Options{Secrets: map[string]string{"session": "a/b"}}, "--secret session: apiKey in cookie S is not supported"},
		{"a password in the server", openapi.Options{Server: "https://u:p ass/w@a.example/?x"}, "--server \"https://…@a.example/?x\": expected an address without"},
		{"server", openapi.Options{Server: "http://a.example"}, "--server \"http://a.example\": expected https"},
		{"query", openapi.Options{Server: "https://a.example/?x=1"}, "without a query"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := openapi.Import("doc.yaml", []byte(text), &tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Import = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestIDs(t *testing.T) {
	long := strings.Repeat("x", 80)
	text := around(`  /a: {get: {operationId: "list things!", responses: {}}, post: {operationId: list_things_, responses: {}}, put: {operationId: http-get, responses: {}}}
  /a/{b}/c: {parameters: [{name: b, in: path, schema: {type: string}}], delete: {responses: {}}, get: {operationId: `+long+`, responses: {}}}
  /m: {get: {operationId: mcp__x__y, responses: {}}}`, "")
	l := imports(t, text, &openapi.Options{Taken: []string{"http-get"}})
	want := []string{"list_things_", "list_things__2", "http-get_2", "delete_a_b_c", strings.Repeat("x", 57) + "_", "mcp_x__y"}
	for i, id := range l.IDs {
		if !strings.HasPrefix(id, want[i]) || len(id) > 64 {
			t.Errorf("id %d = %q, want %q", i, id, want[i])
		}
	}
	// The choice does not change a name.
	l = imports(t, text, &openapi.Options{Only: []string{"POST /a"}, Prefix: "p_"})
	if !slices.Equal(l.IDs, []string{"p_list_things__2"}) {
		t.Errorf("IDs = %q, want p_list_things__2", l.IDs)
	}
}

func TestEffectsPermissionsAndSecrets(t *testing.T) {
	text := around(`  /a: {get: {responses: {}}, head: {responses: {}}, put: {responses: {}}, post: {responses: {}}, patch: {responses: {}}, delete: {responses: {}}}
  /q: {get: {security: [{login: []}, {both: [], key: []}], responses: {}}}
  /o: {get: {security: [{}, {key: []}], responses: {}}}
  /n: {get: {security: [{login: []}], responses: {}}}
  /two: {get: {security: [{bearer: [], again: []}], responses: {}}}`,
		"security: [{bearer: []}]\ncomponents: {securitySchemes: {bearer: {type: http, scheme: Bearer}, again: {type: http, scheme: bearer}, login: {type: openIdConnect}, key: {type: apiKey, in: query, name: api key}, both: {type: apiKey, in: header, name: X-App}}}")
	l := imports(t, text, &openapi.Options{Secrets: map[string]string{"both": "own/app"}})
	defs := definitions(t, l)
	for id, want := range map[string][3]bool{ // read only, idempotent, http:read
		"get_a": {true, true, true}, "head_a": {true, true, true}, "put_a": {false, true, false},
		"delete_a": {false, true, false}, "post_a": {false, false, false}, "patch_a": {false, false, false},
	} {
		tool, err := defs[id].Tool()
		if err != nil {
			t.Fatal(err)
		}
		permission := "api.example:write"
		if want[2] {
			permission = "http:read"
		}
		if tool.ReadOnly != want[0] || tool.Idempotent != want[1] || !slices.Equal(tool.Permissions, []string{permission}) {
			t.Errorf("%s: read only %t, idempotent %t, permissions %q, want %v", id, tool.ReadOnly, tool.Idempotent, tool.Permissions, want)
		}
		if got := tool.Capabilities.Network.AllowedHosts; !slices.Equal(got, []string{"api.example"}) {
			t.Errorf("%s: hosts %q", id, got)
		}
		if got := defs[id].Handler.HTTP.Headers["Authorization"]; got != "Bearer {secret:providers/api.example/bearer}" {
			t.Errorf("%s: Authorization = %q", id, got)
		}
	}
	q := defs["get_q"]
	if q.Handler.HTTP.Query["api key"] != "{secret:providers/api.example/key}" || q.Handler.HTTP.Headers["X-App"] != "{secret:own/app}" || len(q.Capabilities.Secrets) != 2 {
		t.Errorf("get_q = %+v with %q", q.Handler.HTTP, q.Capabilities.Secrets)
	}
	if o := defs["get_o"]; len(o.Capabilities.Secrets) != 0 {
		t.Errorf("get_o holds %q, want nothing: its first alternative is none", o.Capabilities.Secrets)
	}
	if !strings.Contains(string(l.YAML), "# note: it asks for login (openIdConnect), which is not supported") {
		t.Errorf("no comment about login in\n%s", l.YAML)
	}
	if two := defs["get_two"]; two == nil || len(two.Capabilities.Secrets) != 0 || !strings.Contains(string(l.YAML), "again (a second value of Authorization)") {
		t.Errorf("get_two = %+v, want it without credentials: two secrets have one place", two)
	}
	l = imports(t, text, &openapi.Options{Permissions: []string{"a:b", "c:d"}})
	if d := definitions(t, l)["post_a"]; !slices.Equal(d.Permissions, []string{"a:b", "c:d"}) {
		t.Errorf("permissions = %q", d.Permissions)
	}
}

// TestTheDocumentDoesNotChooseWhoseSecretItGets: a title would.
func TestTheDocumentDoesNotChooseWhoseSecretItGets(t *testing.T) {
	text := "openapi: 3.1.0\ninfo: {title: github}\nservers: [{url: \"https://Evil.example:8443\"}]\nsecurity: [{token: []}]\npaths: {/a: {post: {operationId: op, responses: {}}}}\ncomponents: {securitySchemes: {token: {type: http, scheme: bearer}}}"
	for prefix, api := range map[string]string{"": "evil.example", "Own_": "own"} {
		d := definitions(t, imports(t, text, &openapi.Options{Prefix: prefix}))[prefix+"op"]
		if !slices.Equal(d.Capabilities.Secrets, []string{"providers/" + api + "/token"}) || !slices.Equal(d.Permissions, []string{api + ":write"}) {
			t.Errorf("with the prefix %q: secrets %q, permissions %q, want those of %s", prefix, d.Capabilities.Secrets, d.Permissions, api)
		}
	}
}

// TestRequestsOfTheServerAreNoOperations: webhooks and callbacks go the other
// way.
func TestRequestsOfTheServerAreNoOperations(t *testing.T) {
	l := imports(t, around("  /a: {post: {operationId: op, callbacks: {done: {}}, responses: {}}}", "webhooks: {changed: {post: {operationId: hook, responses: {}}}}"), nil)
	if !slices.Equal(l.IDs, []string{"op"}) || l.Operations != 1 {
		t.Errorf("IDs = %q of %d, want op alone", l.IDs, l.Operations)
	}
	if !strings.Contains(textCleaner(l, openapi.LeftOut), "webhooks") || !strings.Contains(textCleaner(l, openapi.Changed), "callbacks") {
		t.Errorf("notes = %v", l.Notes)
	}
}
