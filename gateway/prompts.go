package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// promptPrefix stands before the name of a prompt in the id of its call.
const promptPrefix = string(sallyport.FormPrompt) + ":"

func (c *core) listPrompts(_ context.Context, r *request, out []byte) ([]byte, error) {
	caller, cursor, err := c.readListing(r)
	if err != nil {
		return out, err
	}
	rest, next, err := pageBehind(c.gate.Prompts(caller), cursor, nameOf)
	if err != nil {
		return out, err
	}
	page := &mcp.ListPromptsResult{Cacheable: listCache, NextCursor: next, Prompts: make([]*mcp.Prompt, len(rest))}
	for i := range rest {
		d := &rest[i]
		p := &mcp.Prompt{Name: d.Name, Title: d.Title, Description: d.Description}
		for _, a := range promptArguments(d.Schema) {
			p.Arguments = append(p.Arguments, &a.PromptArgument)
		}
		page.Prompts[i] = p
	}
	return c.appendObject(out, r, page)
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
	top, err := wire.ReadObject(rawjson.Blank(schema))
	if err != nil {
		return nil // the gate accepts no such schema
	}
	var required []string
	if r := top.Value("required"); r != nil {
		// A value that is not a list of names requires none.
		_ = json.Unmarshal(r, &required)
	}
	properties, err := wire.ReadObject(top.Value("properties"))
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
		_ = json.Unmarshal(p.Value, &about)
		name := string(p.Key)
		out = append(out, promptArgument{mcp.PromptArgument{
			Name: name, Title: about.Title, Description: about.Description, Required: slices.Contains(required, name),
		}, about.Enum})
	}
	return out
}

// getPrompt asks the gate for the messages of a prompt.
func (c *core) getPrompt(ctx context.Context, r *request, out []byte) ([]byte, error) {
	name, err := r.In.Text("name")
	if err != nil {
		return out, err
	}
	args, err := readPromptArguments(r)
	if err != nil {
		return out, err
	}
	res, asked, err := c.callThroughGate(ctx, r, sallyport.Request{Tool: promptPrefix + name, Args: args})
	switch {
	case err != nil:
		return out, err
	case asked != nil:
		return c.appendQuestion(out, `"messages":null`, asked, &res)
	case res.Code == sallyport.CodeNotAvailable && strings.HasPrefix(res.Error, "Unknown "):
		return out, failureError(&res, jsonrpc.CodeInvalidParams)
	case !res.OK:
		return out, failureError(&res, 0)
	}
	out, err = c.appendMeta(append(out, '{'), r.rounds, &res)
	return appendEnd(appendMessages(append(out, `,"messages":`...), &res), r.rounds), err
}

// readPromptArguments returns the arguments of a prompt. They are texts.
func readPromptArguments(r *request) (json.RawMessage, error) {
	all, err := r.In.Object("arguments")
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Value[0] != '"' {
			return nil, wire.Invalid("arguments." + string(all[i].Key) + " must be a string")
		}
	}
	if len(all) == 0 {
		return json.RawMessage("{}"), nil
	}
	return r.In.Value("arguments"), nil
}

// appendMessages appends the parts of a result as the messages of a prompt. The gate
// ensures that each part has a role.
func appendMessages(out []byte, res *sallyport.Result) []byte {
	out = append(out, '[')
	for i := range res.Parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendPart(append(out, `{"content":`...), &res.Parts[i])
		out = append(rawjson.AppendText(append(out, `,"role":`...), string(res.Parts[i].Role)), '}')
	}
	return append(out, ']')
}
