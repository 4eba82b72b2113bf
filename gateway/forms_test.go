package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// eachForm runs a test with the official client over a kit with every form.
func eachForm(t *testing.T, test func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession)) {
	eachOf(t, func(t *testing.T) *kit { return newKit(t, forms()...) }, test)
}

// refusal returns the protocol error with which a request was answered.
func refusal(t *testing.T, err error) *jsonrpc.Error {
	t.Helper()
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		t.Fatalf("error = %v, want one of the protocol", err)
	}
	return e
}

func TestPartsArriveAsContent(t *testing.T) {
	size := int64(42)
	want := []mcp.Content{
		&mcp.TextContent{Text: "five <parts> follow"},
		&mcp.TextContent{Text: "a \"text\" & more"},
		&mcp.ImageContent{Data: onePixel(), MIMEType: "image/png"},
		&mcp.AudioContent{Data: []byte("sound"), MIMEType: "audio/wav"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://text", Text: "a\nb", MIMEType: "text/plain"}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://bytes", Blob: []byte{0, 1, 2}, MIMEType: "application/octet-stream"}},
		&mcp.ResourceLink{
			URI: "https://example.com/a?b=c&d", Name: "page", Title: "A page", Description: "Somewhere else",
			MIMEType: "text/html", Size: &size,
		},
		&mcp.ResourceLink{URI: "https://example.com/bare", Name: "https://example.com/bare"},
	}
	eachForm(t, func(t *testing.T, _ *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(nil)
		for tool, want := range map[string][]mcp.Content{
			"parts": want, "picture": want[2:3], "nothing": {&mcp.TextContent{}},
		} {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, res.Content); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tool, diff)
			}
		}
	})
}

func TestPromptsAreListedAndGot(t *testing.T) {
	eachForm(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(nil)
		list, err := s.ListPrompts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []*mcp.Prompt{{
			Name: "greeting", Title: "Greeting", Description: "Greets a person.", Arguments: []*mcp.PromptArgument{
				{Name: "who", Title: "Who", Description: "Whom to greet", Required: true}, {Name: "tone"},
			},
		}}
		if diff := cmp.Diff(want, list.Prompts); diff != "" || list.CacheScope != "private" {
			t.Errorf("ListPrompts() has scope %q (-want +got):\n%s", list.CacheScope, diff)
		}
		got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greeting", Arguments: map[string]string{"who": "Ann"}})
		if err != nil {
			t.Fatal(err)
		}
		messages := []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "Greet Ann"}},
			{Role: "assistant", Content: &mcp.TextContent{Text: "Hello"}},
			{Role: "user", Content: &mcp.ImageContent{Data: onePixel(), MIMEType: "image/png"}},
		}
		if diff := cmp.Diff(messages, got.Messages); diff != "" {
			t.Errorf("GetPrompt() (-want +got):\n%s", diff)
		}
		outcomes := k.record.outcomes("prompt:greeting")
		if len(outcomes) != 1 || outcomes[0].CallID != got.Meta["sallyport/call"] {
			t.Errorf("outcomes = %+v, want one with id %v", outcomes, got.Meta["sallyport/call"])
		}
	})
}

func TestAPromptThatFailsIsAnError(t *testing.T) {
	eachForm(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(nil)
		for _, tt := range []struct {
			name, who string
			code      int64
			text      string
		}{
			{"other", "Ann", jsonrpc.CodeInvalidParams, "not_available: Unknown tool: prompt:other"},
			{"dispatch", "Ann", jsonrpc.CodeInvalidParams, "not_available: Unknown tool: prompt:dispatch"},
			{"greeting", "", jsonrpc.CodeInvalidParams, "input_invalid: "},
			{"greeting", "nobody", jsonrpc.CodeInternalError, "there is no name to greet"},
		} {
			args := map[string]string{}
			if tt.who != "" {
				args["who"] = tt.who
			}
			_, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: tt.name, Arguments: args})
			e := refusal(t, err)
			if e.Code != tt.code || !strings.HasPrefix(e.Message, tt.text) {
				t.Errorf("GetPrompt(%s, %s) = %d %s, want %d %s", tt.name, tt.who, e.Code, e.Message, tt.code, tt.text)
			}
			var data map[string]any
			if json.Unmarshal(e.Data, &data) != nil || data["sallyport/call"] == "" || data["sallyport/code"] == "" {
				t.Errorf("data = %s, want call and code", e.Data)
			}
		}
		if got := k.record.outcomes("prompt:other"); len(got) != 1 {
			t.Errorf("recorded %d outcomes of an unknown prompt, want 1", len(got))
		}
	})
}

