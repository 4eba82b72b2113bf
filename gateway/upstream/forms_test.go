package upstream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// withEverything returns a script that offers one of each kind.
func withEverything(t *testing.T) *script {
	s := newScript(t, tool("resources"))
	s.says["capabilities"] = object{"tools": object{}, "prompts": object{}, "resources": object{}}
	s.lists["prompts/list"] = object{"prompts": []any{
		object{"name": "greet", "title": "Greet\x1b[1m", "description": "Says <|im_start|> hello.", "arguments": []any{
			object{"name": "who", "description": "Whom, s3cr3t-value", "required": true}, object{"name": "also", "title": "Also"},
		}},
		object{"name": "plain"},
		object{"name": "twice", "arguments": []any{object{"name": "a"}, object{"name": "a"}}},
	}}
	s.lists["resources/list"] = object{"resources": []any{
		object{"uri": "note://one", "name": "one\x1b[1m", "title": "One", "description": "The first s3cr3t-value.", "mimeType": "text/plain", "size": 12},
		object{"uri": "note://bell\a", "name": "bell"},
		object{"uri": "note://odd", "name": "odd", "mimeType": "no type"},
		object{"uri": "relative", "name": "relative"},
	}}
	s.lists["resources/templates/list"] = object{"resourceTemplates": []any{object{"uriTemplate": "note://all/{id}", "name": "all"}}}
	s.answer = func(_ *peer, q *question) any {
		switch q.Method {
		case "prompts/get":
			return object{"description": "ignored", "messages": []any{
				object{"role": "user", "content": object{"type": "text", "text": q.Params.Name + " " + string(q.Params.Arguments)}},
				object{"role": "assistant", "content": []any{object{"type": "image", "mimeType": "image/png", "data": onePixel}}},
			}}
		case "resources/read":
			return object{"contents": []any{object{"uri": q.Params.URI, "mimeType": "text/plain", "text": "behind " + q.Params.URI}}}
		default:
			return text("called " + q.Params.Name)
		}
	}
	return s
}

// TestPrompts: prompts are tools of their form, keep the order of their
// arguments, and answer with messages.
func TestPrompts(t *testing.T) {
	t.Parallel()
	g := scripted(t, withEverything(t), nil)
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "ann"}, Personality: "some", Platform: sallyport.PlatformGo, Workspace: g.workspace}
	var names []string
	for _, d := range g.Prompts(caller) {
		names = append(names, d.Name)
		if d.Name != "mcp__test__greet" {
			continue
		}
		if d.Title != "Greet" || d.Description != "Says [STRIPPED-TEMPLATE-TOKEN] hello." {
			t.Errorf("the prompt is %+v, want it cleaned", d)
		}
		want := `{"type":"object","properties":{"who":{"type":"string","description":"Whom, [REDACTED:secret]"},"also":{"type":"string","title":"Also"}},"required":["who"],"additionalProperties":false}`
		if got := string(d.Schema); got != want {
			t.Errorf("the schema is %s\nwant %s", got, want)
		}
	}
	if want := []string{"mcp__test__greet", "mcp__test__plain"}; !slices.Equal(names, want) {
		t.Errorf("prompts are %q, want %q", names, want)
	}
	res := g.call("prompt:test__greet", object{"who": "bob"})
	if len(res.Parts) != 2 || res.Parts[0].Role != sallyport.RoleUser || !strings.Contains(res.Parts[0].Text, `greet {"who":"bob"}`) ||
		res.Parts[1].Role != sallyport.RoleAssistant || res.Parts[1].Kind != sallyport.PartImage {
		t.Errorf("the prompt answers %+v", res)
	}
	if res := g.call("prompt:test__greet", object{}); res.Code != sallyport.CodeInputInvalid {
		t.Errorf("a prompt without what it requires = %+v, want input_invalid", res)
	}
	if !slices.ContainsFunc(g.left, func(l string) bool { return strings.Contains(l, "test: twice: two of its arguments") }) {
		t.Errorf("left out: %q, want the prompt with two arguments of one name", g.left)
	}
}

// TestResources: one tool of each server reads its resources, and a tool of the
// same name does not conflict with it.
func TestResources(t *testing.T) {
	t.Parallel()
	g := scripted(t, withEverything(t), nil)
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "ann"}, Personality: "some", Platform: sallyport.PlatformGo, Workspace: g.workspace}
	want := []sallyport.Resource{
		{Template: "note://all/{id}", Name: "all"},
		{URI: "note://odd", Name: "odd"},
		{URI: "note://one", Name: "one", Title: "One", Description: "The first [REDACTED:secret].", MediaType: "text/plain", Size: 12},
	}
	if diff := cmp.Diff(want, g.Resources(caller)); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	for _, uri := range []string{"note://one", "note://all/7"} {
		id, ok := g.Reader(caller, uri)
		res := g.call("resource:test__resources", object{"uri": uri})
		if id != "resource:mcp__test__resources" || !ok || len(res.Parts) != 1 || !strings.Contains(res.Parts[0].Text, "behind "+uri) {
			t.Errorf("%s is read by %q as %+v", uri, id, res)
		}
	}
	if res := g.call("resource:test__resources", object{"uri": "file:///etc/passwd"}); res.Code != sallyport.CodeNotAvailable {
		t.Errorf("a resource that is not listed = %+v, want not_available", res)
	}
	if res := g.call("test__resources", nil); inside(res) != "called resources" {
		t.Errorf("the tool of that name = %+v", res)
	}
	if len(g.left) != 3 {
		t.Errorf("left out: %q, want the prompt and two resources whose URIs are none", g.left)
	}
}

