package tomledit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/sallyport/sallyport/internal/jsonc"
)

const (
	// MaxBytes bounds a text. Settings have some kilobytes.
	MaxBytes = 4 << 20
	// maxDepth bounds the parts of a key, and nested lists and tables: reading
	// recurses.
	maxDepth = 64
)

// bom may begin a file that some editors write.
const bom = "\ufeff"

// Document is a text with what it says. It is immutable.
type Document struct {
	// Root holds the tables. Start and End of a value in it are where it begins.
	Root *jsonc.Value

	text       []byte
	statements []statement
}

// statement is a header or a key with its value, on lines of its own.
type statement struct {
	// path is the whole path, with that of the table in which it stands.
	path []string
	// table is the path of that table; header says that the statement is its
	// header.
	table  []string
	header bool
	// start and end are where its lines are: text[start:end].
	start, end int
}

// Parse reads a text strictly. Invalid UTF-8, a key that is there twice, more
// than 64 levels and [MaxBytes] are errors. The error is a [jsonc.SyntaxError].
func Parse(text []byte) (*Document, error) {
	if len(text) > MaxBytes {
		return nil, &jsonc.SyntaxError{Line: 1, Column: 1, Message: fmt.Sprintf("the file is larger than %d bytes", MaxBytes)}
	}
	d := &Document{Root: &jsonc.Value{Kind: jsonc.Object}, text: text}
	if at := invalidAt(text); at >= 0 {
		return nil, d.newError(at, "expected UTF-8")
	}
	r := reader{d: d, inside: d.Root, tables: map[*jsonc.Value]map[string]*jsonc.Value{}}
	if bytes.HasPrefix(text, []byte(bom)) {
		r.base = len(bom)
	}
	r.parser.Reset(text[r.base:])
	for r.parser.NextExpression() {
		if err := r.readExpression(r.parser.Expression()); err != nil {
			return nil, err
		}
	}
	if err := r.parser.Error(); err != nil {
		return nil, r.describeError(err)
	}
	// The library knows which keys and tables may stand beside each other.
	var all map[string]any
	if err := toml.Unmarshal(text[r.base:], &all); err != nil {
		return nil, r.describeError(err)
	}
	return d, nil
}

// invalidAt returns the offset of the first byte that is no character, -1 when
// there is none.
func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// newError returns an error about an offset.
func (d *Document) newError(at int, format string, args ...any) error {
	line, column := jsonc.Place(d.text, at)
	return &jsonc.SyntaxError{Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

// reader builds the tree of a document.
type reader struct {
	d      *Document
	parser unstable.Parser
	// base is where the text begins for the parser.
	base int
	// table is the path of the table that the last header opened, inside its
	// value.
	table  []string
	inside *jsonc.Value
	// tables finds the members of large tables.
	tables map[*jsonc.Value]map[string]*jsonc.Value
}

// describeError returns an error of the library with its place.
func (r *reader) describeError(err error) error {
	text := func(err error) string { return strings.TrimPrefix(err.Error(), "toml: ") }
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := e.Position()
		return &jsonc.SyntaxError{Line: line, Column: column, Message: text(err)}
	}
	if e, ok := errors.AsType[*unstable.ParserError](err); ok {
		// An error at the end of the text highlights nothing of it.
		at := len(r.d.text)
		if len(e.Highlight) > 0 {
			at = r.base + int(r.parser.Range(e.Highlight).Offset)
		}
		return r.d.newError(at, "%s", e.Message)
	}
	return &jsonc.SyntaxError{Line: 1, Column: 1, Message: text(err)}
}

// readExpression adds one statement to the tree.
func (r *reader) readExpression(n *unstable.Node) error {
	keys, at, err := r.readKey(n.Key())
	if err != nil {
		return err
	}
	s := statement{header: n.Kind != unstable.KeyValue}
	end := at
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		if r.inside, err = r.openTable(keys, at, n.Kind == unstable.ArrayTable); err != nil {
			return err
		}
		r.table = keys
		s.path, s.table = keys, keys
	default:
		if len(r.table)+len(keys) > maxDepth {
			return r.d.newError(at, "nested deeper than %d levels", maxDepth)
		}
		v, err := r.readValue(n.Value(), at, 0)
		if err != nil {
			return err
		}
		if err := r.addValue(r.inside, keys, at, v); err != nil {
			return err
		}
		s.path, s.table = append(append([]string(nil), r.table...), keys...), r.table
		end = r.base + int(n.Raw.Offset+n.Raw.Length)
	}
	s.start = bytes.LastIndexByte(r.d.text[:at], '\n') + 1
	if s.start == 0 {
		s.start = r.base
	}
	s.end = lineEnd(r.d.text, end)
	r.d.statements = append(r.d.statements, s)
	return nil
}

