package gateway

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/registry"
)

// maxCompletions bounds the values of a completion, as the protocol requires.
const maxCompletions = 100

// completeArgument offers the values of an argument that the schema of its prompt
// lists. For other arguments it returns an empty answer.
func (s *Server) completeArgument(ctx context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	caller, err := s.callerOf(ctx, r)
	if err != nil {
		return nil, err
	}
	found := []string{}
	if r.Params.Ref.Type == "ref/prompt" {
		found = listCompletions(s.gate.Prompts(caller), r.Params)
	}
	details := mcp.CompletionResultDetails{Total: len(found), Values: found}
	if len(found) > maxCompletions {
		details.Values, details.HasMore = found[:maxCompletions], true
	}
	return &mcp.CompleteResult{Completion: details}, nil
}

func listCompletions(prompts []registry.Definition, p *mcp.CompleteParams) []string {
	found := []string{}
	i, ok := slices.BinarySearchFunc(prompts, p.Ref.Name, func(d registry.Definition, name string) int {
		return strings.Compare(d.Name, name)
	})
	if !ok {
		return found
	}
	for _, a := range promptArguments(prompts[i].Schema) {
		if a.Name != p.Argument.Name {
			continue
		}
		for _, v := range a.values {
			if strings.HasPrefix(v, p.Argument.Value) {
				found = append(found, v)
			}
		}
	}
	return found
}
