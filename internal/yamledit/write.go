package yamledit

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// flowWidth is how long a value may be that is written in brackets on one line, in bytes.
const flowWidth = 100

// ErrUnwritable is the error for a value that YAML does not hold as it is, such as one with
// control characters.
var ErrUnwritable = errors.New("cannot be written as YAML")

// Write returns a value as YAML text: mappings in lines of their own, what is short in
// brackets. It reads the text again: the error matches [ErrUnwritable] where that does not
// give the same value.
func Write(n *yamldoc.Value) (string, error) {
	var out strings.Builder
	if n.Kind == yamldoc.KindMapping && len(n.Fields) > 0 {
		writeFields(&out, n, 0)
	} else {
		out.WriteString(flowText(n) + "\n")
	}
	source := &yamldoc.Source{Name: "text.yaml"}
	faults := source.Parse([]byte(out.String()), bounds)
	if len(faults) > 0 || source.Root == nil || !reflect.DeepEqual(valueOf(source.Root), valueOf(n)) || !isWritable(n) {
		return "", ErrUnwritable
	}
	return out.String(), nil
}

// isWritable reports whether no key stands twice in a mapping, and every text is one that a
// file may hold.
func isWritable(n *yamldoc.Value) bool {
	if n.Kind == yamldoc.KindText && yamldoc.CheckText(n.Text) != "" {
		return false
	}
	seen := map[string]bool{}
	for _, f := range n.Fields {
		if seen[f.Name] || yamldoc.CheckText(f.Name) != "" || !isWritable(f.Value) {
			return false
		}
		seen[f.Name] = true
	}
	return !slices.ContainsFunc(n.Items, func(item *yamldoc.Value) bool { return !isWritable(item) })
}

// writeFields writes the fields of a mapping, a line each.
func writeFields(out *strings.Builder, n *yamldoc.Value, indent int) {
	for i, f := range n.Fields {
		if i > 0 || indent == 0 {
			out.WriteString(strings.Repeat(" ", indent))
		}
		out.WriteString(wordText(f.Name) + ":")
		writeBelow(out, f.Value, indent+2)
	}
}

// writeBelow writes the value of a key: behind it, or on the lines below.
func writeBelow(out *strings.Builder, n *yamldoc.Value, indent int) {
	short := flowText(n)
	switch {
	case n.Kind == yamldoc.KindMapping && len(n.Fields) > 0 && (len(short) > flowWidth || isDeep(n)):
		out.WriteString("\n" + strings.Repeat(" ", indent))
		writeFields(out, n, indent)
	case n.Kind == yamldoc.KindList && len(n.Items) > 0 && len(short) > flowWidth:
		out.WriteString("\n")
		for _, item := range n.Items {
			out.WriteString(strings.Repeat(" ", indent) + "- ")
			if item.Kind == yamldoc.KindMapping && len(item.Fields) > 0 {
				writeFields(out, item, indent+2)
			} else {
				out.WriteString(flowText(item) + "\n")
			}
		}
	default:
		out.WriteString(" " + short + "\n")
	}
}

// isDeep reports whether a mapping holds another one.
func isDeep(n *yamldoc.Value) bool {
	for _, f := range n.Fields {
		if f.Value.Kind == yamldoc.KindMapping && len(f.Value.Fields) > 0 {
			return true
		}
	}
	return false
}

// flowText returns a value in brackets.
func flowText(n *yamldoc.Value) string {
	switch n.Kind {
	case yamldoc.KindText:
		return wordText(n.Text)
	case yamldoc.KindNumber, yamldoc.KindBool:
		return n.Text
	case yamldoc.KindList:
		parts := make([]string, len(n.Items))
		for i, item := range n.Items {
			parts[i] = flowText(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yamldoc.KindMapping:
		parts := make([]string, len(n.Fields))
		for i, f := range n.Fields {
			parts[i] = wordText(f.Name) + ": " + flowText(f.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return "null"
	}
}

// wordText returns a text without quotes where none are needed.
func wordText(s string) string { return new(tree).spellKey(s) }
