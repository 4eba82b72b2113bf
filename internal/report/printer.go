// Package report prints what the commands found: text for users, JSON for programs.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// ShowsColour reports whether a writer shows colours: a terminal, unless the
// environment says that it is plain. lookup finds a variable of the environment.
func ShowsColour(terminal bool, lookup func(string) (string, bool)) bool {
	_, plain := lookup("NO_COLOR")
	kind, _ := lookup("TERM")
	return terminal && !plain && kind != "dumb"
}

// Printer writes answers.
type Printer struct {
	// W receives the answer.
	W io.Writer
	// JSON selects the form for programs.
	JSON bool
	// Colour selects the colours of a terminal.
	Colour bool
	// Trim shortens the commands of a fix for the folder of the user; nil leaves them.
	Trim func(fix string) string
}

// PrintJSON prints v as one JSON document.
func (p *Printer) PrintJSON(v any) error {
	enc := json.NewEncoder(p.W)
	enc.SetEscapeHTML(false)
	if !p.JSON {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// PrintError prints why a command ended with an exit code other than 0.
func (p *Printer) PrintError(failure string, exit int) {
	answer := struct {
		Error string `json:"error"`
		Exit  int    `json:"exit"`
	}{failure, exit}
	// Nothing is left that could be told of a lost error stream.
	_ = p.PrintAnswer(answer, "%s %s", p.ColourBad("sallyport:"), failure)
}

// PrintAnswer prints v as JSON, or a line of text for a user.
func (p *Printer) PrintAnswer(v any, format string, args ...any) error {
	if p.JSON {
		return p.PrintJSON(v)
	}
	p.PrintLine(format, args...)
	return nil
}

// PrintLine prints a line of text.
func (p *Printer) PrintLine(format string, args ...any) {
	fmt.Fprintf(p.W, format+"\n", args...)
}

// PrintTable prints rows in aligned columns. A first row in capitals is a heading.
func (p *Printer) PrintTable(rows [][]string) {
	if p.Colour && len(rows) > 0 && isHeading(rows[0]) {
		rows = slices.Clone(rows)
		rows[0] = slices.Clone(rows[0])
		for i := range rows[0] {
			rows[0][i] = p.ColourHeading(rows[0][i])
		}
	}
	fmt.Fprint(p.W, text.Table(rows))
}

// isHeading reports whether a row holds nothing but words in capitals.
func isHeading(row []string) bool {
	words := strings.Join(row, "")
	return strings.ToUpper(words) == words && strings.ToLower(words) != words
}

// PrintParts prints texts unchanged, and one line for each other part.
func (p *Printer) PrintParts(parts []sallyport.Part) {
	for i := range parts {
		part := &parts[i]
		if part.Kind != sallyport.PartText {
			p.PrintLine("%s", aboutPart(part))
		}
		switch {
		case part.Text == "":
		case part.Role != "":
			p.PrintLine("%s: %s", part.Role, part.Text)
		default:
			p.PrintLine("%s", part.Text)
		}
	}
}

// aboutPart describes a part on one line: its role, kind, type, size and URI.
// Text from another party must not look like a second line.
func aboutPart(part *sallyport.Part) string {
	words := []string{string(part.Kind), part.MediaType}
	switch {
	case len(part.Data) > 0:
		words = append(words, fmt.Sprintf("%d bytes", len(part.Data)))
	case part.Size > 0:
		words = append(words, fmt.Sprintf("%d bytes", part.Size))
	}
	words = append(words, part.URI, cmp.Or(part.Title, part.Name), part.Description)
	if part.Role != "" && part.Text == "" {
		words = append([]string{string(part.Role) + ":"}, words...)
	}
	return "[" + text.OneLine(strings.Join(words, " ")) + "]"
}

// ColourGood returns s in the green of the terminal, so that the user chooses the
// colour.
func (p *Printer) ColourGood(s string) string { return p.paintText("32", s) }

// ColourBad returns s in the red of the terminal.
func (p *Printer) ColourBad(s string) string { return p.paintText("31", s) }

// ColourHeld returns s in the yellow of the terminal.
func (p *Printer) ColourHeld(s string) string { return p.paintText("33", s) }

// ColourHeading returns s in bold.
func (p *Printer) ColourHeading(s string) string { return p.paintText("1", s) }

// ColourDim returns s in the faint text of the terminal.
func (p *Printer) ColourDim(s string) string { return p.paintText("2", s) }

func (p *Printer) paintText(code, s string) string {
	if !p.Colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// FormatMark returns allow or deny in its colour.
func (p *Printer) FormatMark(ok bool) string {
	if ok {
		return p.ColourGood("allow")
	}
	return p.ColourBad("deny")
}
