package openapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/openapi"
)

// TestParameters shows where each parameter ends up, and what is said about
// one that does not.
func TestParameters(t *testing.T) {
	l := imports(t, around(`  /a/{id}/{x y}.json:
    parameters:
      - {name: id, in: path, schema: {type: integer}}
      - {name: id, in: query, schema: {type: string}}
    post:
      operationId: op
      parameters:
        - {name: "x y", in: path, required: true, schema: {type: string}, description: "The  x."}
        - {name: id, in: query, required: true, schema: {type: boolean}}
        - {name: ID, in: header, schema: {type: string}}
        - {name: "filter[a]", in: query, schema: {type: array, items: {type: string}}}
        - {name: csv, in: query, explode: false, schema: {type: array, items: {type: string}}, description: Some.}
        - {name: bars, in: query, style: pipeDelimited, schema: {type: array, items: {type: string}}}
        - {name: deep, in: query, style: deepObject, schema: {type: object}}
        - {name: rows, in: query, schema: {type: array, items: {type: object}}}
        - {name: "{b}", in: query, schema: {type: string}}
        - {name: content, in: query, content: {application/json: {}}}
        - {name: bare, in: query}
        - {name: Accept, in: header, required: true, schema: {type: string}}
        - {name: Authorization, in: header, required: true, schema: {type: string}}
        - {name: Host, in: header, required: true, schema: {type: string}}
        - {name: X-Key, in: header, schema: {type: string}}
        - {name: X-List, in: header, schema: {type: array}}
        - {name: sid, in: cookie, schema: {type: string}}
        - {$ref: "#/components/parameters/Page"}
      security: [{k: []}]
      requestBody: {required: true, content: {application/merge-patch+json: {schema: {type: object, required: [id], properties: {id: {type: string}, csv: {type: string}, note: {type: string, default: hi}}}}}}
      responses: {}`, "components: {parameters: {Page: {name: page, in: query, schema: {type: integer, minimum: 1, default: 1}, description: Which.}}, securitySchemes: {k: {type: apiKey, in: header, name: x-key}}}"), nil)
	d := definitions(t, l)["op"]
	h := d.Handler.HTTP
	if h.Method != "POST" || h.URL != "https://api.example/v1/a/{id}/{x_y}.json" {
		t.Errorf("%s %s", h.Method, h.URL)
	}
	for _, tt := range []struct {
		what      string
		want, got map[string]string
	}{
		{"query", map[string]string{"id": "{id_query}", "filter[a]": "{filter_a_}", "csv": "{csv}", "bars": "{bars}", "page": "{page}"}, h.Query},
		{"headers", map[string]string{"ID": "{ID_header}", "X-Key": "{secret:providers/api.example/k}", "X-List": "{X-List}", "Content-Type": "application/merge-patch+json"}, h.Headers},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, diff)
		}
	}
	if got, want := string(h.Body), `{"csv":"{csv_body}","id":"{id_body}","note":"{note}"}`; got != want {
		t.Errorf("body = %s, want %s", got, want)
	}
	var s struct {
		Properties map[string]struct {
			Type        any
			Default     any
			Description string
		}
		Required []string
	}
	if err := json.Unmarshal(d.Parameters, &s); err != nil {
		t.Fatal(err)
	}
	if want := []string{"x_y", "id", "id_query", "id_body"}; !slices.Equal(s.Required, want) {
		t.Errorf("required = %q, want %q", s.Required, want)
	}
	for name, want := range map[string]string{
		"x_y": "The x.", "csv": "Some. Several values are separated by commas.", "bars": "Several values are separated by bars (|).",
		"page": "Which. Default: 1.", "note": `Default: "hi".`,
	} {
		if got := s.Properties[name]; got.Description != want || got.Default != nil {
			t.Errorf("%s = %+v, want the description %q", name, got, want)
		}
	}
	for _, want := range []string{
		`query parameter "deep" is left out: an object has no place`, `"rows" is left out: a list of lists or objects`, `"{b}" is left out: its name cannot stand`,
		`"content" is left out: it is not plain text`, `"bare" is left out: it has no schema`, `"Accept" is left out: the request has one`,
		`"Authorization" is left out: the request has one`, `"Host" is left out: this header is not for an action to set`,
		`"X-Key" is left out: a secret stands there`, `"sid" is left out`, `"csv" is a text`,
	} {
		if !strings.Contains(textCleaner(l, openapi.Changed), want) {
			t.Errorf("no note about %s in\n%s", want, textCleaner(l, openapi.Changed))
		}
	}
}

