package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

const actionYAML = `version: 1
actions:
  - id: get-weather
    big: 12345678901234567890.10
    parameters: {type: object, properties: {a/b: {enum: [x, ~, TRUE, 1e3]}, "m~n": {type: strng}}}
    handler:
      http: {url: "https://a.example/<&>", headers: {Authorization: "Bearer hunter2"}, tiemout: 3}
    text: |
      é "two"
        lines
  - {id: other, password: hunter2, zzz: 1}
`

func TestActions(t *testing.T) {
	c, err := Parse("sub/s.yaml", []byte(actionYAML), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := []Part{
		{
			ID: "get-weather", Dir: "/work/proj/sub",
			JSON: []byte(`{"id":"get-weather","big":12345678901234567890.10,` +
				`"parameters":{"type":"object","properties":{"a/b":{"enum":["x",null,true,1e3]},"m~n":{"type":"strng"}}},` +
				`"handler":{"http":{"url":"https://a.example/<&>","headers":{"Authorization":"Bearer hunter2"},"tiemout":3}},` +
				`"text":"é \"two\"\n  lines\n"}`),
		},
		{ID: "other", Dir: "/work/proj/sub", JSON: []byte(`{"id":"other","password":"hunter2","zzz":1}`)},
	}
	for i, a := range c.Actions {
		if a.ID != want[i].ID || a.Dir != want[i].Dir {
			t.Errorf("action %d = %s in %s, want %s in %s", i, a.ID, a.Dir, want[i].ID, want[i].Dir)
		}
		if diff := cmp.Diff(string(want[i].JSON), string(a.JSON)); diff != "" {
			t.Errorf("JSON of %s differs (-want +got):\n%s", a.ID, diff)
		}
	}
}

// TestActionFault places messages as the validation of an action does. The
// value of a key is not shown: its meaning is not known yet.
func TestActionFault(t *testing.T) {
	c, err := Parse("s.yaml", []byte(actionYAML), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name           string
		action         int
		pointer        string
		place, key     string
		snippet, never string
	}{
		{"the action", 0, "", "3:5", "actions.0", "  - id: get-weather", ""},
		{"a key", 0, "/handler", "6:5", "actions.0.handler", "    handler:", ""},
		{"a key inside", 0, "/parameters/properties/m~0n/type", "5:85", "actions.0.parameters.properties.m~n.type", `properties: {a/b: {enum: [x, ~, TRUE, 1e3]}, "m~n": {type:…`, "strng"},
		{"a key with a slash", 0, "/parameters/properties/a~1b", "5:45", "actions.0.parameters.properties.a/b", "{a/b:…", ""},
		{"an element", 0, "/parameters/properties/a~1b/enum/2", "5:64", "actions.0.parameters.properties.a/b.enum.2", "TRUE", ""},
		{"no such element", 0, "/parameters/properties/a~1b/enum/4", "5:51", "actions.0.parameters.properties.a/b.enum.4", "{enum:…", ""},
		{"no such element, negative", 0, "/parameters/properties/a~1b/enum/-1", "5:51", "actions.0.parameters.properties.a/b.enum.-1", "", ""},
		{"a missing key", 0, "/rateLimit/window", "3:5", "actions.0.rateLimit.window", "  - id: get-weather", ""},
		{"below a missing key", 0, "/handler/exec/argv/0", "6:5", "actions.0.handler.exec.argv.0", "    handler:", ""},
		{"behind a secret", 0, "/handler/http/tiemout", "7:88", "actions.0.handler.http.tiemout", "", "hunter2"},
		{"a secret", 0, "/handler/http/headers/Authorization", "7:54", "actions.0.handler.http.headers.Authorization", "", "hunter2"},
		{"an unknown key that is a secret", 1, "/password", "11:17", "actions.1.password", "{id: other, password:…", "hunter2"},
		{"an unknown key behind it", 1, "/zzz", "11:36", "actions.1.zzz", "", "hunter2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := c.Actions[tt.action].Fault(tt.pointer, "no")
			if want := "s.yaml:" + tt.place + ": " + tt.key + ": no"; f.Error() != want || f.Key != tt.key {
				t.Errorf("Fault(%q) = %s at key %s, want %s at %s", tt.pointer, f.Error(), f.Key, want, tt.key)
			}
			if !strings.Contains(f.Snippet, tt.snippet) || tt.never != "" && strings.Contains(f.Snippet, tt.never) {
				t.Errorf("Fault(%q) shows\n%s\nwant %q and never %q", tt.pointer, f.Snippet, tt.snippet, tt.never)
			}
			if got, want := c.Actions[tt.action].Source(tt.pointer), "s.yaml:"+tt.place; got != want {
				t.Errorf("Source(%q) = %s, want %s", tt.pointer, got, want)
			}
		})
	}
	if f := (Part{}).Fault("/a", "no"); f.Message != "no" {
		t.Errorf("Fault of the zero action = %+v, want the message", f)
	}
}

