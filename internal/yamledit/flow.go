package yamledit

import (
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// span is a part of a text.
type span struct{ from, to int }

// appendFlow adds an entry to a list or mapping in brackets, on a line of its own
// where the last entry has one.
func (t *tree) appendFlow(n *yamldoc.Value, entry string) (string, error) {
	open := t.offset(n.At)
	entries, ok := t.flowEntries(open)
	if !ok {
		return "", ErrStyle
	}
	if len(entries) == 0 {
		return t.text[:open+1] + entry + t.text[open+1:], nil
	}
	last := entries[len(entries)-1]
	separator := ", "
	line := t.text[strings.LastIndexByte(t.text[:last.from], '\n')+1 : last.from]
	if strings.TrimSpace(line) == "" && strings.Contains(t.text[open:last.from], "\n") {
		separator = "," + t.newline + line
	}
	return t.text[:last.to] + separator + entry + t.text[last.to:], nil
}

// removeFlowItem takes an item off a list in brackets, with the comma before it or,
// for the first one, behind it.
func (t *tree) removeFlowItem(list *yamldoc.Value, index int) (string, error) {
	entries, ok := t.flowEntries(t.offset(list.At))
	if !ok || len(entries) != len(list.Items) {
		return "", ErrStyle
	}
	cut := entries[index]
	switch {
	case index > 0:
		cut.from = entries[index-1].to
	case len(entries) > 1:
		cut.to = entries[1].from
	}
	return t.text[:cut.from] + t.text[cut.to:], nil
}

// flowEntries returns the entries between the bracket at an offset and its end.
func (t *tree) flowEntries(open int) (entries []span, ok bool) {
	depth := 0
	current := span{-1, -1}
	finish := func() {
		if current.from >= 0 {
			entries = append(entries, current)
		}
		current = span{-1, -1}
	}
	grow := func(from, to int) {
		if depth > 0 && current.from < 0 {
			current.from = from
		}
		current.to = to
	}
	fresh := true // a quote here begins a text
	for i := open; i < len(t.text); i++ {
		c := t.text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			fresh = true
			continue
		case c == '#' && fresh && !t.json:
			end := strings.IndexByte(t.text[i:], '\n')
			if end < 0 {
				return nil, false
			}
			i += end - 1
			continue
		case (c == '"' || c == '\'') && fresh:
			end := quoteEnd(t.text, i)
			if end < 0 {
				return nil, false
			}
			grow(i, end)
			i = end - 1
		case c == '[' || c == '{':
			if i > open {
				grow(i, i+1)
			}
			depth++
			fresh = true
			continue
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				finish()
				return entries, true
			}
			grow(i, i+1)
		case c == ',' && depth == 1:
			finish()
			fresh = true
			continue
		default:
			grow(i, i+1)
		}
		fresh = c == ',' || c == ':'
	}
	return nil, false
}

// quoteEnd returns the offset behind a quoted text, or -1.
func quoteEnd(text string, from int) int {
	quote := text[from]
	for i := from + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}
