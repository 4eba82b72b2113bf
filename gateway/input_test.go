package gateway_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// named answers every question for a name.
func named(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
}

// TestAToolAsksWhoeverCalled: there is one run, one record, and an answer for
// each kind of question.
func TestAToolAsksWhoeverCalled(t *testing.T) {
	eachInquiry(t, func(t *testing.T, in *inquiry, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		var messages []string
		o := crowd(func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			messages = append(messages, p.Message)
			return named(p)
		})
		s := connect(o)
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "everyone"})
		if err != nil || res.IsError {
			t.Fatalf("CallTool() = %+v, %v", res, err)
		}
		got := res.Content[0].(*mcp.TextContent).Text
		for _, want := range []string{`"Values":{"name":"Ann"}`, `"Text":"You are a poet: Write a poem","Model":"m"`, `"Action":"accept","Values":null,"Text":"","Model":"","Folders":null}]`} {
			if !strings.Contains(got, want) {
				t.Errorf("the tool heard %s, want %s", got, want)
			}
		}
		if want := []string{"everyone asks:\n\nSallyport holds this call.\n\nWhat is your name?"}; !slices.Equal(messages, want) {
			t.Errorf("the person read %q, want %q", messages, want)
		}
		out := in.record.outcomes("everyone")
		if in.ran.Load() != 1 || len(out) != 1 || !out[0].OK || in.Parked() != 0 {
			t.Errorf("%d runs and the outcomes %+v, want one", in.ran.Load(), out)
		}
		asked := 0
		for _, d := range out[0].Decisions {
			if d.Capability == "input" && d.Allowed {
				asked++
			}
			if strings.Contains(d.Why+d.Resource, "Ann") {
				t.Errorf("the record holds an answer: %+v", d)
			}
		}
		if asked != 3 {
			t.Errorf("%d questions are recorded, want 3", asked)
		}
	})
}

// TestAToolAsksTwice, with progress after each answer for a client that wants
// it.
func TestAToolAsksTwice(t *testing.T) {
	eachInquiry(t, func(t *testing.T, in *inquiry, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		progress := make(chan string, 10)
		o := crowd(func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if strings.Contains(p.Message, "colour") {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"colour": "red"}}, nil
			}
			return &mcp.ElicitResult{Action: "decline"}, nil
		})
		o.ProgressNotificationHandler = func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message }
		s := connect(o)
		params := &mcp.CallToolParams{Name: "twice"}
		params.SetProgressToken("p")
		got := text(t, callOf(t, s, params), nil)
		want := `[{"Action":"decline","Values":null,"Text":"","Model":"","Folders":null}] then ` +
			`[{"Action":"accept","Values":{"colour":"red","deep":true},"Text":"","Model":"","Folders":null}]`
		if got != want || in.ran.Load() != 1 {
			t.Errorf("the tool heard %s in %d runs, want %s in one", got, in.ran.Load(), want)
		}
		for range 2 {
			if got := <-progress; got != "heard" {
				t.Errorf("progress = %q, want heard", got)
			}
		}
	})
}

func callOf(t *testing.T, s *mcp.ClientSession, p *mcp.CallToolParams) *mcp.CallToolResult {
	t.Helper()
	res, err := s.CallTool(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestPromptsAndResourcesAsk.
func TestPromptsAndResourcesAsk(t *testing.T) {
	eachInquiry(t, func(t *testing.T, in *inquiry, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(crowd(named))
		prompt, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "asks"})
		if err != nil || !strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "Ann") {
			t.Errorf("GetPrompt() = %+v, %v, want that it heard Ann", prompt, err)
		}
		resource, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://asks"})
		if err != nil || !strings.Contains(resource.Contents[0].Text, "Ann") {
			t.Errorf("ReadResource() = %+v, %v, want that it heard Ann", resource, err)
		}
		if in.ran.Load() != 2 {
			t.Errorf("%d runs, want 2", in.ran.Load())
		}
	})
}

// TestAHeldCallAsks: the person decides once, is asked once, and the call runs
// once.
func TestAHeldCallAsks(t *testing.T) {
	eachInquiry(t, func(t *testing.T, in *inquiry, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		var mu sync.Mutex
		var asked []string
		s := connect(crowd(func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if strings.HasPrefix(p.Message, "heldasks asks:") {
				asked = append(asked, "name")
				return named(p)
			}
			asked = append(asked, "approval")
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		}))
		res := callOf(t, s, &mcp.CallToolParams{Name: "heldasks"})
		if got := text(t, res, nil); res.IsError || !strings.Contains(got, "Ann") {
			t.Errorf("answered %s, want that it heard Ann", got)
		}
		if !slices.Equal(asked, []string{"approval", "name"}) || in.ran.Load() != 1 || len(in.decisions()) != 1 {
			t.Errorf("asked %v with %d runs, want approval and name, and one", asked, in.ran.Load())
		}
	})
}

// TestAClientThatCannotBeAsked: with sessions the tool gets the error. Without
// sessions the client gets it if the tool fails because of it.
func TestAClientThatCannotBeAsked(t *testing.T) {
	eachInquiry(t, func(t *testing.T, in *inquiry, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "poet"})
		if s.InitializeResult().ProtocolVersion == versions[0] {
			if err == nil || !strings.Contains(err.Error(), "input of kind model, which the client does not declare") {
				t.Errorf("CallTool() = %+v, %v, want what the client lacks", res, err)
			}
		} else if got := text(t, res, err); !strings.HasPrefix(got, "not_available: the tool asks for input of kind model, which this client does not offer") {
			t.Errorf("answered %s, want that the client does not offer it", got)
		}
		if got := text(t, callOf(t, s, &mcp.CallToolParams{Name: "copes"}), nil); got != "can ask " {
			t.Errorf("a tool that looks first answered %q, want that it cannot ask", got)
		}
		if got := text(t, callOf(t, s, &mcp.CallToolParams{Name: "careless"}), nil); got != "went on" {
			t.Errorf("a tool that does without answered %q, want that it went on", got)
		}
		if out := in.record.outcomes("poet"); len(out) != 1 || out[0].Code != "not_available" {
			t.Errorf("recorded %+v, want one outcome that is not available", out)
		}
		able := connect(crowd(named))
		if got := text(t, callOf(t, able, &mcp.CallToolParams{Name: "copes"}), nil); !strings.HasPrefix(got, "can ask person model ") {
			t.Errorf("answered %q, want that it can ask", got)
		}
	})
}
