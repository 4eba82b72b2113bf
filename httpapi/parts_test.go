package httpapi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// partTools is a tool with a picture, and a prompt and a reader of the same name.
func partTools() []sallyport.Tool {
	answer := func(parts ...sallyport.Part) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.Result{OK: true, Parts: parts}, nil
		}
	}
	return []sallyport.Tool{
		{Name: "draw", Run: answer(
			sallyport.Part{Kind: sallyport.PartAudio, Data: []byte("wav"), MediaType: "audio/wav"},
			sallyport.Part{Kind: sallyport.PartLink, URI: "mem:a", Name: "<a>", Size: 3},
		)},
		{Name: "draw", Form: sallyport.FormPrompt, Run: answer(sallyport.Part{Kind: sallyport.PartText, Role: sallyport.RoleUser, Text: "Draw."})},
		{
			Name: "draw", Form: sallyport.FormResource, Resources: []sallyport.Resource{{URI: "mem:a", Name: "a"}},
			Run: answer(sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", Text: "abc"}),
		},
	}
}

func TestExecuteBringsTheParts(t *testing.T) {
	k := newKit(t, nil)
	if err := k.registry.Register(partTools()...); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ id, body, want string }{
		{"draw", `{}`, `"data":"","parts":[{"kind":"audio","data":"d2F2","media_type":"audio/wav"},{"kind":"link","uri":"mem:a","name":"<a>","size":3}]`},
		{"prompt:draw", `{}`, `"parts":[{"kind":"text","role":"user","text":"Draw."}]`},
		{"resource:draw", `{"params":{"uri":"mem:a"}}`, `"parts":[{"kind":"resource","text":"abc","uri":"mem:a"}]`},
	} {
		if got := k.execute(tt.id, tt.body); got.status != 200 || !strings.Contains(got.text, tt.want) {
			t.Errorf("execute(%s) = %d %s, want %s", tt.id, got.status, got.text, tt.want)
		}
	}
	if got := k.execute("echo", `{}`); strings.Contains(got.text, "parts") {
		t.Errorf("a result without parts answered %s", got.text)
	}
	if got := k.execute("resource:draw", `{"params":{"uri":"mem:b"}}`); got.status != 404 || got.body.Error != "Unknown resource: mem:b" {
		t.Errorf("a resource that is not listed answered %d %s, want 404", got.status, got.text)
	}
}

func TestOnlyToolsAreActions(t *testing.T) {
	k := newKit(t, nil)
	before := len(k.ids("/v1/actions", "alice"))
	if err := k.registry.Register(partTools()...); err != nil {
		t.Fatal(err)
	}
	if after := len(k.ids("/v1/actions", "alice")); after != before+1 {
		t.Errorf("%d actions, want one more than %d", after, before)
	}
}

// TestTheDocumentDescribesParts holds an answer to the schema of the document.
func TestTheDocumentDescribesParts(t *testing.T) {
	k := newKit(t, nil)
	if err := k.registry.Register(partTools()...); err != nil {
		t.Fatal(err)
	}
	_, doc := k.document("alice")
	success := at(doc, "paths", "/v1/actions/draw/execute", "post", "responses", "200", "content", "application/json", "schema")
	if at(success, "properties", "parts", "items", "$ref") != "#/components/schemas/part" {
		t.Fatalf("the answer's schema is %v", success)
	}
	text, err := json.Marshal(at(doc, "components", "schemas", "part"))
	if err != nil {
		t.Fatal(err)
	}
	part, err := schema.CompileAny(text)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Parts []any }
	if err := json.Unmarshal([]byte(k.execute("draw", `{}`).text), &answer); err != nil || len(answer.Parts) != 2 {
		t.Fatalf("draw answered %v, %v", answer, err)
	}
	for _, p := range answer.Parts {
		if faults := part.Validate(p); len(faults) > 0 {
			t.Errorf("%v does not fit the schema: %v", p, faults)
		}
	}
}
