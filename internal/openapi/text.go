package openapi

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/output"
)

// The lengths of texts, in code points. What a model reads of a tool is some
// hundred words; providers refuse descriptions of more than 1024.
const (
	maxDescription = 1000
	maxArgument    = 300
	maxShort       = 80
	maxLine        = 400
	// maxName bounds the bytes of a name in a schema, as the configuration
	// does.
	maxName = 256
	// maxRead bounds what is looked at of a long text, in bytes.
	maxRead = 8 << 10
)

// textCleaner makes the texts of a document safe to show.
type textCleaner struct {
	cleaner *output.Cleaner
	// exact remembers which names are clean as they stand.
	exact map[string]bool
	// cleaned remembers texts: one of a component is in many operations.
	cleaned map[limitedText]string
}

// limitedText is a text that is to have at most limit code points.
type limitedText struct {
	text  string
	limit int
}

// maxKept bounds what is remembered of one kind.
const maxKept = 1 << 16

// cleanText returns a text on one line, without what acts on a terminal or a
// model, and of at most limit code points.
func (t *textCleaner) cleanText(s string, limit int) string {
	key := limitedText{s[:min(len(s), maxRead)], limit}
	out, known := t.cleaned[key]
	if !known {
		if out = t.removeUnsafe(key.text, limit); len(t.cleaned) < maxKept {
			t.cleaned[key] = out
		}
	}
	return out
}

// removeUnsafe removes what acts on a terminal or a model until nothing is left
// to remove.
func (t *textCleaner) removeUnsafe(s string, limit int) string {
	s = joinLines(s)
	// A removal may complete what the former one looked for.
	for range 4 {
		next := joinLines(string(t.cleaner.Text(s)))
		if next == s {
			break
		}
		s = next
	}
	if joinLines(string(t.cleaner.Text(s))) != s {
		return ""
	}
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRight(text.FirstChars(s, limit-1), " ") + "…"
}

func (t *textCleaner) cleanShort(s string) string { return t.cleanText(s, maxShort) }
func (t *textCleaner) cleanLine(s string) string  { return t.cleanText(s, maxLine) }

// isExact reports whether a name or a value of an enumeration can stand in a
// schema as it is: another spelling of it would be another name.
func (t *textCleaner) isExact(s string) bool {
	if ok, known := t.exact[s]; known {
		return ok
	}
	ok := len(s) <= maxName && !strings.ContainsFunc(s, isUnsafeRune) && t.cleaner.Accepts(s)
	if len(t.exact) < maxKept {
		t.exact[s] = ok
	}
	return ok
}

// isUnsafeRune reports whether a character is one that no text of an action
// has.
func isUnsafeRune(r rune) bool {
	return r == utf8.RuneError || r == 0x2028 || r == 0x2029 || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs)
}

// joinLines puts a text on one line.
func joinLines(s string) string {
	return text.OneLine(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case isUnsafeRune(r):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(s, "")))
}

// quoteShort quotes a text of the document for a message.
func quoteShort(s string) string {
	return strconv.Quote(text.Clip(s, maxShort))
}

// toSlug makes a word of lower-case letters, digits and single dashes.
func toSlug(s string) string {
	s = strings.ReplaceAll(toWord(strings.ToLower(s), ""), "_", "-")
	return strings.Trim(s[:min(len(s), maxID)], "-")
}

// toWord replaces what is not in the alphabet of names.
func toWord(s, also string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || strings.ContainsRune(also, r):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	return b.String()
}

// findTarget returns where a reference leads within the document.
func (im *importer) findTarget(ref string) yamldoc.Node {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local || len(ref) > 4096 {
		return yamldoc.Node{}
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return yamldoc.Node{}
	}
	return im.doc.Root().Find(pointer)
}
