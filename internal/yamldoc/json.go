package yamldoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of lists and mappings in JSON, and that of
// brackets in YAML.
const MaxDepth = maxFlowDepth

// isJSON reports whether a file is read as JSON: by its name, or because it
// is JSON. JSON has a reader of its own since a YAML reader refuses the tabs
// that JSON is often indented with.
func isJSON(name, text string) bool {
	return strings.HasSuffix(strings.ToLower(name), ".json") || json.Valid([]byte(text))
}

// parseJSON returns the tree of a JSON text, nil after a syntax error or for a
// text without a value.
func parseJSON(text string) (*Value, []TextFault) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	j := jsonReader{text: text, line: 1, col: 1, dec: json.NewDecoder(strings.NewReader(text))}
	j.dec.UseNumber()
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return nil, []TextFault{j.syntaxFault(err)}
	}
	n, err := j.decodeValue(0)
	if err != nil {
		return nil, []TextFault{{Position{j.line, j.col}, err.Error()}}
	}
	return n, nil
}

var errDeep = fmt.Errorf("nested too deep: at most %d brackets", MaxDepth)

// jsonReader walks the tokens of the standard decoder and keeps positions,
// which the decoder gives as the offset behind a token only.
type jsonReader struct {
	text string
	dec  *json.Decoder
	// off is the offset up to which line and col are counted.
	off, line, col int
}

// syntaxFault positions a fault of the decoder, whose texts are constant
// words and at most one quoted character.
func (j *jsonReader) syntaxFault(err error) TextFault {
	off := len(j.text)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok && !strings.Contains(s.Error(), "unexpected end") {
		// The offset of the decoder counts the offending byte.
		off = min(max(int(s.Offset)-1, 0), off)
	}
	j.advanceTo(off)
	return TextFault{Position{j.line, j.col}, "not JSON: " + err.Error()}
}

// advanceTo counts lines and columns up to an offset.
func (j *jsonReader) advanceTo(off int) {
	for j.off < off {
		r, n := utf8.DecodeRuneInString(j.text[j.off:])
		j.off += n
		j.col++
		if r == '\n' {
			j.line, j.col = j.line+1, 1
		}
	}
}

// nextToken returns the next token and its place.
func (j *jsonReader) nextToken() (json.Token, Position, error) {
	start := int(j.dec.InputOffset())
	for start < len(j.text) && strings.IndexByte(" \t\n\r,:", j.text[start]) >= 0 {
		start++
	}
	tk, err := j.dec.Token()
	if err != nil {
		return nil, Position{}, err
	}
	j.advanceTo(start)
	return tk, Position{j.line, j.col}, nil
}

func (j *jsonReader) decodeValue(depth int) (*Value, error) {
	tk, at, err := j.nextToken()
	if err != nil {
		return nil, err
	}
	n := &Value{At: at}
	switch v := tk.(type) {
	case nil:
		n.Kind = KindNull
	case string:
		n.Kind, n.Text = KindText, v
	case json.Number:
		n.Kind, n.Text = KindNumber, v.String()
	case bool:
		n.Kind, n.Text = KindBool, fmt.Sprint(v)
	case json.Delim:
		if depth >= MaxDepth {
			return nil, errDeep
		}
		n.Kind = KindList
		if v == '{' {
			n.Kind = KindMapping
		}
		return n, j.decodeElements(n, depth)
	}
	return n, nil
}

// decodeElements reads the elements of a list or mapping and the closing bracket.
func (j *jsonReader) decodeElements(n *Value, depth int) error {
	for j.dec.More() {
		var f Field
		if n.Kind == KindMapping {
			tk, at, err := j.nextToken()
			if err != nil {
				return err
			}
			f.Name, _ = tk.(string)
			f.At = at
		}
		v, err := j.decodeValue(depth + 1)
		if err != nil {
			return err
		}
		if f.Value = v; n.Kind == KindMapping {
			n.Fields = append(n.Fields, f)
		} else {
			n.Items = append(n.Items, v)
		}
	}
	_, _, err := j.nextToken()
	return err
}
