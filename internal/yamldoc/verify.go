package yamldoc

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// The scalar styles of YAML, as far as the check of a text differs.
type textStyle int

const (
	stylePlain textStyle = iota
	styleSingle
	styleDouble
	styleBlock
)

// matchesSource reports whether the library read a text as it is in the file:
// the same words with space between the same ones. A policy must not change on
// the way. What follows an escape is not compared, since its source has another
// form.
func (p *tokenPositions) matchesSource(at Position, value string, s textStyle) bool {
	src := p.sourceAt(at)
	switch s {
	case styleSingle, styleDouble:
		src.nextRune() // the opening quote
	case styleBlock:
		src.skipLine() // the header
	}
	want := []rune(value)
	i := skipSpace(want, 0)
	for first := true; i < len(want); first = false {
		gap := false
		r, ok := src.nextRune()
		for ; ok && unicode.IsSpace(r); r, ok = src.nextRune() {
			gap = true
		}
		switch {
		case !ok:
			return false
		case r == '\\' && s == styleDouble:
			return true
		case r == '\'' && s == styleSingle:
			src.nextRune() // the second one of the pair
		}
		j := skipSpace(want, i)
		if !first && gap != (j > i) {
			return false
		}
		if j == len(want) || want[j] != r {
			// Blanks at the end of the text alone reach the closing quote.
			return j == len(want) && (s == styleBlock || closesText(r, s))
		}
		i = j + 1
	}
	return src.endsText(s)
}

// endsText reports whether a text ends before the next code point that is not
// blank: what follows belongs to the text otherwise, and was dropped.
func (s *sourceReader) endsText(st textStyle) bool {
	if st == styleBlock {
		return true
	}
	r, ok := s.nextRune()
	for ok && r == ' ' {
		r, ok = s.nextRune()
	}
	for ok && unicode.IsSpace(r) && st != stylePlain {
		r, ok = s.nextRune()
	}
	return !ok && st == stylePlain || ok && closesText(r, st)
}

// rejoinText makes one text again of an element of a list in brackets, such as
// weather:read, that the library took for a mapping: in YAML (1.2.2, section
// 7.3.3) only a colon before a blank separates, but inside braces the library
// separates at any. An element in braces or with quotes is left as it is.
func (y *yamlReader) rejoinText(item ast.Node, n *Value) {
	m, ok := item.(*ast.MappingNode)
	if !ok || m.IsFlowStyle || len(m.Values) != 1 || len(n.Fields) != 1 {
		return
	}
	key, value := m.Values[0].Key.GetToken(), m.Values[0].Value.GetToken()
	at, text := n.Fields[0].At, key.Value+":"+value.Value
	if !isPlain(key) || !isPlain(value) || !strings.HasPrefix(string(y.at.restOfLine(at)), text) {
		return
	}
	*n = Value{Kind: KindText, At: at, Text: text}
	y.verifyText(n, key)
}

// isNumber reports whether plain text is a number of JSON.
func isNumber(s string) bool {
	return s != "" && strings.IndexByte("-0123456789", s[0]) >= 0 && json.Valid([]byte(s))
}

func isPlain(tk *token.Token) bool {
	switch tk.Type {
	case token.StringType, token.NullType, token.BoolType, token.IntegerType, token.BinaryIntegerType,
		token.OctetIntegerType, token.HexIntegerType, token.FloatType, token.InfinityType, token.NanType:
		return true
	default:
		return false
	}
}

// restOfLine returns the line from a position on.
func (p *tokenPositions) restOfLine(at Position) []rune {
	s := p.sourceAt(at)
	return s.runes[min(s.i, len(s.runes)):]
}

func closesText(r rune, s textStyle) bool {
	switch s {
	case styleSingle:
		return r == '\''
	case styleDouble:
		return r == '"' || r == '\\'
	default:
		return strings.ContainsRune("\n,]}:#", r)
	}
}

func skipSpace(text []rune, i int) int {
	for i < len(text) && unicode.IsSpace(text[i]) {
		i++
	}
	return i
}

// sourceReader reads the code points of a file from a place on, line feeds
// included.
type sourceReader struct {
	lines []string
	line  int
	runes []rune
	i     int
}

func (p *tokenPositions) sourceAt(at Position) *sourceReader {
	if at.Line != p.line {
		p.line, p.runes = at.Line, []rune(p.lines[at.Line-1])
	}
	return &sourceReader{lines: p.lines, line: at.Line, runes: p.runes, i: at.Column - 1}
}

func (s *sourceReader) nextRune() (rune, bool) {
	if s.i < len(s.runes) {
		s.i++
		return s.runes[s.i-1], true
	}
	if !s.skipLine() {
		return 0, false
	}
	return '\n', true
}

// skipLine goes to the beginning of the next line.
func (s *sourceReader) skipLine() bool {
	if s.line >= len(s.lines) {
		return false
	}
	s.line++
	s.runes, s.i = []rune(s.lines[s.line-1]), 0
	return true
}
