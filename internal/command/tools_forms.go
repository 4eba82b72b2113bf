package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// printForm lists the prompts or resources that a personality sees.
func printForm(rt *app.Runtime, p *report.Printer, caller *sallyport.Caller, form string) error {
	switch sallyport.Form(form) {
	case sallyport.FormPrompt:
		return printPrompts(p, rt.Registry.Prompts(caller))
	case sallyport.FormResource:
		return printResources(p, listResources(rt, caller))
	default:
		if form != "tool" {
			return fmt.Errorf("--form %q: expected tool, prompt or resource", form)
		}
		tools := rt.Registry.List(caller)
		return report.PrintTools(p, slices.DeleteFunc(tools, func(t sallyport.Tool) bool { return t.ListedAs != "" }))
	}
}

// promptLine is a prompt as `tools --form prompt --json` prints it.
type promptLine struct {
	ID          string          `json:"id"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func printPrompts(p *report.Printer, prompts []registry.Definition) error {
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

// resourceLine is a resource as `tools --form resource --json` prints it: with
// the ID of the tool that reads it.
type resourceLine struct {
	ID string `json:"id"`
	sallyport.Resource
}

// listResources lists the resources that the caller sees, each with its reader. It
// leaves out a resource that two tools of the caller list, because the gate
// offers none of these.
func listResources(rt *app.Runtime, caller *sallyport.Caller) []resourceLine {
	readers := map[[2]string]string{}
	for _, t := range rt.Registry.Tools() {
		if t.Form != sallyport.FormResource || !isOffered(rt, caller, t.ID()) {
			continue
		}
		for i := range t.Resources {
			readers[[2]string{t.Resources[i].URI, t.Resources[i].Template}] = t.ID()
		}
	}
	lines := []resourceLine{}
	for _, res := range rt.Registry.Resources(caller) {
		lines = append(lines, resourceLine{readers[[2]string{res.URI, res.Template}], res})
	}
	return lines
}

// isOffered reports whether the gate offers a tool to a caller.
func isOffered(rt *app.Runtime, caller *sallyport.Caller, id string) bool {
	// An error in computing the grant does not hide the tool.
	x, _ := rt.Registry.Explain(caller, id)
	for _, d := range x.Decisions {
		switch d.Step {
		case sallyport.StepFind, sallyport.StepVisible, sallyport.StepReady:
			if !d.Allowed {
				return false
			}
		}
	}
	return true
}

func printResources(p *report.Printer, lines []resourceLine) error {
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
