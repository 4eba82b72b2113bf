package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// promptLine is a prompt as `tools --form prompt --json` prints it.
type promptLine struct {
	ID          string          `json:"id"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// PrintPrompts prints the prompts that a personality sees, a line each.
func PrintPrompts(p *Printer, prompts []registry.Definition) error {
	lines := make([]promptLine, len(prompts))
	rows := [][]string{{"PROMPT", "ARGUMENTS", "DESCRIPTION"}}
	for i := range prompts {
		d := &prompts[i]
		tool := sallyport.Tool{Name: d.Name, Form: sallyport.FormPrompt}
		lines[i] = promptLine{tool.ID(), d.Title, d.Description, d.Schema}
		rows = append(rows, []string{lines[i].ID, strings.Join(argumentsOf(d.Schema), ","), text.PrintableLine(d.Description)})
	}
	switch {
	case p.JSON:
		return p.PrintJSON(lines)
	case len(lines) == 0:
		p.PrintLine("no prompts: this personality sees none")
	default:
		p.PrintTable(rows)
	}
	return nil
}

// argumentsOf names the properties of a schema.
func argumentsOf(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil // the registry has compiled it, so that this cannot happen
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// PrintResources prints the resources that a personality sees, a line each.
func PrintResources(p *Printer, lines []app.ListedResource) error {
	rows := [][]string{{"RESOURCE", "READ BY", "TYPE", "NAME"}}
	for i := range lines {
		l := &lines[i]
		rows = append(rows, []string{l.URI + l.Template, l.ID, l.MediaType, text.PrintableLine(l.Name)})
	}
	switch {
	case p.JSON:
		return p.PrintJSON(lines)
	case len(lines) == 0:
		p.PrintLine("no resources: this personality sees none")
	default:
		p.PrintTable(rows)
	}
	return nil
}