// TestKindsThatAreNotOffered are not requested.
func TestKindsThatAreNotOffered(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	scripted(t, s, nil)
	for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
		if n := s.count(method); n != 0 {
			t.Errorf("%s was asked %d times of a server that has none", method, n)
		}
	}
}

// TestTooMuchOfAKind leaves that kind out and no other.
func TestTooMuchOfAKind(t *testing.T) {
	t.Parallel()
	many := func(n int, of func(i int) object) []any {
		list := []any{}
		for i := range n {
			list = append(list, of(i))
		}
		return list
	}
	named := func(i int) object { return object{"name": fmt.Sprint("n", i)} }
	for _, tt := range []struct {
		method, say, works string
		list               object
	}{
		{"tools/list", "test: *: the server offers more than 500 tools", "prompt:test__plain", object{"tools": many(501, named)}},
		{"prompts/list", "test: *: the server offers more than 500 prompts", "test__resources", object{"prompts": many(501, named)}},
		{"resources/list", "test: *: the server offers more than 1000 resources", "test__resources", object{"resources": many(1000, func(i int) object { return object{"uri": fmt.Sprint("n://", i), "name": "n"} })}},
		{"prompts/list", "pages", "test__resources", object{"prompts": []any{}, "nextCursor": "again"}},
		{"prompts/list", "not a list", "test__resources", object{"prompts": 7}},
	} {
		s := withEverything(t)
		s.lists[tt.method] = tt.list
		g := scripted(t, s, nil)
		if !slices.ContainsFunc(g.left, func(l string) bool { return strings.Contains(l, tt.say) }) {
			t.Errorf("%s: left out: %q, want %q", tt.method, g.left, tt.say)
		}
		if res := g.call(tt.works, nil); !res.OK {
			t.Errorf("%s: %s = %+v, want it to work", tt.method, tt.works, res)
		}
	}
}

// TestDefinitionsOfManyValues: definitions stay in memory, so a kind with too
// many values is not mounted, while the others are.
func TestDefinitionsOfManyValues(t *testing.T) {
	t.Parallel()
	var tools []any
	for i := range 30 {
		tools = append(tools, tool(fmt.Sprint("t", i), object{"x": rawJSON("[" + strings.Repeat("[],", 18_000) + "1]")}))
	}
	s := newScript(t, tools...)
	s.says["capabilities"] = object{"tools": object{}, "prompts": object{}}
	s.lists["prompts/list"] = object{"prompts": []any{object{"name": "p"}}}
	s.answer = func(*peer, *question) any {
		return object{"messages": []any{object{"role": "user", "content": object{"type": "text", "text": "fine"}}}}
	}
	g := scripted(t, s, &upstream.Options{StartWait: patience})
	if res := g.call("prompt:test__p", nil); !res.OK {
		t.Errorf("a prompt beside too many tools = %+v", res)
	}
	if want := "test: *: its lists have more than 500000 values"; !slices.Contains(g.left, want) {
		t.Errorf("left out: %q, want %q", g.left, want)
	}
	if res := g.call("test__t0", nil); res.OK || res.Code == sallyport.CodeExecutionFailed {
		t.Errorf("a tool of too much = %+v, want none", res)
	}
}

// TestABadDefinitionHarmsItself and none of its neighbours.
func TestABadDefinitionHarmsItself(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	wide := `{"enum":[` + strings.Repeat("1,", 30_000) + `1]}`
	s := newScript(t)
	s.lists["tools/list"] = object{"tools": []any{
		tool("good"), 7,
		object{"name": 5},
		object{"inputSchema": object{}},
		object{"name": "text", "inputSchema": "string"},
		rawJSON(`{"name":"two","name":"faced","inputSchema":{"type":"object"}}`),
		rawJSON(`{"name":"deep","inputSchema":` + deep + `}`), rawJSON(`{"name":"wide","inputSchema":` + wide + `}`),
		object{"name": "remote", "inputSchema": object{"type": "object", "$ref": "http://127.0.0.1:1/schema"}},
		object{"name": "long", "description": strings.Repeat("x", 1<<20), "inputSchema": object{"type": "object"}},
		tool("same"), tool("same"), tool("a.b"), tool("a/b"),
	}}
	s.answer = func(_ *peer, q *question) any { return text("called " + q.Params.Name) }
	g := scripted(t, s, nil)
	if res := g.call("test__good", nil); inside(res) != "called good" {
		t.Errorf("the good one = %+v", res)
	}
	if tools := g.Tools(); len(tools) != 1 || len(g.left) < 11 {
		t.Errorf("%d tools are mounted, %d left out: %q; want one", len(tools), len(g.left), g.left)
	}
	for _, l := range g.left {
		if len(l) > 500 {
			t.Errorf("a reason of %d bytes", len(l))
		}
	}
}
