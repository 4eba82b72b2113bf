package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// printer writes answers: text for people, JSON for programs.
type printer struct {
	w      io.Writer
	json   bool
	colour bool
}

func (e *environment) printer(f *flags) *printer {
	return &printer{w: e.stdout, json: f.json, colour: e.colour && !f.json}
}

// value prints v as one JSON document.
func (p *printer) value(v any) error {
	enc := json.NewEncoder(p.w)
	enc.SetEscapeHTML(false)
	if !p.json {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// line prints a line of text.
func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
}

// table prints rows in aligned columns.
func (p *printer) table(rows [][]string) {
	t := tabwriter.NewWriter(p.w, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
}

// The colours are the terminal's own: what they look like is the user's
// choice.
func (p *printer) good(s string) string { return p.paint("32", s) }
func (p *printer) bad(s string) string  { return p.paint("31", s) }
func (p *printer) dim(s string) string  { return p.paint("2", s) }

func (p *printer) paint(code, s string) string {
	if !p.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// mark is yes or no in a word and a colour.
func (p *printer) mark(ok bool) string {
	if ok {
		return p.good("allow")
	}
	return p.bad("deny")
}