// TestOperationsThatAreLeftOut lists what no action can do.
func TestOperationsThatAreLeftOut(t *testing.T) {
	for _, tt := range []struct{ name, operation, want string }{
		{"required object", "parameters: [{name: q, in: query, required: true, schema: {type: object}}]", "an object has no place in a text"},
		{"required cookie", "parameters: [{name: q, in: cookie, required: true, schema: {type: string}}]", "an action sends none of this kind"},
		{"no list", "parameters: {}", "parameters: expected a list"},
		{"a path of another", "parameters: [{name: q, in: path, schema: {type: string}}]", "the path does not name its parameter {q}"},
		{"label style", "parameters: [{name: q, in: query, required: true, style: label, schema: {type: array, items: {type: string}}}]", `its style "label" is not supported`},
		{"twice", "parameters: [{name: q, in: query, schema: {}}, {name: q, in: query, schema: {}}]", `the query parameter "q" stands twice`},
		{"lost parameter", `parameters: [{$ref: "#/components/parameters/No"}]`, "which is not in the document"},
		{"file", `parameters: [{$ref: "other.yaml#/Page"}]`, `refers to "other.yaml#/Page", outside of the document: nothing is fetched`},
		{"url", `requestBody: {$ref: "https://evil.example/b"}`, "nothing is fetched"},
		{"loop", `requestBody: {$ref: "#/components/requestBodies/A"}`, "refers to a reference to a reference"},
		{"form", "requestBody: {required: true, content: {multipart/form-data: {}}}", "it is not JSON but multipart/form-data"},
		{"security", "security: [{nobody: []}]", `"nobody" is no security scheme`},
		{"security type", "security: {}", "security: expected a list"},
		{"another server", "servers: [{url: https://upload.example}]", "it has a server of its own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := imports(t, around("  /ok: {get: {responses: {}}}\n  /a:\n    post:\n      operationId: op\n      "+tt.operation, `components: {requestBodies: {A: {$ref: "#/components/requestBodies/B"}, B: {$ref: "#/components/requestBodies/A"}}}`), nil)
			definitions(t, l)
			if got := textCleaner(l, openapi.LeftOut); !strings.Contains(got, "op: POST /a: ") || !strings.Contains(got, tt.want) || !slices.Equal(l.IDs, []string{"get_ok"}) {
				t.Errorf("left out %q and took %q, want %q", got, l.IDs, tt.want)
			}
			if !strings.Contains(string(l.YAML), "# Left out: POST /a: ") {
				t.Errorf("no comment in\n%s", l.YAML)
			}
		})
	}
}

// TestBodies shows when a body is one argument.
func TestBodies(t *testing.T) {
	for _, tt := range []struct{ name, body, want, arguments string }{
		{"none", "{}", "", ""},
		{"flat", "{required: true, content: {application/json: {schema: {type: object, properties: {a: {}, b: {}}}}}}", `{"a":"{a}","b":"{b}"}`, "a b"},
		{"read only", "{content: {application/json: {schema: {type: object, required: [id], properties: {id: {readOnly: true}, b: {}}}}}}", `{"b":"{b}"}`, "b"},
		{"no braces in names", `{content: {application/json: {schema: {type: object, properties: {"{a}": {}}}}}}`, `"{body}"`, "body"},
		{"list", "{content: {application/json: {schema: {type: array}}}}", `"{body}"`, "body"},
		{"anything", "{content: {application/json: {}}}", `"{body}"`, "body"},
		{"map", "{content: {application/json: {schema: {type: object, properties: {a: {}}, additionalProperties: true}}}}", `"{body}"`, "body"},
		{"choice", "{content: {application/json: {schema: {oneOf: [{type: object}, {type: array}]}}}}", `"{body}"`, "body"},
		{"optional", "{content: {application/json: {schema: {type: object, required: [a], properties: {a: {}}}}}}", `"{body}"`, "body"},
		{"sum", "{required: true, content: {application/json: {schema: {allOf: [{type: object, properties: {a: {}}}, {required: [b], properties: {b: {}}}]}}}}", `{"a":"{a}","b":"{b}"}`, "a b"},
		{"json first", "{content: {application/xml: {}, application/vnd.a+json: {schema: {type: object, properties: {v: {}}}}, application/json; charset=utf-8: {schema: {type: object, properties: {a: {}}}}}}", `{"a":"{a}"}`, "a"},
		{"optional form", "{content: {text/plain: {}}}", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := "\n      requestBody: " + tt.body
			if tt.body == "{}" {
				body = ""
			}
			d := definitions(t, imports(t, around("  /a:\n    post:\n      operationId: op\n      responses: {}"+body, ""), nil))["op"]
			var s struct{ Properties map[string]any }
			if d.Parameters != nil {
				if err := json.Unmarshal(d.Parameters, &s); err != nil {
					t.Fatal(err)
				}
			}
			arguments := strings.Join(slices.Sorted(maps.Keys(s.Properties)), " ")
			if got := string(d.Handler.HTTP.Body); got != tt.want || arguments != tt.arguments {
				t.Errorf("body %s of %q, want %s of %q", got, arguments, tt.want, tt.arguments)
			}
		})
	}
}

