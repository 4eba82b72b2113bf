package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/sample"
	"github.com/sallyport/sallyport/internal/text"
)

// PrintTool prints one tool: what it does, its arguments, and an example, with the start of
// the command that calls it.
func PrintTool(p *Printer, t *sallyport.Tool, command string) error {
	if p.JSON {
		return PrintTools(p, []sallyport.Tool{*t})
	}
	p.PrintLine("%s: %s", t.Name, text.PrintableLine(t.Description))
	p.PrintLine("touches: %s", summarizeGroups(&t.Capabilities))
	printArguments(p, t.Schema)
	var usual []string
	for _, touch := range t.Touches {
		if touch.Argument != "" {
			usual = append(usual, touch.Argument)
		}
	}
	p.PrintLine("example: %s %s %s", command, t.Name, text.ShellWord(sample.Arguments(t.Schema, usual...)))
	return nil
}

// printArguments prints a table of the arguments of a tool, the required ones
// first.
func printArguments(p *Printer, schema json.RawMessage) {
	var s struct {
		Properties map[string]struct {
			Type        any    `json:"type"`
			Description string `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	// A registered schema is valid; one without properties takes anything.
	_ = json.Unmarshal(schema, &s)
	if len(s.Properties) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
		if needA, needB := slices.Contains(s.Required, a), slices.Contains(s.Required, b); needA != needB {
			if needA {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	rows := [][]string{{"ARGUMENT", "TYPE", "", "DESCRIPTION"}}
	for _, name := range names {
		one, kind, need := s.Properties[name], "any", ""
		if one.Type != nil {
			kind = strings.Trim(fmt.Sprint(one.Type), "[]")
		}
		if slices.Contains(s.Required, name) {
			need = "required"
		}
		rows = append(rows, []string{text.PrintableLine(name), kind, need, text.Clip(text.PrintableLine(one.Description), 120)})
	}
	p.PrintTable(rows)
}
