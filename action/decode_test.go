package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
)

// TestTheContractsExample decodes the action of the contract as it stands.
func TestTheContractsExample(t *testing.T) {
	t.Parallel()
	d, err := action.Decode(json.RawMessage(`{
		"id": "get-weather", "name": "Get Weather", "description": "Fetch current weather for a location",
		"parameters": {"type": "object", "properties": {"location": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"}}, "required": ["location"]},
		"returns": {"type": "object", "properties": {"temperature": {"type": "number"}}},
		"permissions": ["weather:read"], "rateLimit": {"requests": 100, "window": "1h"},
		"capabilities": {"network": {"allowedHosts": ["api.openweathermap.org"]}, "secrets": ["providers/openweather/apiKey"]},
		"handler": {"http": {"url": "https://api.openweathermap.org/data/2.5/weather?q={location}&appid={secret:providers/openweather/apiKey}"}}
	}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := d.Tool()
	if err != nil {
		t.Fatal(err)
	}
	want := sallyport.Tool{
		Name: "get-weather", Title: "Get Weather", Description: "Fetch current weather for a location", Toolset: action.Toolset,
		Permissions: []string{"weather:read"}, RateLimit: &sallyport.RateLimit{Requests: 100, Window: time.Hour},
		Capabilities: sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"api.openweathermap.org"}}, Secrets: []string{"providers/openweather/apiKey"},
		},
		Touches:  []sallyport.Touch{{Capability: "network", Item: "https://api.openweathermap.org/"}, {Capability: "secrets", Item: "providers/openweather/apiKey"}},
		ReadOnly: true, Idempotent: true, OutputIsUntrusted: true,
	}
	schema, revision := tl.Schema, tl.Revision
	tl.Schema, tl.Returns, tl.Run, tl.Revision = nil, nil, nil, ""
	if d := cmp.Diff(want, tl); d != "" {
		t.Errorf("Tool (-want +got):\n%s", d)
	}
	if !strings.Contains(string(schema), `"additionalProperties":false`) || revision == "" {
		t.Errorf("schema = %s, revision = %q, want undeclared arguments refused and a revision", schema, revision)
	}
}

func TestParametersInBothForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{
			"short", `{"a": {"type": "string", "required": true}, "b": {"type": "integer", "required": false}}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],"type":"object"}`,
		},
		{
			"a parameter named type", `{"type": {"type": "string", "required": true}}`,
			`{"additionalProperties":false,"properties":{"type":{"type":"string"}},"required":["type"],"type":"object"}`,
		},
		{
			"members of a parameter", `{"o": {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}}`,
			`{"additionalProperties":false,"properties":{"o":{"properties":{"k":{"type":"string"}},"required":["k"],"type":"object"}},"type":"object"}`,
		},
		{
			"schema", `{"type": "object", "properties": {"a": {"type": "string"}}}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"string"}},"type":"object"}`,
		},
		{"open schema", `{"type": "object", "additionalProperties": {"type": "string"}}`, `{"additionalProperties":{"type":"string"},"type":"object"}`},
		{"joined schema", `{"type": "object", "allOf": [{"properties": {"a": {}}}]}`, `{"allOf":[{"properties":{"a":{}}}],"type":"object"}`},
		{"empty", `{}`, `{"additionalProperties":false,"properties":{},"type":"object"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := action.Decode(json.RawMessage(`{"id": "act", "parameters": `+tt.in+`, "handler": {"http": {"url": "https://a.example/"}}}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(d.Parameters)); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFaults has one thing wrong in each definition.
func TestFaults(t *testing.T) {
	t.Parallel()
	http := func(rest string) string {
		return `{"id": "act", "handler": {"http": {"url": "https://a.example/"` + rest + `}}}`
	}
	url := func(u string) string {
		return `{"id": "act", "parameters": {"p": {"type": "string"}}, "capabilities": {"secrets": ["a/b"]}, "handler": {"http": {"url": "` + u + `"}}}`
	}
	for _, tt := range []struct{ name, in, pointer, message string }{
		{"no JSON", `{`, "", ""},
		{"twice", `{"id": "a", "id": "b"}`, "", ""},
		{"no mapping", `[]`, "", "expected a mapping"},
		{"no id", `{"handler": {"http": {"url": "https://a.example/"}}}`, "/id", "is missing"},
		{"bad id", `{"id": "a b", "handler": {"http": {"url": "https://a.example/"}}}`, "/id", "letters"},
		{"mcp id", `{"id": "mcp__a__b", "handler": {"http": {"url": "https://a.example/"}}}`, "/id", "MCP"},
		{"unknown key", `{"id": "act", "desciption": "x", "handler": {"http": {"url": "https://a.example/"}}}`, "/desciption", `did you mean "description"?`},
		{"two spellings", `{"id": "act", "rateLimit": {"requests": 1, "window": "1s"}, "rate_limit": {"requests": 1, "window": "1s"}, "handler": {"http": {"url": "https://a.example/"}}}`, "/rate_limit", "given twice"},
		{"no handler", `{"id": "act"}`, "/handler", "is missing"},
		{"two handlers", `{"id": "act", "handler": {"http": {"url": "https://a.example/"}, "exec": {"command": ["git"]}}}`, "/handler", "exactly one"},
		{"null", `{"id": "act", "timeout": null, "handler": {"http": {"url": "https://a.example/"}}}`, "/timeout", "expected a text"},
		{"long timeout", `{"id": "act", "timeout": "2h", "handler": {"http": {"url": "https://a.example/"}}}`, "/timeout", "1s to 1h"},
		{"window", `{"id": "act", "rateLimit": {"requests": 1, "window": "1w"}, "handler": {"http": {"url": "https://a.example/"}}}`, "/rateLimit/window", "s, m, h or d"},
		{"requests", `{"id": "act", "rateLimit": {"requests": 0, "window": "1h"}, "handler": {"http": {"url": "https://a.example/"}}}`, "/rateLimit/requests", "1 to 1000000"},
		{"permission", `{"id": "act", "permissions": ["a:b", "a b"], "handler": {"http": {"url": "https://a.example/"}}}`, "/permissions/1", "expected a word"},
		{"too many requests beside a bad window", `{"id": "act", "rateLimit": {"requests": 1000001, "window": "9999d"}, "handler": {"http": {"url": "https://a.example/"}}}`, "/rateLimit/requests", "1 to 1000000"},
		{"parameter without schema", `{"id": "act", "parameters": {"a": "string"}, "handler": {"http": {"url": "https://a.example/"}}}`, "/parameters/a", "expected a schema"},
		{"bad type", `{"id": "act", "parameters": {"a": {"type": "strnig"}}, "handler": {"http": {"url": "https://a.example/"}}}`, "/parameters/a/type", ""},
		{"list of arguments", `{"id": "act", "parameters": {"type": "array"}, "handler": {"http": {"url": "https://a.example/"}}}`, "/parameters/type", "expected object"},
		{"capability", `{"id": "act", "capabilities": {"netwrok": {}}, "handler": {"http": {"url": "https://a.example/"}}}`, "/capabilities/netwrok", `did you mean "network"?`},
		{"key of a capability", `{"id": "act", "capabilities": {"network": {"allowed_hosts": []}}, "handler": {"http": {"url": "https://a.example/"}}}`, "/capabilities/network/allowed_hosts", `did you mean "allowedHosts"?`},
		{"programs have no spelling", `{"id": "act", "capabilities": {"process": {"allowedBinaries": ["git"], "programs": ["/etc/shadow"]}}, "handler": {"exec": {"command": ["git"]}}}`, "/capabilities/process/programs", "unknown key"},
		{"a person to ask", `{"id": "act", "capabilities": {"input": ["person"]}, "handler": {"exec": {"command": ["git"]}}}`, "/capabilities/input", "a program cannot use it"},
		{"type of a capability", `{"id": "act", "capabilities": {"network": {"allowedHosts": "a.example"}}, "handler": {"http": {"url": "https://a.example/"}}}`, "/capabilities/network", "another type"},
		{"method", http(`, "method": "TRACE"`), "/handler/http/method", "expected GET"},
		{"method in small letters", http(`, "method": "get"`), "/handler/http/method", "expected GET"},
		{"body of a GET", http(`, "method": "GET", "body": {}`), "/handler/http/body", "has no body"},
		{"read-only POST", `{"id": "act", "readOnly": true, "handler": {"http": {"url": "https://a.example/", "method": "POST"}}}`, "/readOnly", "contradicts"},
		{"name of a member", http(`, "body": {"{p}": 1}`), "/handler/http/body/{p}", "fixed"},
		{"header", http(`, "headers": {"X A": "1"}`), "/handler/http/headers/X A", "name of a header"},
		{"header of the transport", http(`, "headers": {"host": "b.example"}`), "/handler/http/headers/host", "not for an action"},
		{"header in two cases", http(`, "headers": {"x-a": "1", "X-A": "2"}`), "/handler/http/headers/x-a", "twice"},
		{"line in a header", http(`, "headers": {"X-A": "a\r\nb"}`), "/handler/http/headers/X-A", "control character"},
		{"name of a query value", http(`, "query": {"{p}": "1"}`), "/handler/http/query/{p}", "fixed"},
		{"query value", http(`, "query": {"p": ["1"]}`), "/handler/http/query/p", "expected a text"},
		{"unknown parameter", `{"id": "act", "parameters": {"location": {"type": "string"}}, "handler": {"http": {"url": "https://a.example/{locaton}"}}}`, "/handler/http/url", `did you mean "location"?`},
		{"undeclared secret", http(`, "headers": {"X-A": "{secret:c/d}"}`), "/handler/http/headers/X-A", "c/d is not in capabilities.secrets"},
		{"bad secret", http(`, "headers": {"X-A": "{secret:../d}"}`), "/handler/http/headers/X-A", ""},
		{"every secret", http(`, "headers": {"X-A": "{secret:c/*}"}`), "/handler/http/headers/X-A", ""},
		{"response", http(`, "response": {"value": "main.temp"}`), "/handler/http/response/value", "JSON pointer"},
		{"bracket", http(`, "headers": {"X-A": "{p"}`), "/handler/http/headers/X-A", "without its }"},
		{"cookie", `{"id": "act", "parameters": {"p": {"type": "string"}}, "handler": {"http": {"url": "https://a.example/", "headers": {"Cookie": "a={p}"}}}}`, "/handler/http/headers/Cookie", "no place"},
		{"other host", `{"id": "act", "capabilities": {"network": {"allowedHosts": ["b.example"]}}, "handler": {"http": {"url": "https://a.example/"}}}`, "/handler/http/url", "a.example is not in"},
		{"other port", `{"id": "act", "capabilities": {"network": {"allowedHosts": ["a.example"]}}, "handler": {"http": {"url": "https://a.example:8443/"}}}`, "/handler/http/url", "a.example:8443 is not in"},
		{"scheme", url("{p}://a.example/"), "/handler/http/url", "https://"},
		{"file", url("file:///etc/passwd"), "/handler/http/url", "https://"},
		{"host", url("https://{p}/"), "/handler/http/url", "which are fixed"},
		{"part of a host", url("https://{p}.a.example/"), "/handler/http/url", "which are fixed"},
		{"port", url("https://a.example:{p}/"), "/handler/http/url", "which are fixed"},
		{"user info", url("https://{p}@a.example/"), "/handler/http/url", "which are fixed"},
		{"fixed user info", url("https://u:p@a.example/"), "/handler/http/url", "user info"},
		{"path as a whole", url("https://a.example{p}"), "/handler/http/url", "which are fixed"},
		{"backslash", url(`https://a.example\\{p}`), "/handler/http/url", ""},
		{"fragment", url("https://a.example/#{p}"), "/handler/http/url", "a #"},
		{"way up", url("https://a.example/x/../{p}"), "/handler/http/url", `the segment ".."`},
		{"encoded way up", url("https://a.example/x/%2e%2E/{p}"), "/handler/http/url", `the segment ".."`},
		{"empty segment", url("https://a.example//{p}"), "/handler/http/url", "an empty segment"},
		{"half an escape", url("https://a.example/%2{p}"), "/handler/http/url", "hexadecimal"},
		{"name in the query", url("https://a.example/?{p}=1"), "/handler/http/url", "fixed"},
		{"names in the query", url("https://a.example/?{p}"), "/handler/http/url", "fixed"},
		{"secret in the path", url("https://a.example/{secret:a/b}"), "/handler/http/url", "a secret has no place"},
		{"secret without encryption", url("http://a.example/?k={secret:a/b}"), "/handler/http/url", "without encryption"},
		{"relative path", `{"id": "act", "handler": "./a.js"}`, "/handler", "anchored"},
		{"other ending", `{"id": "act", "handler": "/nonexistent/a.rb"}`, "/handler", "no interpreter"},
		{"variable", `{"id": "act", "handler": "${workspace}/a.js"}`, "/handler", ""},
		{"no command", `{"id": "act", "handler": {"exec": {}}}`, "/handler/exec", "exactly one"},
		{"launcher", `{"id": "act", "handler": {"exec": {"command": ["sudo", "x"]}}}`, "/handler/exec/command", "neither a name"},
		{"any binary", `{"id": "act", "handler": {"exec": {"command": ["*"]}}}`, "/handler/exec/command", "neither a name"},
		{"argument in the environment", `{"id": "act", "parameters": {"p": {"type": "string"}}, "handler": {"exec": {"command": ["git"], "env": {"A": "{p}"}}}}`, "/handler/exec/env/A", "standard input"},
		{"secret of a program without hosts", `{"id": "act", "capabilities": {"secrets": ["a/b"]}, "handler": {"exec": {"command": ["git"], "env": {"A": "{secret:a/b}"}}}}`, "/handler/exec/env", "without capabilities.network"},
		{"odd prefix of a secret", `{"id": "act", "handler": {"exec": {"command": ["git"], "secret_prefixes": ["&#"]}}}`, "/handler/exec/secret_prefixes", "expected at most 8 prefixes"},
		{"read-only program", `{"id": "act", "readOnly": true, "handler": {"exec": {"command": ["git"]}}}`, "/readOnly", "contradicts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := action.Decode(json.RawMessage(tt.in), &action.DecodeOptions{})
			faults, ok := errors.AsType[action.Faults](err)
			if !ok || !slices.ContainsFunc(faults, func(f action.Fault) bool {
				return f.Pointer == tt.pointer && strings.Contains(f.Message, tt.message)
			}) {
				t.Errorf("Decode = %v, want a fault at %q with %q", err, tt.pointer, tt.message)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := action.Decode(json.RawMessage(`{"id": "a b", "nme": "x", "timeout": 3, "permissions": [1], "idempotent": "yes",
		"parameters": {"a": {"type": "strnig"}}, "returns": {"type": 1}, "rateLimit": {"requests": "1", "window": "1x"},
		"handler": {"http": {"url": "ftp://a.example/", "method": "FOO", "headers": {"Host": "x"}, "extra": 1}}}`), nil)
	var got []string
	faults, _ := errors.AsType[action.Faults](err)
	for _, f := range faults {
		got = append(got, f.Pointer)
	}
	want := []string{
		"/handler/http/extra", "/handler/http/headers/Host", "/handler/http/method", "/handler/http/url", "/id", "/idempotent", "/nme",
		"/parameters/a/type", "/permissions/0", "/rateLimit/requests", "/rateLimit/window", "/returns/type", "/timeout",
	}
	if d := cmp.Diff(want, slices.Compact(got)); d != "" {
		t.Errorf("faults (-want +got):\n%s\n%v", d, err)
	}
}

// TestAGoFunction registers code under the same definition.
func TestAGoFunction(t *testing.T) {
	t.Parallel()
	d := action.Definition{ID: "act", Handler: action.Handler{Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("done"), nil }}}
	tl, err := d.Tool()
	if err != nil {
		t.Fatal(err)
	}
	if res := newGate(t, tl).use(`{}`); !res.OK || !strings.Contains(res.Value, "done") {
		t.Errorf("result = %+v, want a success", res)
	}
	d.Handler.HTTP = &action.HTTP{URL: "https://a.example/"}
	if _, err := d.Tool(); err == nil {
		t.Error("two handlers are taken")
	}
}

// TestAnActionSaysWhatItDoes with words that the gate knows, about arguments that it has.
func TestAnActionSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	const rest = `, "parameters": {"to": {"type": "string"}}, "handler": {"exec": {"command": ["cat"]}}}`
	def, err := action.Decode(json.RawMessage(`{"id": "a", "does": ["outward", "spending"], "destinations": {"to.address": "mail"}`+rest), nil)
	if err != nil {
		t.Fatal(err)
	}
	tool, err := def.Tool()
	if err != nil || len(tool.Does) != 2 || tool.Destinations["to.address"] != "mail" {
		t.Errorf("Tool() = %v, %v, %v", tool.Does, tool.Destinations, err)
	}
	for text, want := range map[string]string{
		`"does": ["outwards"]`:           "/does: expected each of",
		`"does": ["read", "outward"]`:    "/does: read contradicts",
		`"does": ["outward", "outward"]`: "/does: expected each of",
		`"destinations": {"to": "post"}`: "/destinations/to: expected one of",
		`"destinations": {"cc": "mail"}`: `/destinations/cc: the action has no parameter "cc"`,
		`"destinations": ["to"]`:         "/destinations: expected a mapping",
	} {
		if _, err := action.Decode(json.RawMessage(`{"id": "a", `+text+rest), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestADefinitionOfAFunction reads definitions that a function runs: they have no
// handler, and one that names a handler is at fault.
func TestADefinitionOfAFunction(t *testing.T) {
	t.Parallel()
	run := func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("ran"), nil }
	d, err := action.Decode(json.RawMessage(`{"id":"a","description":"d"}`), &action.DecodeOptions{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := d.Tool()
	if err != nil {
		t.Fatal(err)
	}
	if res, err := tool.Run(t.Context(), &sallyport.Call{}); err != nil || res.Value != "ran" || !tool.OutputIsUntrusted {
		t.Errorf("the tool answers %+v, %v", res, err)
	}
	_, err = action.Decode(json.RawMessage(`{"id":"a","description":"d","handler":"/bin/true"}`), &action.DecodeOptions{Run: run})
	if err == nil || !strings.Contains(err.Error(), "handler") {
		t.Errorf("a definition with a handler beside the function: %v, want a fault", err)
	}
}
