package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

func toolsCommand(env *environment, f *flags) *cobra.Command {
	var r role
	var format, form string
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List what a personality sees",
		Long: `List the tools that a personality sees. Its MCP servers are started to ask what
they offer. With --format the definitions are printed in the form that a model's
API takes. With --form prompt or resource it lists those, by the names under
which call takes them.`,
		Example: `  sallyport tools
  sallyport tools --format anthropic
  sallyport tools --form prompt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd.Context(), env, f, askGate, func(g *gate, caller *sallyport.Caller) error {
				g.find(cmd.Context(), env, caller, g.listed(caller.Personality), true)
				p := env.printer(f)
				if format != "" && form != "tool" {
					return misused(errors.New("--format is for tools: it goes with no --form"))
				}
				if format != "" {
					shaped, err := shape(format, g.registry.Definitions(caller))
					if err != nil {
						return misused(err)
					}
					return p.value(shaped)
				}
				return g.printForm(p, caller, form)
			})
		},
	}
	r.register(cmd)
	cmd.Flags().StringVar(&format, "format", "", "print definitions for a model: `openai|anthropic|gemini|mcp`")
	cmd.Flags().StringVar(&form, "form", "tool", "what to list: `tool|prompt|resource`")
	return cmd
}

// toolLine is a tool as `tools --json` prints it.
type toolLine struct {
	Name         string                 `json:"name"`
	Title        string                 `json:"title,omitempty"`
	Toolset      string                 `json:"toolset,omitempty"`
	Description  string                 `json:"description"`
	Capabilities sallyport.Capabilities `json:"capabilities"`
	Permissions  []string               `json:"permissions,omitempty"`
	Parameters   json.RawMessage        `json:"parameters,omitempty"`
	Returns      json.RawMessage        `json:"returns,omitempty"`
	Untrusted    bool                   `json:"output_is_untrusted"`
}

func printTools(p *printer, tools []sallyport.Tool) error {
	if p.json {
		lines := make([]toolLine, len(tools))
		for i := range tools {
			t := &tools[i]
			lines[i] = toolLine{
				t.Name, t.Title, t.Toolset, t.Description, t.Capabilities,
				t.Permissions, t.Schema, t.Returns, t.OutputIsUntrusted,
			}
		}
		return p.value(lines)
	}
	if len(tools) == 0 {
		p.line("no tools: this personality sees none")
		return nil
	}
	rows := [][]string{{"TOOL", "TOOLSET", "TOUCHES", "DESCRIPTION"}}
	for i := range tools {
		t := &tools[i]
		about, _, _ := strings.Cut(t.Description, ". ")
		rows = append(rows, []string{t.Name, t.Toolset, touches(&t.Capabilities), strings.TrimSuffix(about, ".")})
	}
	p.table(rows)
	return nil
}

// touches names the declared groups in a few words.
func touches(c *sallyport.Capabilities) string {
	var words []string
	add := func(declared bool, word string) {
		if declared {
			words = append(words, word)
		}
	}
	add(c.FSReach != nil && !c.FSReach.Read.IsZero(), "read")
	add(c.FSReach != nil && !c.FSReach.Write.IsZero(), "write")
	add(c.Network != nil, "network")
	add(len(c.Secrets) > 0, "secrets")
	add(c.Storage != nil, "storage")
	add(c.Process != nil, "process")
	add(c.Attachments != nil, "attachments")
	add(c.Database != nil, "database")
	add(c.Mail != nil, "mail")
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ",")
}

// shape puts definitions into the form of a model's API.
func shape(format string, defs []registry.Definition) (any, error) {
	out := make([]any, len(defs))
	for i := range defs {
		d := &defs[i]
		switch format {
		case "openai":
			out[i] = map[string]any{"type": "function", "function": map[string]any{
				"name": d.Name, "description": d.Description, "parameters": d.Schema,
			}}
		case "anthropic":
			out[i] = map[string]any{"name": d.Name, "description": d.Description, "input_schema": d.Schema}
		case "gemini":
			out[i] = map[string]any{"name": d.Name, "description": d.Description, "parametersJsonSchema": d.Schema}
		case "mcp":
			tool := map[string]any{
				"name": d.Name, "title": d.Title, "description": d.Description, "inputSchema": d.Schema,
				"annotations": map[string]any{
					"title": d.Title, "readOnlyHint": d.ReadOnly, "destructiveHint": d.Destructive,
					"idempotentHint": d.Idempotent, "openWorldHint": d.OpenWorld,
				},
			}
			if d.Returns != nil {
				tool["outputSchema"] = d.Returns
			}
			out[i] = tool
		default:
			return nil, fmt.Errorf("--format %q: expected openai, anthropic, gemini or mcp", format)
		}
	}
	if format == "gemini" {
		return map[string]any{"functionDeclarations": out}, nil
	}
	return out, nil
}
