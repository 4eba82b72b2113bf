package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxPatternBytes bounds a search pattern.
	maxPatternBytes = 10_000
	// maxProgram bounds the instructions of a compiled expression.
	maxProgram = 1000
	// maxUnasked bounds instructions times bytes, which matching takes at most,
	// between two looks at the context: 50 ms.
	maxUnasked = 4 << 20
	// matchChunk is how much text a regular expression sees at once; it is
	// extended to the end of the line.
	matchChunk = 64 << 10
)

// searchMode says how a pattern is compared with a text.
type searchMode string

// The modes of a search.
const (
	modeExact   searchMode = "exact"
	modeFolded  searchMode = "case-insensitive"
	modeSpaced  searchMode = "whitespace-collapsed"
	modeRegular searchMode = "regex"
)

// textMatcher finds a pattern in the text of one file after the other. It keeps
// scratch space and serves one goroutine.
type textMatcher struct {
	mode searchMode
	// literal is compared with the text, or with its lower-case form.
	literal []byte
	// expression is nil for a literal.
	expression *regexp.Regexp
	// program is the number of its instructions.
	program int
	// lower holds the text in lower case when folded is true.
	folded bool
	lower  []byte
}

// newTextMatcher prepares a pattern for a mode.
func newTextMatcher(pattern string, mode searchMode, foldCase bool) (*textMatcher, error) {
	if len(pattern) > maxPatternBytes {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	m := &textMatcher{mode: mode}
	switch mode {
	case modeExact:
		m.literal = []byte(pattern)
		return m, nil
	case modeFolded:
		if text.IsASCII(pattern) {
			m.folded, m.literal = true, []byte(strings.ToLower(pattern))
			return m, nil
		}
		return m, m.compileExpression(regexp.QuoteMeta(pattern), true)
	case modeSpaced:
		return m, m.compileSpaced(pattern)
	default:
		return m, m.compileExpression(pattern, foldCase)
	}
}

// compileSpaced prepares a pattern whose words are separated by any white space,
// line ends included, in either case. The longest word is looked for first,
// because most files do not have it.
func (m *textMatcher) compileSpaced(pattern string) error {
	words := strings.Fields(pattern)
	longest := ""
	for i, w := range words {
		if text.IsASCII(w) && len(w) > len(longest) {
			longest = w
		}
		words[i] = regexp.QuoteMeta(w)
	}
	m.folded, m.literal = true, []byte(strings.ToLower(longest))
	return m.compileExpression(strings.Join(words, `\s+`), true)
}

// compileExpression compiles an expression of RE2 syntax, in which ^ and $ match at
// every line, and refuses one that is too large to be fast.
func (m *textMatcher) compileExpression(pattern string, foldCase bool) error {
	flags := "(?m)"
	if foldCase {
		flags = "(?mi)"
	}
	tree, err := syntax.Parse(flags+pattern, syntax.Perl)
	if err != nil {
		return plainSyntaxError(err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return plainSyntaxError(err)
	}
	if len(program.Inst) > maxProgram {
		return fmt.Errorf("the expression is too large: %d instructions, at most %d are allowed", len(program.Inst), maxProgram)
	}
	m.program = len(program.Inst)
	m.expression, err = regexp.Compile(flags + pattern)
	return err
}

// plainSyntaxError drops the prefix that names Go's parser.
func plainSyntaxError(err error) error {
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return fmt.Errorf("%s: %q", e.Code, e.Expr)
	}
	return err
}

// prepareText prepares a text and reports whether it can hold a match. It is
// called before nextMatch.
func (m *textMatcher) prepareText(text []byte) bool {
	if !m.folded {
		return m.expression != nil || bytes.Contains(text, m.literal)
	}
	m.lower = lowerASCII(m.lower[:0], text)
	return bytes.Contains(m.lower, m.literal)
}

// nextMatch returns where the first match at or after from begins, -1 when there
// is none. A match of an expression lies within a chunk of whole lines.
func (m *textMatcher) nextMatch(text []byte, from int, alive func() error) (int, error) {
	if m.expression == nil {
		if m.folded {
			text = m.lower[:len(text)]
		}
		if i := bytes.Index(text[from:], m.literal); i >= 0 {
			return from + i, nil
		}
		return -1, nil
	}
	for from < len(text) {
		if err := alive(); err != nil {
			return -1, err
		}
		end := chunkEnd(text, from)
		at, err := m.findExpression(text[from:end], alive)
		if err != nil {
			return -1, err
		}
		// An empty match at the end of a chunk belongs to no line of it.
		if at >= 0 && from+at < end {
			return from + at, nil
		}
		from = end
	}
	return -1, nil
}

// findExpression returns where the first match of the expression in a chunk begins,
// -1 when there is none. Where that may take long, it asks on the way whether the
// call goes on.
func (m *textMatcher) findExpression(chunk []byte, alive func() error) (int, error) {
	if m.program*len(chunk) <= maxUnasked {
		if at := m.expression.FindIndex(chunk); at != nil {
			return at[0], nil
		}
		return -1, nil
	}
	r := askingReader{text: chunk, every: maxUnasked / m.program, alive: alive}
	at := m.expression.FindReaderIndex(&r)
	switch {
	case r.err != nil:
		return -1, r.err
	case at == nil:
		return -1, nil
	default:
		return at[0], nil
	}
}

// askingReader reads the characters of a text. It ends early, with err, when the
// call does not go on.
type askingReader struct {
	text             []byte
	at, asked, every int
	alive            func() error
	err              error
}

// ReadRune implements [io.RuneReader].
func (r *askingReader) ReadRune() (char rune, size int, err error) {
	if r.at-r.asked >= r.every {
		r.asked = r.at
		r.err = r.alive()
	}
	if r.err != nil || r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	char, size = utf8.DecodeRune(r.text[r.at:])
	r.at += size
	return char, size, nil
}

// chunkEnd returns the end of the chunk that begins at from.
func chunkEnd(text []byte, from int) int {
	if len(text)-from <= matchChunk {
		return len(text)
	}
	end := from + matchChunk
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 && i < matchChunk {
		return end + i + 1
	}
	return end
}

// lowerASCII appends the text to dst with A to Z in lower case.
func lowerASCII(dst, text []byte) []byte {
	dst = append(dst, text...)
	for i, c := range dst {
		if 'A' <= c && c <= 'Z' {
			dst[i] = c + ('a' - 'A')
		}
	}
	return dst
}