func TestResourcesAreListedAndRead(t *testing.T) {
	eachForm(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(nil)
		list, err := s.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []*mcp.Resource{
			{URI: "test://bytes", Name: "bytes", MIMEType: "image/png"},
			{URI: "test://empty", Name: "empty"},
			{URI: "test://refused", Name: "refused"},
			{URI: "test://text", Name: "text", Title: "A text", MIMEType: "text/plain", Size: 5},
		}
		if diff := cmp.Diff(want, list.Resources); diff != "" || list.CacheScope != "private" {
			t.Errorf("ListResources() has scope %q (-want +got):\n%s", list.CacheScope, diff)
		}
		families, err := s.ListResourceTemplates(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]*mcp.ResourceTemplate{{URITemplate: "test://item/{id}", Name: "item", Description: "One item"}}, families.ResourceTemplates); diff != "" {
			t.Errorf("ListResourceTemplates() (-want +got):\n%s", diff)
		}
		for _, want := range []*mcp.ResourceContents{
			{URI: "test://text", Text: "hello", MIMEType: "text/plain"},
			{URI: "test://bytes", Blob: onePixel(), MIMEType: "image/png"},
			{URI: "test://empty", Blob: []byte{}},
			{URI: "test://item/7", Text: "item 7"},
		} {
			got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: want.URI})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]*mcp.ResourceContents{want}, got.Contents, cmpopts.EquateEmpty()); diff != "" || got.TTLMs != 0 {
				t.Errorf("ReadResource(%s) may be kept %d ms (-want +got):\n%s", want.URI, got.TTLMs, diff)
			}
		}
		if got := k.record.outcomes("resource:files"); len(got) != 4 {
			t.Errorf("recorded %d outcomes, want 4", len(got))
		}
	})
}

func TestAResourceThatCannotBeReadIsAnError(t *testing.T) {
	eachForm(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(nil)
		unknown := int64(-32002)
		if strings.HasSuffix(t.Name(), "2026-07-28") {
			unknown = jsonrpc.CodeInvalidParams
		}
		for _, tt := range []struct {
			uri  string
			code int64
			text string
		}{
			{"test://other", unknown, "Resource not found"},
			{"sallyport:dispatch", unknown, "Resource not found"},
			{"test://item/a/b", unknown, "Resource not found"},
			{"files", jsonrpc.CodeInvalidParams, "expected an absolute URI"},
			{"x:" + strings.Repeat("y", 9000), jsonrpc.CodeInvalidParams, "expected an absolute URI"},
			{"test://refused", jsonrpc.CodeInternalError, "HOST_NOT_ALLOWED: api.stripe.com"},
		} {
			_, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: tt.uri})
			e := refusal(t, err)
			if e.Code != tt.code || !strings.HasPrefix(e.Message, tt.text) {
				t.Errorf("ReadResource(%.40s) = %d %s, want %d %s", tt.uri, e.Code, e.Message, tt.code, tt.text)
			}
		}
		if got := k.record.outcomes("resource:test://other"); len(got) != 1 || got[0].Code != sallyport.CodeNotAvailable {
			t.Errorf("outcomes of an unknown resource = %+v, want one refusal", got)
		}
	})
}

func TestCompletionOffersWhatTheSchemaLists(t *testing.T) {
	eachForm(t, func(t *testing.T, _ *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(nil)
		for _, tt := range []struct {
			ref                   mcp.CompleteReference
			argument, value, want string
		}{
			{mcp.CompleteReference{Type: "ref/prompt", Name: "greeting"}, "tone", "wa", "[warm wary]"},
			{mcp.CompleteReference{Type: "ref/prompt", Name: "greeting"}, "tone", "", "[warm wary cold]"},
			{mcp.CompleteReference{Type: "ref/prompt", Name: "greeting"}, "tone", "hot", "[]"},
			{mcp.CompleteReference{Type: "ref/prompt", Name: "greeting"}, "who", "A", "[]"},
			{mcp.CompleteReference{Type: "ref/prompt", Name: "other"}, "tone", "w", "[]"},
			{mcp.CompleteReference{Type: "ref/resource", URI: "test://item/{id}"}, "id", "1", "[]"},
		} {
			res, err := s.Complete(t.Context(), &mcp.CompleteParams{
				Ref: &tt.ref, Argument: mcp.CompleteParamsArgument{Name: tt.argument, Value: tt.value},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Completion; fmt.Sprint(got.Values) != tt.want || got.Total != len(got.Values) || got.HasMore {
				t.Errorf("Complete(%v, %s, %q) = %+v, want %s", tt.ref, tt.argument, tt.value, got, tt.want)
			}
		}
	})
}