// lineEnd returns where the line of an offset ends, with its line break.
func lineEnd(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// readKey returns the parts of a key and where it begins.
func (r *reader) readKey(it unstable.Iterator) (keys []string, at int, err error) {
	for it.Next() {
		if len(keys) == 0 {
			at = r.base + int(it.Node().Raw.Offset)
		}
		if keys = append(keys, string(it.Node().Data)); len(keys) > maxDepth {
			return nil, at, r.d.newError(at, "nested deeper than %d levels", maxDepth)
		}
	}
	return keys, at, nil
}

// findMember returns a member of a table.
func (r *reader) findMember(table *jsonc.Value, name string) *jsonc.Value {
	return r.tables[table][name]
}

// addMember adds a member to a table.
func (r *reader) addMember(table *jsonc.Value, name string, at int, v *jsonc.Value) {
	if r.tables[table] == nil {
		r.tables[table] = map[string]*jsonc.Value{}
	}
	r.tables[table][name] = v
	table.Members = append(table.Members, jsonc.Member{Name: name, At: at, Value: v})
}

// openTable returns the table of a header. Of a list of tables it is the last
// one, and a new one for a header of the list itself.
func (r *reader) openTable(keys []string, at int, list bool) (*jsonc.Value, error) {
	table := r.d.Root
	for i, key := range keys {
		v := r.findMember(table, key)
		fresh := list && i == len(keys)-1
		if v == nil {
			v = &jsonc.Value{Kind: jsonc.Object, Start: at, End: at}
			if fresh {
				v.Kind = jsonc.Array
			}
			r.addMember(table, key, at, v)
		}
		if v.Kind == jsonc.Array && fresh {
			v.Items = append(v.Items, &jsonc.Value{Kind: jsonc.Object, Start: at, End: at})
		}
		if v.Kind == jsonc.Array && len(v.Items) > 0 {
			v = v.Items[len(v.Items)-1]
		}
		if v.Kind != jsonc.Object {
			return nil, r.d.newError(at, "%q is %s and no table", key, v.Kind)
		}
		table = v
	}
	return table, nil
}

// addValue adds a value under a key with dots.
func (r *reader) addValue(table *jsonc.Value, keys []string, at int, v *jsonc.Value) error {
	for i, key := range keys {
		there := r.findMember(table, key)
		if i == len(keys)-1 {
			if there != nil {
				return r.d.newError(at, "%q is there twice", key)
			}
			r.addMember(table, key, at, v)
			return nil
		}
		if there == nil {
			there = &jsonc.Value{Kind: jsonc.Object, Start: at, End: at}
			r.addMember(table, key, at, there)
		}
		if there.Kind != jsonc.Object {
			return r.d.newError(at, "%q is %s and no table", key, there.Kind)
		}
		table = there
	}
	return nil
}

// readValue returns a value that begins behind an offset.
func (r *reader) readValue(n *unstable.Node, at, depth int) (*jsonc.Value, error) {
	if depth > maxDepth {
		return nil, r.d.newError(at, "nested deeper than %d levels", maxDepth)
	}
	v := &jsonc.Value{Text: string(n.Data), Start: at, End: at}
	switch n.Kind {
	case unstable.String:
		v.Kind = jsonc.String
	case unstable.Bool:
		v.Kind = jsonc.Bool
	case unstable.Integer, unstable.Float:
		v.Kind = jsonc.Number
	case unstable.Array:
		v.Kind, v.Text = jsonc.Array, ""
		for it := n.Children(); it.Next(); {
			item, err := r.readValue(it.Node(), at, depth+1)
			if err != nil {
				return nil, err
			}
			v.Items = append(v.Items, item)
		}
	case unstable.InlineTable:
		v.Kind, v.Text = jsonc.Object, ""
		for it := n.Children(); it.Next(); {
			keys, key, err := r.readKey(it.Node().Key())
			if err != nil {
				return nil, err
			}
			item, err := r.readValue(it.Node().Value(), key, depth+len(keys))
			if err != nil {
				return nil, err
			}
			if err := r.addValue(v, keys, key, item); err != nil {
				return nil, err
			}
		}
	default:
		v.Kind = Date
	}
	return v, nil
}

// Date is the kind of a date or a time, which JSON does not have.
const Date jsonc.Kind = "a date"
