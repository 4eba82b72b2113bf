package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// printer writes answers: text for users, JSON for programs.
type printer struct {
	w      io.Writer
	json   bool
	colour bool
}

func (e *environment) newPrinter(f *flags) *printer {
	return &printer{w: e.stdout, json: f.json, colour: e.colour && !f.json}
}

// printJSON prints v as one JSON document.
func (p *printer) printJSON(v any) error {
	enc := json.NewEncoder(p.w)
	enc.SetEscapeHTML(false)
	if !p.json {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// printLine prints a line of text.
func (p *printer) printLine(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
}

// printTable prints rows in aligned columns.
func (p *printer) printTable(rows [][]string) { fmt.Fprint(p.w, text.Table(rows)) }

// printParts prints texts unchanged, and one line for each other part.
func (p *printer) printParts(parts []sallyport.Part) {
	for i := range parts {
		part := &parts[i]
		if part.Kind != sallyport.PartText {
			p.printLine("%s", aboutPart(part))
		}
		switch {
		case part.Text == "":
		case part.Role != "":
			p.printLine("%s: %s", part.Role, part.Text)
		default:
			p.printLine("%s", part.Text)
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

// colourGood returns s in the green of the terminal, so that the user chooses the
// colour; bad and dim use its red and its faint text in the same way.
func (p *printer) colourGood(s string) string { return p.paintText("32", s) }
func (p *printer) colourBad(s string) string  { return p.paintText("31", s) }
func (p *printer) colourDim(s string) string  { return p.paintText("2", s) }

func (p *printer) paintText(code, s string) string {
	if !p.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// formatMark returns allow or deny in its colour.
func (p *printer) formatMark(ok bool) string {
	if ok {
		return p.colourGood("allow")
	}
	return p.colourBad("deny")
}
