package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Bounds are the limits of a text.
type Bounds struct {
	// Bytes bounds the text, YAMLBytes one that is not JSON, whose parser
	// takes more time.
	Bytes, YAMLBytes int
	// YAMLKeys bounds the keys of a text that is not JSON.
	YAMLKeys int
}

// source is one YAML or JSON text: its tree, and what messages show of its
// lines. Its name is given before it is read, so that it can be at fault.
type source struct {
	// name is what faults call the text.
	name string
	// rank is the place among the texts whose faults are listed together.
	rank int
	// json is true for a text that was read as JSON.
	json bool
	// root is the value of the text; nil after a syntax error, and for a text
	// without a value.
	root  *node
	lines []string
	// cuts holds, by line, after how many code points a snippet ends.
	cuts map[int]int
}

// textFault is a fault before its file is known.
type textFault struct {
	at      pos
	message string
}

// parse reads the text into its tree.
func (f *source) parse(data []byte, b Bounds) []textFault {
	text, faults := decodeText(data, b.Bytes)
	f.lines = text.lines
	if len(faults) > 0 {
		return faults
	}
	switch f.json = isJSON(f.name, text.text); {
	case f.json:
		f.root, faults = parseJSON(text.text)
	case len(text.text) > b.YAMLBytes:
		faults = []textFault{{pos{1, 1}, fmt.Sprintf("the file is larger than %d bytes, the bound for YAML: JSON may have %d", b.YAMLBytes, b.Bytes)}}
	default:
		f.root, faults = parseYAML(text, b.YAMLKeys)
	}
	return faults
}

// positionText returns a position as text.
func (f *source) positionText(at pos) string { return fmt.Sprintf("%s:%d:%d", f.name, at.line, at.col) }

// keyEnd returns the column of the colon that ends the key at a place.
func (f *source) keyEnd(at pos) int {
	if at.line < 1 || at.line > len(f.lines) {
		return 1
	}
	i, quote := 0, rune(0)
	for _, r := range f.lines[at.line-1] {
		switch i++; {
		case i < at.col:
		case i == at.col && (r == '"' || r == '\''):
			quote = r
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && r == ':':
			return i
		}
	}
	return i
}

// faultAt returns a fault with its source line.
func (f *source) faultAt(at pos, key, message string) Fault {
	return Fault{File: f.name, Line: at.line, Column: at.col, Key: key, Message: message, Snippet: f.sourceSnippet(at)}
}

// faultAtKey is faultAt for the place of a key. Its value is not understood, so
// it may be a secret and is left out of the source line.
func (f *source) faultAtKey(at pos, key, message string) Fault {
	cut, hidden := f.cuts[at.line]
	if end := f.keyEnd(at); !hidden || end < cut {
		cut, hidden = end, true
	}
	return Fault{File: f.name, Line: at.line, Column: at.col, Key: key, Message: message, Snippet: f.snippetTo(at, cut, hidden)}
}

// userinfo finds the credentials of a URL, which no message may show.
var userinfo = regexp.MustCompile(`://[^/\s"'@]*@`)

// sourceSnippet returns the source line with a caret below the place, "" when there
// is nothing to show or the place is behind a value that must not show.
func (f *source) sourceSnippet(at pos) string {
	cut, hidden := f.cuts[at.line]
	return f.snippetTo(at, cut, hidden)
}

// snippetTo is snippet with the line ending behind cut code points when it is
// hidden from there on.
func (f *source) snippetTo(at pos, cut int, hidden bool) string {
	if at.line < 1 || at.line > len(f.lines) || strings.TrimSpace(f.lines[at.line-1]) == "" {
		return ""
	}
	if hidden && at.col > cut+1 {
		return ""
	}
	line := userinfo.ReplaceAllStringFunc(f.lines[at.line-1], func(s string) string {
		return "://" + strings.Repeat("*", len([]rune(s))-4) + "@"
	})
	text, left := []rune(strings.Map(toVisible, line)), at.col-1
	start, end := "", ""
	if hidden && cut < len(text) {
		text, end = text[:cut], "…"
	}
	if from := left - snippetRunes*2/3; from > 0 && len(text) > snippetRunes {
		text, left, start = text[from:], left-from+1, "…"
	}
	if len(text) > snippetRunes {
		text, end = text[:snippetRunes], "…"
	}
	body := strings.TrimRight(start+string(text)+end, " ")
	number := fmt.Sprintf("%5d", at.line)
	return number + " | " + body + "\n" + strings.Repeat(" ", len(number)) + " | " + strings.Repeat(" ", left) + "^"
}

// hideAfterKey hides what follows the key at a place from snippets.
func (f *source) hideAfterKey(at pos) { f.hideFrom(at.line, f.keyEnd(at)) }

// hideFrom hides what follows a number of code points of a line from snippets.
func (f *source) hideFrom(line, cut int) {
	if before, ok := f.cuts[line]; !ok || cut < before {
		if f.cuts == nil {
			f.cuts = map[int]int{}
		}
		f.cuts[line] = cut
	}
}

// toVisible replaces what would move the caret or act on a terminal.
func toVisible(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case badRune(r) != "":
		return '?'
	default:
		return r
	}
}
