package yamledit

import (
	"encoding/json"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// bounds are wider than those of a configuration, which is read before it is
// edited.
var bounds = yamldoc.Bounds{Bytes: 4 << 20, YAMLBytes: 4 << 20, YAMLKeys: 50_000}

// tree is a text with its values and the places of its lines.
type tree struct {
	text    string
	root    *yamldoc.Value
	starts  []int // the offset of each line
	newline string
	json    bool
}

func readTree(text string) (*tree, error) {
	t := &tree{text: text, newline: "\n", json: json.Valid([]byte(text))}
	if strings.Contains(text, "\r\n") {
		t.newline = "\r\n"
	}
	name := "text.yaml"
	if t.json {
		name = "text.json"
	}
	source := &yamldoc.Source{Name: name}
	if faults := source.Parse([]byte(text), bounds); len(faults) > 0 || source.Root == nil {
		return nil, ErrStyle
	}
	t.root, t.starts = source.Root, []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	return t, nil
}

// offset returns where a position is in the text.
func (t *tree) offset(at yamldoc.Position) int {
	if at.Line < 1 || at.Line > len(t.starts) {
		return len(t.text)
	}
	from := t.starts[at.Line-1]
	if at.Line == 1 && strings.HasPrefix(t.text, "\ufeff") {
		from += len("\ufeff")
	}
	n := 0
	for i := range t.text[from:] {
		if n++; n == at.Column {
			return from + i
		}
	}
	return len(t.text)
}

// isFlow reports whether a list or mapping is written in brackets.
func (t *tree) isFlow(n *yamldoc.Value) bool {
	at := t.offset(n.At)
	return at < len(t.text) && (t.text[at] == '[' || t.text[at] == '{')
}

// lineOf returns a line without its end, numbered from 1.
func (t *tree) lineOf(number int) string {
	line := t.text[t.starts[number-1]:t.lineEnd(number)]
	return strings.TrimRight(line, "\r\n")
}

// lineEnd returns where the line after a line begins.
func (t *tree) lineEnd(number int) int {
	if number < len(t.starts) {
		return t.starts[number]
	}
	return len(t.text)
}

// lastLine returns the last line of a value whose neighbours are indented as far as
// given: the last line on which something in it begins, and those that go on with
// it.
func (t *tree) lastLine(n *yamldoc.Value, indent int) int {
	last := lastStart(n)
	for number := last + 1; number <= len(t.starts); number++ {
		line := t.lineOf(number)
		if strings.TrimSpace(line) == "" {
			continue
		}
		if n, ok := indentOf(line); !ok || n <= indent {
			break
		}
		last = number
	}
	return last
}

// lastStart returns the last line on which something in a value begins.
func lastStart(n *yamldoc.Value) int {
	last := n.At.Line
	for _, item := range n.Items {
		last = max(last, lastStart(item))
	}
	for _, f := range n.Fields {
		last = max(last, f.At.Line, lastStart(f.Value))
	}
	return last
}

// insertLines puts lines behind a line.
func (t *tree) insertLines(number int, lines ...string) string {
	end := t.lineEnd(number)
	before := t.text[:end]
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += t.newline
	}
	return before + strings.Join(lines, t.newline) + t.newline + t.text[end:]
}
