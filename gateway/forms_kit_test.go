package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

// noForms is the part of a gate without prompts, resources, headers and
// approvals.
type noForms struct{}

func (noForms) Prompts(*sallyport.Caller) []registry.Definition       { return nil }
func (noForms) Resources(*sallyport.Caller) []sallyport.Resource      { return nil }
func (noForms) Reader(*sallyport.Caller, string) (id string, ok bool) { return "", false }
func (noForms) Asks(*sallyport.Caller, string) bool                   { return false }
func (noForms) Headers(*sallyport.Caller, string) []schema.Header     { return nil }
func (noForms) FileArguments(*sallyport.Caller, string) []attached.Argument {
	return nil
}

func (noForms) Reject(context.Context, *sallyport.Caller, sallyport.Request, string) sallyport.Result {
	return sallyport.Result{}
}
func (noForms) Inquires(string) bool               { return false }
func (noForms) Tasks(string) sallyport.TaskSupport { return sallyport.TaskNever }
func (noForms) Stands(context.Context, *sallyport.Caller, string, time.Time) bool {
	return true
}

// forms returns a prompt, a reader of resources, and tools whose results are
// more than a text.
func forms() []sallyport.Tool {
	anything := json.RawMessage(`{"type":"object"}`)
	return []sallyport.Tool{
		{
			Name: "parts", Description: "Returns a value and a part of each kind.", Schema: anything, ReadOnly: true,
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				return sallyport.Result{OK: true, Value: "five <parts> follow", Parts: allParts()}, nil
			},
		},
		{
			Name: "picture", Description: "Returns a picture and no value.", Schema: anything, ReadOnly: true,
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				return sallyport.Result{OK: true, Parts: allParts()[1:2]}, nil
			},
		},
		{
			Name: "nothing", Description: "Returns nothing.", Schema: anything, ReadOnly: true,
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(""), nil },
		},
		{
			Name: "greeting", Form: sallyport.FormPrompt, Title: "Greeting", Description: "Greets a person.",
			Schema: json.RawMessage(`{"type":"object","required":["who"],"properties":{
				"who":{"type":"string","title":"Who","description":"Whom to greet"},
				"tone":{"type":"string","enum":["warm","wary","cold"]}}}`),
			Run: greet,
		},
		{
			Name: "files", Form: sallyport.FormResource, Description: "Reads what is kept for the test.",
			Resources: []sallyport.Resource{
				{URI: "test://text", Name: "text", Title: "A text", MediaType: "text/plain", Size: 5},
				{URI: "test://empty", Name: "empty"},
				{URI: "test://bytes", Name: "bytes", MediaType: "image/png"},
				{URI: "test://refused", Name: "refused"},
				{Template: "test://item/{id}", Name: "item", Description: "One item"},
			},
			Run: readTest,
		},
	}
}

func allParts() []sallyport.Part {
	return []sallyport.Part{
		{Kind: sallyport.PartText, Text: "a \"text\" & more"},
		{Kind: sallyport.PartImage, Data: onePixel(), MediaType: "image/png"},
		{Kind: sallyport.PartAudio, Data: []byte("sound"), MediaType: "audio/wav"},
		{Kind: sallyport.PartResource, URI: "test://text", Text: "a\nb", MediaType: "text/plain"},
		{Kind: sallyport.PartResource, URI: "test://bytes", Data: []byte{0, 1, 2}},
		{
			Kind: sallyport.PartLink, URI: "https://example.com/a?b=c&d", Name: "page", Title: "A page",
			Description: "Somewhere else", MediaType: "text/html", Size: 42,
		},
		{Kind: sallyport.PartLink, URI: "https://example.com/bare"},
	}
}

func greet(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	var in struct{ Who, Tone string }
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return sallyport.Result{}, err
	}
	if in.Who == "nobody" {
		return sallyport.Err("there is no name to greet", ""), nil
	}
	return sallyport.Result{OK: true, Parts: []sallyport.Part{
		{Kind: sallyport.PartText, Role: sallyport.RoleUser, Text: "Greet " + in.Who + in.Tone},
		{Kind: sallyport.PartText, Role: sallyport.RoleAssistant, Text: "Hello"},
		{Kind: sallyport.PartImage, Role: sallyport.RoleUser, Data: onePixel(), MediaType: "image/png"},
	}}, nil
}

func readTest(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	var in struct{ URI string }
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return sallyport.Result{}, err
	}
	part := sallyport.Part{Kind: sallyport.PartResource, URI: in.URI}
	switch {
	case in.URI == "test://text":
		part.Text, part.MediaType = "hello", "text/plain"
	case in.URI == "test://bytes":
		part.Data, part.MediaType = onePixel(), "image/png"
	case in.URI == "test://refused":
		return sallyport.Result{}, sallyport.HostError("api.stripe.com", "")
	case strings.HasPrefix(in.URI, "test://item/"):
		part.Text = "item " + strings.TrimPrefix(in.URI, "test://item/")
	}
	return sallyport.Result{OK: true, Parts: []sallyport.Part{part}}, nil
}

// onePixel returns a picture, as the gate draws it again.
func onePixel() []byte {
	data, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGJiAAQAAP//AAYAA/rQWa4AAAAASUVORK5CYII=")
	if err != nil {
		panic(err)
	}
	return data
}
