package tomledit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/jsonc"
)

// ErrForm is the error for tables in a form that is not edited.
var ErrForm = errors.New("is written in a form that is not edited here")

// run is a block of lines that define one table or a part of it.
type run struct {
	start, end int
	// first is the statement with which it begins.
	first statement
}

// runsOf returns the blocks that define the named tables below a parent, in the
// order of the text. Lines between two statements of one block belong to it.
func (d *Document) runsOf(parent string, names []string) (runs []run, err error) {
	within := false
	for _, s := range d.statements {
		if len(s.path) == 1 && s.path[0] == parent && !s.header {
			return nil, d.newFormError(s.start, parent)
		}
		ours := len(s.path) > 1 && s.path[0] == parent && slices.Contains(names, s.path[1])
		switch {
		case ours && within:
			runs[len(runs)-1].end = s.end
		case ours:
			runs = append(runs, run{s.start, s.end, s})
		}
		within = ours
	}
	return runs, nil
}

func (d *Document) newFormError(at int, parent string) error {
	line, column := jsonc.Place(d.text, at)
	return fmt.Errorf("%d:%d: %s %w: write [%s.NAME] tables", line, column, parent, ErrForm, parent)
}

// Put returns the text in which the table parent.name, with the members of a
// JSON object, stands for the tables with the given names below the parent, in
// the place of the first one; name itself is always one of them. Without any of
// them it is added at the end.
func (d *Document) Put(parent string, names []string, name string, object []byte) ([]byte, error) {
	members, err := jsonc.Parse(object, nil)
	if err != nil {
		return nil, err
	}
	runs, err := d.runsOf(parent, append([]string{name}, names...))
	if err != nil {
		return nil, err
	}
	text := d.extendText(parent, name, members)
	if len(runs) > 0 {
		block, err := d.formatBlock(runs[0].first, parent, name, members)
		if err != nil {
			return nil, err
		}
		text = d.replaceRuns(runs, block)
	}
	return text, d.verifyEdit(text, parent, append([]string{name}, names...), map[string]*jsonc.Value{name: members})
}

// extendText adds a table behind everything else. Where the parent was made by
// keys with dots at the top of the text, no header may extend it, and the table
// is added behind the last of them.
func (d *Document) extendText(parent, name string, members *jsonc.Value) []byte {
	newline := d.chooseNewline()
	at := -1
	for _, s := range d.statements {
		if len(s.table) == 0 && len(s.path) > 1 && s.path[0] == parent {
			at = s.end
		}
	}
	if at >= 0 {
		line := FormatKey(parent, name) + " = " + formatValue(members) + newline
		return insertText(d.text, at, d.endLine(at)+line)
	}
	block := d.endLine(len(d.text)) + Format(parent, name, members, newline)
	if len(bytes.TrimSpace(bytes.TrimPrefix(d.text, []byte(bom)))) > 0 {
		block = d.endLine(len(d.text)) + newline + Format(parent, name, members, newline)
	}
	return insertText(d.text, len(d.text), block)
}

// endLine returns the line break that the text lacks in front of an offset.
func (d *Document) endLine(at int) string {
	if before := bytes.TrimPrefix(d.text[:at], []byte(bom)); len(before) == 0 || before[len(before)-1] == '\n' {
		return ""
	}
	return d.chooseNewline()
}

// chooseNewline is how the text ends its lines.
func (d *Document) chooseNewline() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func insertText(text []byte, at int, with string) []byte {
	return slices.Concat(text[:at], []byte(with), text[at:])
}

// formatBlock returns a table in the form of the statement that it replaces.
func (d *Document) formatBlock(first statement, parent, name string, members *jsonc.Value) ([]byte, error) {
	switch {
	case first.header:
		return []byte(Format(parent, name, members, d.chooseNewline())), nil
	case len(first.table) == 0:
		return []byte(FormatKey(parent, name) + " = " + formatValue(members) + d.chooseNewline()), nil
	case len(first.table) == 1:
		return []byte(FormatKey(name) + " = " + formatValue(members) + d.chooseNewline()), nil
	default:
		return nil, d.newFormError(first.start, parent)
	}
}

