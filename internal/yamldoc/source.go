package yamldoc

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

// Source is one YAML or JSON text: its tree, and what messages show of its
// lines. Its name is given before it is read, so that it can be at fault.
type Source struct {
	// Name is what faults call the text.
	Name string
	// Rank is the place among the texts whose faults are listed together.
	Rank int
	// JSON is true for a text that was read as JSON.
	JSON bool
	// Root is the value of the text; nil after a syntax error, and for a text
	// without a value.
	Root  *Value
	lines []string
	// cuts holds, by line, after how many code points a snippet ends.
	cuts map[int]int
}

// Parse reads the text into its tree. It does not look for keys that stand twice
// in a mapping; [ReadDocument] does.
func (f *Source) Parse(data []byte, b Bounds) []TextFault {
	text, faults := decodeText(data, b.Bytes)
	f.lines = text.lines
	if len(faults) > 0 {
		return faults
	}
	switch f.JSON = isJSON(f.Name, text.text); {
	case f.JSON:
		f.Root, faults = parseJSON(text.text)
	case len(text.text) > b.YAMLBytes:
		faults = []TextFault{{Position{1, 1}, fmt.Sprintf("the file is larger than %d bytes, the bound for YAML: JSON may have %d", b.YAMLBytes, b.Bytes)}}
	default:
		f.Root, faults = parseYAML(text, b.YAMLKeys)
	}
	return faults
}

// PositionText returns a position as file:line:column.
func (f *Source) PositionText(at Position) string {
	return fmt.Sprintf("%s:%d:%d", f.Name, at.Line, at.Column)
}

// keyEnd returns the column of the colon that ends the key at a place.
func (f *Source) keyEnd(at Position) int {
	if at.Line < 1 || at.Line > len(f.lines) {
		return 1
	}
	i, quote := 0, rune(0)
	for _, r := range f.lines[at.Line-1] {
		switch i++; {
		case i < at.Column:
		case i == at.Column && (r == '"' || r == '\''):
			quote = r
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && r == ':':
			return i
		}
	}
	return i
}

// FaultAt returns a fault with its source line.
func (f *Source) FaultAt(at Position, key, message string) Fault {
	return Fault{File: f.Name, Line: at.Line, Column: at.Column, Key: key, Message: message, Snippet: f.sourceSnippet(at)}
}

// FaultAtKey is FaultAt for the place of a key. Its value is not understood, so
// it may be a secret and is left out of the source line.
func (f *Source) FaultAtKey(at Position, key, message string) Fault {
	cut, hidden := f.cuts[at.Line]
	if end := f.keyEnd(at); !hidden || end < cut {
		cut, hidden = end, true
	}
	return Fault{File: f.Name, Line: at.Line, Column: at.Column, Key: key, Message: message, Snippet: f.snippetTo(at, cut, hidden)}
}

// userinfo finds the credentials of a URL, which no message may show.
var userinfo = regexp.MustCompile(`://[^/\s"'@]*@`)

// sourceSnippet returns the source line with a caret below the place, "" when there
// is nothing to show or the place is behind a value that must not show.
func (f *Source) sourceSnippet(at Position) string {
	cut, hidden := f.cuts[at.Line]
	return f.snippetTo(at, cut, hidden)
}

// snippetTo is sourceSnippet with the line ending behind cut code points when it is
// hidden from there on.
func (f *Source) snippetTo(at Position, cut int, hidden bool) string {
	if at.Line < 1 || at.Line > len(f.lines) || strings.TrimSpace(f.lines[at.Line-1]) == "" {
		return ""
	}
	if hidden && at.Column > cut+1 {
		return ""
	}
	line := userinfo.ReplaceAllStringFunc(f.lines[at.Line-1], func(s string) string {
		return "://" + strings.Repeat("*", len([]rune(s))-4) + "@"
	})
	text, left := []rune(strings.Map(toVisible, line)), at.Column-1
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
	number := fmt.Sprintf("%5d", at.Line)
	return number + " | " + body + "\n" + strings.Repeat(" ", len(number)) + " | " + strings.Repeat(" ", left) + "^"
}

// HideAfterKey hides what follows the key at a place from snippets.
func (f *Source) HideAfterKey(at Position) { f.HideFrom(at.Line, f.keyEnd(at)) }

// HideFrom hides what follows a number of code points of a line from snippets.
func (f *Source) HideFrom(line, cut int) {
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
