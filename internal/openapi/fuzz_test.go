package openapi_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/openapi"
)

// FuzzImport: a document is refused with an error that says something, or
// makes a layer that its readers take, whose requests go to its server alone,
// and which is the same the next time.
func FuzzImport(f *testing.F) {
	petstore, err := os.ReadFile(filepath.Join("testdata", "petstore.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		placed, string(petstore),
		around("  /a/{b}: {get: {parameters: [{name: b, in: path, schema: {type: string}}], responses: {}}}", ""),
		`{"openapi": "3.0.0", "servers": [{"url": "http://localhost:1"}], "paths": {"/a": {"$ref": "#/x"}}, "x": {"get": {"operationId": "é"}}}`,
		around(`  "/{{}}/%zz/{a}": {post: {parameters: [{name: "a", in: path, schema: {enum: [1, "x"]}}], requestBody: {content: {"*/*": {schema: {allOf: [{type: object, properties: {"": {}}}]}}}}}}`, ""),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := openapi.Import("doc.yaml", data, nil)
		if err != nil {
			if l != nil || err.Error() == "" {
				t.Fatalf("Import = %v, %v", l, err)
			}
			return
		}
		again, err := openapi.Import("doc.yaml", data, nil)
		if err != nil || !bytes.Equal(l.YAML, again.YAML) || !slices.Equal(l.Notes, again.Notes) {
			t.Fatalf("a second import = %v, and differs", err)
		}
		hosts := map[string]bool{}
		for id, d := range definitions(t, l) {
			hosts[hostOf(t, id, d)] = true
		}
		if len(hosts) != 1 {
			t.Fatalf("requests go to %v", hosts)
		}
		for _, n := range l.Notes {
			if n.Text == "" || strings.ContainsAny(n.String(), "\n\x1b\r") || !strings.HasPrefix(n.Place, "doc.yaml:") {
				t.Fatalf("note %+v", n)
			}
		}
	})
}

// hostOf is where the requests of a definition go.
func hostOf(t *testing.T, id string, d *action.Definition) string {
	t.Helper()
	u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(d.Handler.HTTP.URL))
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	c := d.Capabilities.Network
	if c == nil || len(c.AllowedHosts) != 1 || !strings.EqualFold(u.Host, c.AllowedHosts[0]) {
		t.Fatalf("%s goes to %s and is granted %+v", id, u.Host, c)
	}
	return u.Scheme + "://" + u.Host
}

// FuzzPath: whatever the path of an operation is, its request stays below the
// server's.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/a", "/a/../b", "/%2e%2e", "//a", "/a b", "/{p}", "/{p}{p}/x", "/a?b=c", "/a#b", "/\\", "/a\nb", "/\u202e", "/@evil.example", "a", "/.", "/{{p}}", "/é/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		quoted, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		l, err := openapi.Import("doc.json", []byte(`{"openapi": "3.1.0", "servers": [{"url": "https://api.example/base"}], "paths": {`+string(quoted)+`: {"get": {"operationId": "op", "parameters": [{"name": "p", "in": "path", "schema": {}}]}, "put": {"operationId": "plain"}}}}`), nil)
		if err != nil {
			return
		}
		for id, d := range definitions(t, l) {
			if !strings.HasPrefix(d.Handler.HTTP.URL, "https://api.example/base/") || strings.Contains(d.Handler.HTTP.URL, "/../") {
				t.Fatalf("%s goes to %s", id, d.Handler.HTTP.URL)
			}
		}
	})
}