// TestReturns shows of which answers the schema is kept.
func TestReturns(t *testing.T) {
	const object = "{description: ok, content: {application/json: {schema: {type: object, properties: {a: {type: string, enum: [x], minLength: 2}}, additionalProperties: false}}}}"
	for _, tt := range []struct{ name, responses, want, accept string }{
		{"object", "{200: " + object + ", 404: {description: no}}", `{"properties":{"a":{"type":"string"}},"type":"object"}`, ""},
		{"range", "{2XX: " + object + "}", `{"properties":{"a":{"type":"string"}},"type":"object"}`, ""},
		{"two", "{200: " + object + ", 204: {description: none}}", "", ""},
		{"default", "{default: " + object + "}", "", ""},
		{"list", "{200: {content: {application/json: {schema: {type: array}}}}}", "", ""},
		{"text", "{200: {content: {text/plain: {schema: {type: object}}}}}", "", ""},
		{"either", "{200: {content: {text/csv: {}, application/json: {schema: {type: object}}}}}", "", ""},
		{"vendor", "{200: {content: {application/vnd.x+json: {schema: {type: object}}}}}", `{"type":"object"}`, "application/vnd.x+json"},
		{"lost", `{200: {$ref: "#/nowhere"}}`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := definitions(t, imports(t, around("  /a: {get: {operationId: op, responses: "+tt.responses+"}}", ""), nil))["op"]
			if got := string(d.Returns); got != tt.want || d.Handler.HTTP.Headers["Accept"] != tt.accept {
				t.Errorf("returns %s, Accept %q, want %s, %q", got, d.Handler.HTTP.Headers["Accept"], tt.want, tt.accept)
			}
		})
	}
}

func TestServers(t *testing.T) {
	doc := func(servers string) string {
		return "openapi: 3.0.0\ninfo: {title: T}\nservers: " + servers + "\npaths:\n  /a b/é: {get: {operationId: op, responses: {}}}"
	}
	for _, tt := range []struct{ name, servers, choice, url, host string }{
		{"slash", "[{url: https://A.example/}]", "", "https://a.example/a%20b/%C3%A9", "a.example"},
		{"port", "[{url: https://a.example:8443/v1}]", "", "https://a.example:8443/v1/a%20b/%C3%A9", "a.example:8443"},
		{"chosen", "[{url: https://a.example}, {url: https://b.example}]", "https://b.example/", "https://b.example/a%20b/%C3%A9", "b.example"},
		{"loopback", "[{url: /v1}]", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/a%20b/%C3%A9", "127.0.0.1:8080"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := imports(t, doc(tt.servers), &openapi.Options{Server: tt.choice})
			d := definitions(t, l)["op"]
			if d.Handler.HTTP.URL != tt.url || !slices.Equal(d.Capabilities.Network.AllowedHosts, []string{tt.host}) || d.Handler.HTTP.Method != http.MethodGet {
				t.Errorf("%s to %q, want %s to %q", d.Handler.HTTP.URL, d.Capabilities.Network.AllowedHosts, tt.url, tt.host)
			}
			if plain := strings.HasPrefix(tt.url, "http:"); plain != strings.Contains(textCleaner(l, openapi.Changed), "without encryption") {
				t.Errorf("notes = %s", textCleaner(l, openapi.Changed))
			}
		})
	}
}
