package gateway

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/registry"
)

// maxCompletions bounds the values of a completion, as the protocol requires.
const maxCompletions = 100

// completeArgument offers the values of an argument that the schema of its prompt
// lists. For other arguments it returns an empty answer.
func (c *core) completeArgument(_ context.Context, r *request, out []byte) ([]byte, error) {
	in, err := readCompletion(r)
	if err != nil {
		return out, err
	}
	caller, err := c.callerOf(r, "")
	if err != nil {
		return out, err
	}
	found := []string{}
	if in.kind == "ref/prompt" {
		found = listCompletions(c.gate.Prompts(caller), &in)
	}
	details := mcp.CompletionResultDetails{Total: len(found), Values: found}
	if len(found) > maxCompletions {
		details.Values, details.HasMore = found[:maxCompletions], true
	}
	return c.appendObject(out, r, &mcp.CompleteResult{Completion: details})
}

// completion says which argument of what is completed.
type completion struct {
	kind, prompt    string
	argument, begun string
}

func readCompletion(r *request) (in completion, err error) {
	ref, err := r.In.Object("ref")
	if err != nil {
		return in, err
	}
	argument, err := r.In.Object("argument")
	if err != nil {
		return in, err
	}
	for _, text := range []struct {
		to   *string
		from wire.Members
		key  string
	}{{&in.kind, ref, "type"}, {&in.prompt, ref, "name"}, {&in.argument, argument, "name"}, {&in.begun, argument, "value"}} {
		if *text.to, err = text.from.Text(text.key); err != nil {
			return in, err
		}
	}
	switch {
	case in.kind != "ref/prompt" && in.kind != "ref/resource":
		return in, wire.Invalid("ref.type must be ref/prompt or ref/resource")
	case in.argument == "":
		return in, wire.Invalid("argument.name is missing")
	}
	return in, nil
}

// listCompletions returns the values of an argument that begin as the client wrote.
func listCompletions(prompts []registry.Definition, in *completion) []string {
	found := []string{}
	i, ok := findDefinition(prompts, in.prompt)
	if !ok {
		return found
	}
	for _, a := range promptArguments(prompts[i].Schema) {
		if a.Name != in.argument {
			continue
		}
		for _, v := range a.values {
			if strings.HasPrefix(v, in.begun) {
				found = append(found, v)
			}
		}
	}
	return found
}
