package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/subagent"
	"github.com/sallyport/sallyport/tools/browser"
	"github.com/sallyport/sallyport/tools/terminal"
)

// builtinTools returns every built-in tool, as a configuration that connects all
// of them has it.
func builtinTools() []sallyport.Tool {
	pages, _ := browser.New(nil) // It starts none.
	commands, err := terminal.New(nil)
	if err != nil {
		panic(err)
	}
	named := &config.Config{
		Databases: map[string]config.Database{"NAME": {Write: true}}, Mail: map[string]config.Relay{app.DefaultRelay: {From: "agent@example.com"}},
		Search: config.Search{Service: config.SearchBrave, KeySecret: "providers/brave/apiKey"}, Skills: "NAME",
	}
	connected, err := app.ConnectionTools(named)
	if err != nil {
		panic(err)
	}
	connected = append(connected, subagent.Tool(sallyport.Tool{}, subagent.Options{}))
	return append(app.BuiltinTools(commands, pages), connected...)
}

// toolFamilies returns the built-in tools by toolset, each in the order in which
// they are declared.
func toolFamilies() map[string][]sallyport.Tool {
	families := map[string][]sallyport.Tool{}
	for _, t := range builtinTools() {
		families[t.Toolset] = append(families[t.Toolset], t)
	}
	return families
}

// checkFamilyPages finds the page of a toolset that is gone.
func checkFamilyPages(t *testing.T, pages map[string]func(io.Writer)) {
	t.Helper()
	have, err := filepath.Glob(filepath.Join("..", "..", "docs", "reference", "tools", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range have {
		if pages["tools/"+filepath.Base(path)] != nil {
			continue
		}
		if !*update {
			t.Errorf("%s is of no toolset: run make generate", path)
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func writeToolIndex(w io.Writer) {
	fmt.Fprint(w, "# Built-in tools\n\nGenerated from the declarations; do not edit. Every tool runs in the process of the gate, behind the\naccessors of its grant; what a tool with the capability process starts runs outside, confined. A role that lists\na toolset, such as `@file`, has all of its tools.\n\n| toolset | tool | |\n| --- | --- | --- |\n")
	families := toolFamilies()
	for _, family := range slices.Sorted(maps.Keys(families)) {
		for _, t := range families[family] {
			does, _, _ := strings.Cut(t.Description, ". ")
			fmt.Fprintf(w, "| [`@%s`](tools/%s.md) | [`%s`](tools/%s.md#%s) | %s. |\n", family, family, t.Name, family, strings.ToLower(t.Name), strings.ReplaceAll(strings.TrimSuffix(does, "."), "|", "\\|"))
		}
	}
}

func writeFamily(w io.Writer, family string, tools []sallyport.Tool) {
	fmt.Fprintf(w, "# Tools of `@%s`\n\nGenerated from the declarations; do not edit. [All built-in tools](../tools.md); [how they behave](../../guides/built-in-tools.md).\n", family)
	for _, t := range tools {
		fmt.Fprintf(w, "\n## %s\n\n%s\n\n", t.Name, t.Description)
		fmt.Fprintf(w, "| | |\n| --- | --- |\n| capabilities | `%s` |\n", compact(t.Capabilities))
		if len(t.Permissions) > 0 {
			fmt.Fprintf(w, "| permissions | `%s` |\n", strings.Join(t.Permissions, "`, `"))
		}
		if t.MaxResultChars > 0 {
			fmt.Fprintf(w, "| result | at most %d characters |\n", t.MaxResultChars)
		}
		fmt.Fprintf(w, "| output | %s |\n", map[bool]string{true: "untrusted: neutralised and wrapped", false: "the tool's own words"}[t.OutputIsUntrusted])
		writeParameters(w, &t)
	}
}

// writeParameters prints the properties of a tool's schema as a table.
func writeParameters(w io.Writer, t *sallyport.Tool) {
	var s struct {
		Properties map[string]struct {
			Type        any    `json:"type"`
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
			Default     any    `json:"default"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(t.Schema, &s); err != nil {
		panic(fmt.Sprintf("%s: %v", t.Name, err))
	}
	fmt.Fprint(w, "\n| argument | type | |\n| --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		kind := compact(p.Type)
		for _, r := range s.Required {
			if r == name {
				kind += ", required"
			}
		}
		text := strings.ReplaceAll(p.Description, "|", "\\|")
		if len(p.Enum) > 0 {
			text += " One of `" + strings.ReplaceAll(compact(p.Enum), "|", "\\|") + "`."
		}
		if p.Default != nil {
			text += " Default `" + compact(p.Default) + "`."
		}
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", name, strings.Trim(strings.ReplaceAll(kind, `"`, ""), "[]"), text)
	}
}

func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}
