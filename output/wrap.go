package output

import (
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/text"
)

// maxAttribute bounds an attribute of the wrapper in code points.
const maxAttribute = 256

// untrusted is the name of the wrapper's tag.
const untrusted = "untrusted"

// Wrap returns text marked as controlled by another party:
//
//	<untrusted source="S" tool="T">
//	text
//	</untrusted>
//
// The text may be cut. Whatever in it reads as an opening or closing tag of the
// wrapper, complete or not, in any case, with blanks, line breaks or hidden
// characters inside, or with characters that look like angle brackets, has its
// first character replaced by &lt;. Source and tool lose what an attribute cannot hold and are cut to
// 256 code points each; an empty source is "unknown".
func Wrap(clean, source Clean, tool string) Clean {
	if source == "" {
		source = unknown
	}
	inner := string(clean)
	if inner != "" && (inner[0] == '\n' || inner[0] == '\r') {
		inner = breakChatMarker(inner)
	}
	return Clean(`<untrusted source="` + attributeText(string(source)) + `" tool="` + attributeText(tool) + "\">\n" +
		escapeTags(inner) + "\n</untrusted>")
}

// attributeText makes s fit for an attribute: line ends become spaces, angle
// brackets go, quotation marks become apostrophes.
func attributeText(s string) string {
	s = toPlainText(s)
	clean := func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case basicPlane().classOf(r)&alike != 0:
			switch lookalikeASCII(r) {
			case '<', '>':
				return -1
			case '"':
				return '\''
			}
		case r == '<' || r == '>':
			return -1
		case r == '"':
			return '\''
		}
		return r
	}
	return text.FirstChars(strings.Map(clean, s), maxAttribute)
}

// breakChatMarker breaks a chat marker at the beginning of a text, where the
// line feed of the wrapper would be its empty line.
func breakChatMarker(text string) string {
	head := strings.TrimLeft(text, " \t\r\n")
	for _, name := range chatSpeakers {
		rest, ok := strings.CutPrefix(head, name)
		if !ok {
			continue
		}
		if rest = strings.TrimLeft(rest, " \t"); strings.HasPrefix(rest, ":") {
			return markTemplate.String() + rest[1:]
		}
	}
	return text
}

// escapeTags replaces the first character of everything that reads as a tag
// of the wrapper.
func escapeTags(s string) string {
	var out []byte
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf && c != '<' {
			i++
			continue
		}
		b, end := foldToASCII(s, i)
		if b == '<' && tagAt(s, end) {
			out = append(append(out, s[from:i]...), "&lt;"...)
			from = end
		}
		i = end
	}
	if from == 0 {
		return s
	}
	return string(append(out, s[from:]...))
}

// tagAt reports whether what follows an angle bracket at i is the rest of a
// tag of the wrapper.
func tagAt(s string, i int) bool {
	i = skipSpace(s, i)
	if b, end := foldToASCII(s, i); b == '/' || b == '\\' {
		i = skipSpace(s, end)
	}
	for _, want := range []byte(untrusted) {
		b, end := foldToASCII(s, skipSpace(s, i))
		if b|0x20 != want {
			return false
		}
		i = end
	}
	// A longer name is another tag, however the letters are spelled.
	i, _ = skipHidden(s, i, false)
	b, _ := foldToASCII(s, i)
	return !isWord(b) && b != '-'
}

// skipSpace returns the index after blanks, line breaks, control and hidden
// characters at i.
func skipSpace(s string, i int) int {
	for {
		i, _ = skipHidden(s, i, true)
		if i >= len(s) || s[i] > ' ' && s[i] != 0x7F {
			return i
		}
		i++
	}
}
