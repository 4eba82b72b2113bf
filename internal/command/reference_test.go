package command

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
)

//go:generate go test -run ^TestReferencePages$ -update

var update = flag.Bool("update", false, "rewrite the reference pages")

// TestReferencePages compares the generated pages of docs/reference with what
// the source would generate now.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	pages := map[string]func(io.Writer){"cli.md": writeCommands, "tools.md": writeToolIndex, "errors.md": writeErrors, "types.md": writeTypes}
	for family, tools := range toolFamilies() {
		pages["tools/"+family+".md"] = func(w io.Writer) { writeFamily(w, family, tools) }
	}
	checkFamilyPages(t, pages)
	for name, write := range pages {
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