func TestActionsAreBounded(t *testing.T) {
	many := strings.Builder{}
	for i := range maxActions + 5 {
		fmt.Fprintf(&many, "  - id: a%d\n", i)
	}
	tests := []struct{ name, file, text, want string }{
		{"count", "s.yaml", "version: 1\nactions:\n" + many.String(), "s.yaml:1003:5: actions: expected at most 1000 actions in all files"},
		{
			"size", "s.yaml", "version: 1\nactions:\n  - id: a\n    description: " + strings.Repeat("x", maxPartBytes) + "\n",
			"s.yaml:3:5: actions.0: the action is larger than 131072 bytes",
		},
		{
			"depth", "s.yaml", "version: 1\nactions:\n  - id: a\n    x:\n" + nested(70, 6),
			"s.yaml:68:133: actions.0.x" + strings.Repeat(".k", 63) + ": nested too deep: at most 64 levels",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.file, []byte(tt.text), testOptions())
			if diff := cmp.Diff([]string{tt.want}, faultLines(err)); diff != "" {
				t.Errorf("faults differ (-want +got):\n%s", diff)
			}
		})
	}
}

// nested is a block mapping of that many levels.
func nested(levels, indent int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "%*sk:\n", indent+2*i, "")
	}
	fmt.Fprintf(&b, "%*sk: 1\n", indent+2*levels, "")
	return b.String()
}

// TestSecretsOfCallersAreHidden puts secrets where a slip puts them, next to a
// fault of another key on the same line.
func TestSecretsOfCallersAreHidden(t *testing.T) {
	for _, line := range []string{
		`mail: {a: {password_secret: hunter2hunter2, host: 5}}`,
		`mail: {a: {password: hunter2, host: 5}, b: hunter2}`,
		`databases: {a: {url_secret: "mysql://ann:hunter2@h/x", zzz: 5}, b: hunter2}`,
		`principals: {a: {token_sha256: hunter2, zzz: 5}, b: hunter2, c: {expires: 5}}`,
		`principals: hunter2`,
		`limits: "redis://:hunter2@h"`,
		`security: {oidc: {issuer: "https://u:hunter2@h", client_secret: hunter2, zzz: 1}}`,
		`actions: [{id: a, handler: {http: {headers: {A: hunter2, A: 1}}}, id: b}, 5]`,
		`actions: [{password: hunter2, id: 5}, {secrets: [hunter2, [hunter2]], id: "a b"}]`,
	} {
		_, err := Parse("s.yaml", []byte("{version: 1, "+line+"}"), testOptions())
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Parse(%s) error = %v, want faults without the secret", line, err)
		}
		_, err = Parse("s.yaml", []byte("version: 1\n"+line+"\n"), testOptions())
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Parse(%s) error = %v, want faults without the secret", line, err)
		}
	}
}

// TestBadFileLeavesNothing: a list of actions of which one is bad gives no
// configuration at all.
func TestBadFileLeavesNothing(t *testing.T) {
	c, err := Parse("s.yaml", []byte("version: 1\nactions: [{id: good}, {id: bad/}]\n"), testOptions())
	if fs, ok := errors.AsType[yamldoc.Faults](err); c != nil || !ok || len(fs) != 1 {
		t.Errorf("Parse = %v, %v, want one fault and nothing else", c, err)
	}
}
