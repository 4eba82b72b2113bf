// Package yamledit adds lines to a YAML file that a person wrote, and changes
// no byte of what is there.
//
// Start with [Insert], which knows block style alone and does not read YAML: the caller
// reads the result, and compares what it says with what was meant. [AddItem] and
// [RemoveItem] edit lists of any style, and [Write] writes a value that has no text yet.
package yamledit

import (
	"errors"
	"fmt"
	"strings"
)

// ErrStyle is the error for a place that is not written in lines of its own.
var ErrStyle = errors.New("is not written in lines of its own")

// Insert puts lines behind the last one below the keys of a path. Keys that are
// not there are added with it. The lines are indented as their neighbours are;
// where there are none, by two spaces for each key. Every byte of the text
// stays. The error matches [ErrStyle] and names the key.
func Insert(text string, path, lines []string) (string, error) {
	e := editor{newline: "\n", lines: strings.SplitAfter(text, "\n")}
	if strings.Contains(text, "\r\n") {
		e.newline = "\r\n"
	}
	b := block{from: 0, to: len(e.lines), indent: 0}
	for i, key := range path {
		at := e.findKey(b, key)
		if at < 0 {
			return e.addLines(b, path[i:], lines), nil
		}
		below, err := e.blockBelow(b, at)
		if err != nil {
			return "", fmt.Errorf("%s %w", strings.Join(path[:i+1], "."), err)
		}
		b = below
	}
	return e.addLines(b, nil, lines), nil
}

// block is the lines that belong to one key: lines[from:to], indented so far.
type block struct{ from, to, indent int }

type editor struct {
	newline string
	lines   []string
}

// indentOf is how far a line is indented; ok is false for one that holds
// nothing, or a comment.
func indentOf(line string) (n int, ok bool) {
	body := strings.TrimLeft(line, " ")
	return len(line) - len(body), strings.TrimSpace(body) != "" && body[0] != '#'
}

// findKey returns the line of a key in a block, or -1.
func (e *editor) findKey(b block, key string) int {
	for i := b.from; i < b.to; i++ {
		line := strings.TrimPrefix(e.lines[i], "\ufeff")
		if n, ok := indentOf(line); !ok || n != b.indent {
			continue
		}
		for _, spelled := range []string{key, `"` + key + `"`, "'" + key + "'"} {
			rest, found := strings.CutPrefix(line[b.indent:], spelled)
			if found && strings.HasPrefix(strings.TrimLeft(rest, " "), ":") {
				return i
			}
		}
	}
	return -1
}

// blockBelow returns the block of the key on a line.
func (e *editor) blockBelow(b block, at int) (block, error) {
	_, value, _ := strings.Cut(e.lines[at], ":")
	if value = strings.TrimSpace(value); value != "" && value[0] != '#' {
		return block{}, ErrStyle
	}
	out := block{from: at + 1, to: at + 1, indent: -1}
	for i := at + 1; i < b.to; i++ {
		n, ok := indentOf(e.lines[i])
		if !ok {
			continue
		}
		// A list may begin where its key does.
		if n < b.indent || n == b.indent && !strings.HasPrefix(e.lines[i][n:], "- ") {
			break
		}
		if out.indent < 0 {
			out.indent = n
		}
		out.to = i + 1
	}
	if out.indent < 0 {
		return block{}, ErrStyle
	}
	return out, nil
}

// skipComments returns the end of the comments from a line on that are indented further
// than a block: they are about its last entry, and stay with it.
func (e *editor) skipComments(end, indent int) int {
	for i := end; i < len(e.lines); i++ {
		n, ok := indentOf(e.lines[i])
		blank := strings.TrimSpace(e.lines[i]) == ""
		if ok || !blank && n <= indent {
			break
		}
		if !blank {
			end = i + 1
		}
	}
	return end
}

// addLines puts lines at the end of a block, below keys that are not there yet.
func (e *editor) addLines(b block, keys, lines []string) string {
	end := b.to
	for end > b.from {
		if _, ok := indentOf(e.lines[end-1]); ok {
			break
		}
		end--
	}
	if b.indent == 0 && end < b.to && b.to == len(e.lines) {
		// Comments at the end of a file are about what stands before them.
		end = b.to
	}
	end = e.skipComments(end, b.indent)
	before := strings.Join(e.lines[:end], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += e.newline
	}
	var added strings.Builder
	indent := strings.Repeat(" ", b.indent)
	for _, key := range keys {
		added.WriteString(indent + key + ":" + e.newline)
		indent += "  "
	}
	for _, line := range lines {
		added.WriteString(strings.TrimRight(indent+line, " ") + e.newline)
	}
	return before + added.String() + strings.Join(e.lines[end:], "")
}
