package report

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

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

// PrintTools prints tools, a line each.
func PrintTools(p *Printer, tools []sallyport.Tool) error {
	if p.JSON {
		lines := make([]toolLine, len(tools))
		for i := range tools {
			t := &tools[i]
			lines[i] = toolLine{
				t.Name, t.Title, t.Toolset, t.Description, t.Capabilities,
				t.Permissions, t.Schema, t.Returns, t.OutputIsUntrusted,
			}
		}
		return p.PrintJSON(lines)
	}
	if len(tools) == 0 {
		p.PrintLine("no tools: this personality sees none")
		return nil
	}
	rows := [][]string{{"TOOL", "TOOLSET", "TOUCHES", "DESCRIPTION"}}
	for i := range tools {
		t := &tools[i]
		about, _, _ := strings.Cut(t.Description, ". ")
		rows = append(rows, []string{t.Name, t.Toolset, summarizeGroups(&t.Capabilities), strings.TrimSuffix(about, ".")})
	}
	p.PrintTable(rows)
	return nil
}

// summarizeGroups names the declared groups in a few words.
func summarizeGroups(c *sallyport.Capabilities) string {
	words := group.Words(c)
	// What may be read and written comes first.
	slices.SortStableFunc(words, func(a, b string) int { return rankWord(a) - rankWord(b) })
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ",")
}

func rankWord(word string) int {
	switch word {
	case "read":
		return 0
	case "write":
		return 1
	default:
		return 2
	}
}
