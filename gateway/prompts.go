package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// promptPrefix stands before the name of a prompt in the id of its call.
const promptPrefix = string(sallyport.FormPrompt) + ":"

// listPrompts answers a listing with the prompts behind a cursor.
func (s *Server) listPrompts(ctx context.Context, r *mcp.ListPromptsRequest) (*mcp.ListPromptsResult, error) {
	caller, err := s.callerOf(ctx, r)
	if err != nil {
		return nil, err
	}
	rest, next, refused := pageBehind(s.gate.Prompts(caller), r.Params.Cursor, nameOf)
	if refused != nil {
		return nil, refused
	}
	out := &mcp.ListPromptsResult{Cacheable: listCache, NextCursor: next, Prompts: make([]*mcp.Prompt, len(rest))}
	for i := range rest {
		d := &rest[i]
		p := &mcp.Prompt{Name: d.Name, Title: d.Title, Description: d.Description}
		for _, a := range promptArguments(d.Schema) {
			p.Arguments = append(p.Arguments, &a.PromptArgument)
		}
		out.Prompts[i] = p
	}
	return out, nil
}

// promptArgument is one argument of a prompt, with its possible values if the schema
// lists them.
type promptArgument struct {
	mcp.PromptArgument
	values []string
}

// promptArguments reads the arguments of a prompt from its schema. It keeps the
// order of the schema, because a form shows them in that order.
func promptArguments(schema json.RawMessage) []promptArgument {
	top, err := appendMembers(nil, rawjson.Blank(schema))
	if err != nil {
		return nil // the gate accepts no such schema
	}
	var required []string
	if r := valueOf(top, "required"); r != nil {
		// A value that is not a list of names requires none.
		_ = json.Unmarshal(r, &required)
	}
	properties, err := appendMembers(nil, valueOf(top, "properties"))
	if err != nil {
		return nil
	}
	out := make([]promptArgument, 0, len(properties))
	for _, p := range properties {
		var about struct {
			Title       string   `json:"title"`
			Description string   `json:"description"`
			Enum        []string `json:"enum"`
		}
		// A property without these members still has a name.
		_ = json.Unmarshal(p.value, &about)
		name := string(p.key)
		out = append(out, promptArgument{mcp.PromptArgument{
			Name: name, Title: about.Title, Description: about.Description, Required: slices.Contains(required, name),
		}, about.Enum})
	}
	return out
}

// getPrompt asks the gate for the messages of a prompt.
func (s *Server) getPrompt(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	args := []byte("{}")
	if len(r.Params.Arguments) > 0 {
		var err error
		if args, err = json.Marshal(r.Params.Arguments); err != nil {
			return nil, err
		}
	}
	name, _ := ctx.Value(nameKey{}).(string)
	q := sallyport.Request{Tool: promptPrefix + name, Args: args}
	res, asked, err := s.callThroughGate(ctx, r, q, roundInput{r.Params.InputResponses, r.Params.RequestState})
	switch {
	case err != nil:
		return nil, err
	case asked != nil:
		return &mcp.GetPromptResult{Meta: asked.resultMeta(&res), InputRequests: asked.requests, RequestState: asked.state}, nil
	case res.Code == sallyport.CodeNotAvailable && strings.HasPrefix(res.Error, "Unknown "):
		return nil, failureError(&res, jsonrpc.CodeInvalidParams)
	case !res.OK:
		return nil, failureError(&res, 0)
	}
	return &mcp.GetPromptResult{Meta: resultMeta(&res), Messages: promptMessages(&res)}, nil
}

// promptMessages converts the parts of a result into the messages of a prompt. The
// gate ensures that each part has a role.
func promptMessages(res *sallyport.Result) []*mcp.PromptMessage {
	out := make([]*mcp.PromptMessage, len(res.Parts))
	for i := range res.Parts {
		p := &res.Parts[i]
		out[i] = &mcp.PromptMessage{Role: mcp.Role(p.Role), Content: writtenContent{text: appendPart(nil, p)}}
	}
	return out
}
