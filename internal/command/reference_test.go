package command

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/tools/terminal"
)

//go:generate go test -run ^TestReferencePages$ -update

var update = flag.Bool("update", false, "rewrite the reference pages")

// TestReferencePages compares the generated pages of docs/reference with what
// the source would generate now.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(io.Writer){
		"cli.md": writeCommands, "tools.md": writeTools, "errors.md": writeErrors,
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			write(&b)
			path := filepath.Join("..", "..", "docs", "reference", name)
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			have, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, b.Bytes()) {
				t.Errorf("%s differs from the source: run make generate", path)
			}
		})
	}
}

func writeCommands(w io.Writer) {
	fmt.Fprint(w, "# Command line\n\nGenerated from the commands; do not edit. `--config FILE` (may be repeated) and `--json` go with\nevery command. Exit codes: 0 done; 1 the tool answered `ok:false`, or a check failed; 2 usage or configuration.\nColours show only at a terminal; NO_COLOR=1 or TERM=dumb turns them off. [Answers in JSON](json.md) lists what `--json` prints.\n")
	root := newCommand(&environment{})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		if c.Runnable() {
			fmt.Fprintf(w, "\n## %s\n\n%s\n", c.CommandPath(), orShort(c))
			fmt.Fprintf(w, "\n    %s\n", c.UseLine())
			if flags := c.LocalNonPersistentFlags().FlagUsages(); flags != "" {
				fmt.Fprintf(w, "\nFlags:\n\n%s", indent(flags))
			}
			if c.Example != "" {
				fmt.Fprintf(w, "\nExamples:\n\n%s\n", indent(c.Example))
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	for _, c := range root.Commands() {
		walk(c)
	}
}

func orShort(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// indent formats a text as a block of code.
func indent(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("    "+strings.TrimPrefix(l, "  "), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func writeTools(w io.Writer) {
	fmt.Fprint(w, "# Built-in tools\n\nGenerated from the declarations; do not edit. Every tool runs in the process of the gate, behind the\naccessors of its grant; what a tool with the capability process starts runs outside, confined.\n")
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
	for _, t := range append(app.BuiltinTools(commands), connected...) {
		fmt.Fprintf(w, "\n## %s\n\n%s\n\n", t.Name, t.Description)
		fmt.Fprintf(w, "| | |\n| --- | --- |\n| toolset | `@%s` |\n| capabilities | `%s` |\n", t.Toolset, compact(t.Capabilities))
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

func writeErrors(w io.Writer) {
	fmt.Fprint(w, "# Error codes\n\nGenerated from `error.go`; do not edit. A result code is the `code` field of a failed result. A scoped code comes\nfrom an accessor: the text begins with it, and the result's code is `execution_failed`.\n\n| code | HTTP | when |\n| --- | --- | --- |\n")
	for _, c := range sallyport.Codes() {
		status := "scoped"
		if c.HTTP != 0 {
			status = fmt.Sprint(c.HTTP)
		}
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", c.Code, status, c.When)
	}
}