// replaceRuns puts a block into the place of the first run and removes the
// others, each with one empty line behind it where one stands before it.
func (d *Document) replaceRuns(runs []run, block []byte) []byte {
	var out []byte
	at := 0
	for i, r := range runs {
		out = append(out, d.text[at:r.start]...)
		at = r.end
		switch {
		case i == 0:
			out = append(out, block...)
		case endsInEmptyLine(out):
			if rest := bytes.TrimLeft(d.text[at:], " \t\r"); len(rest) > 0 && rest[0] == '\n' {
				at = len(d.text) - len(rest) + 1
			}
		}
	}
	return append(out, d.text[at:]...)
}

// endsInEmptyLine reports whether a text ends in an empty line.
func endsInEmptyLine(text []byte) bool {
	rest, ok := bytes.CutSuffix(text, []byte("\n"))
	return ok && (len(rest) == 0 || bytes.HasSuffix(bytes.TrimRight(rest, " \t\r"), []byte("\n")))
}

// Restore returns the text in which the tables of an older text stand where the
// table own is now: every table of the parent that is there and not here. When
// nothing else was changed since [Document.Put], the result is the older text.
// The error is ErrForm when the two cannot be joined.
func (d *Document) Restore(parent, own string, older *Document) ([]byte, error) {
	names := []string{own}
	for _, m := range membersOf(older.Root.Get(parent)) {
		if d.Root.Get(parent).Get(m.Name) == nil {
			names = append(names, m.Name)
		}
	}
	now, err := d.runsOf(parent, []string{own})
	if err != nil {
		return nil, err
	}
	then, err := older.runsOf(parent, names)
	if err != nil {
		return nil, err
	}
	if len(now) != 1 || len(then) == 0 {
		return nil, fmt.Errorf("%s %w", parent, ErrForm)
	}
	if bytes.Equal(older.replaceRuns(then, d.text[now[0].start:now[0].end]), d.text) {
		return older.text, nil
	}
	var block []byte
	for i, r := range then {
		if r.first.header != now[0].first.header || !r.first.header && !slices.Equal(r.first.table, now[0].first.table) {
			return nil, older.newFormError(r.start, parent)
		}
		if i > 0 && r.first.header {
			block = append(block, d.chooseNewline()...)
		}
		block = append(block, older.text[r.start:r.end]...)
		if !bytes.HasSuffix(block, []byte("\n")) {
			block = append(block, d.chooseNewline()...)
		}
	}
	text := d.replaceRuns(now, block)
	back := map[string]*jsonc.Value{}
	for _, name := range names {
		if v := older.Root.Get(parent).Get(name); v != nil {
			back[name] = v
		}
	}
	return text, d.verifyEdit(text, parent, names, back)
}

// verifyEdit reads an edited text. It refuses one that says anything else than
// the text before, but for the tables below the parent that were to go and come.
func (d *Document) verifyEdit(text []byte, parent string, gone []string, come map[string]*jsonc.Value) error {
	after, err := Parse(text)
	if err != nil {
		return fmt.Errorf("the edited text cannot be read: %w", err)
	}
	want := &jsonc.Value{Kind: jsonc.Object}
	for _, m := range membersOf(d.Root.Get(parent)) {
		if !slices.Contains(gone, m.Name) {
			want.Members = append(want.Members, m)
		}
	}
	for name, v := range come {
		want.Members = append(want.Members, jsonc.Member{Name: name, Value: v})
	}
	root := &jsonc.Value{Kind: jsonc.Object, Members: []jsonc.Member{{Name: parent, Value: want}}}
	for _, m := range d.Root.Members {
		if m.Name != parent {
			root.Members = append(root.Members, m)
		}
	}
	if !jsonc.Equal(root, after.Root) {
		return fmt.Errorf("%s %w: the result would say something else", strings.TrimSpace(parent), ErrForm)
	}
	return nil
}

// membersOf returns the members of a value, none for nil.
func membersOf(v *jsonc.Value) []jsonc.Member {
	if v == nil {
		return nil
	}
	return v.Members
}
