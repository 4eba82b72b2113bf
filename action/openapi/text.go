package openapi

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/config"
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

// texts makes the texts of a document safe to show.
type texts struct {
	cleaner *output.Cleaner
	// exact remembers which names are clean as they stand.
	exact map[string]bool
	// cleaned remembers texts: one of a component is in many operations.
	cleaned map[limited]string
}

// limited is a text that is to have at most limit code points.
type limited struct {
	text  string
	limit int
}

// maxKept bounds what is remembered of one kind.
const maxKept = 1 << 16

// clean returns a text on one line, without what acts on a terminal or a
// model, and of at most limit code points.
func (t *texts) clean(s string, limit int) string {
	key := limited{s[:min(len(s), maxRead)], limit}
	out, known := t.cleaned[key]
	if !known {
		if out = t.wash(key.text, limit); len(t.cleaned) < maxKept {
			t.cleaned[key] = out
		}
	}
	return out
}

func (t *texts) wash(s string, limit int) string {
	s = flat(s)
	// A removal may complete what the former one looked for.
	for range 4 {
		next := flat(t.cleaner.Text(s))
		if next == s {
			break
		}
		s = next
	}
	if flat(t.cleaner.Text(s)) != s {
		return ""
	}
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:limit-1]), " ") + "…"
}

func (t *texts) short(s string) string { return t.clean(s, maxShort) }
func (t *texts) line(s string) string  { return t.clean(s, maxLine) }

// isExact reports whether a name or a value of an enumeration can stand in a
// schema as it is: another spelling of it would be another name.
func (t *texts) isExact(s string) bool {
	if ok, known := t.exact[s]; known {
		return ok
	}
	ok := len(s) <= maxName && !strings.ContainsFunc(s, unseen) && t.cleaner.Text(s) == s
	if len(t.exact) < maxKept {
		t.exact[s] = ok
	}
	return ok
}

// unseen are the characters that no text of an action has.
func unseen(r rune) bool {
	return r == utf8.RuneError || r == 0x2028 || r == 0x2029 || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs)
}

// flat puts a text on one line.
func flat(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unseen(r):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}

// quote is a text of the document in a message.
func quote(s string) string {
	if runes := []rune(s); len(runes) > maxShort {
		s = string(runes[:maxShort]) + "…"
	}
	return strconv.Quote(s)
}

// slug makes a word of lower-case letters, digits and single dashes.
func slug(s string) string {
	s = strings.ReplaceAll(word(strings.ToLower(s), ""), "_", "-")
	return strings.Trim(s[:min(len(s), maxID)], "-")
}

// word replaces what is not in the alphabet of names.
func word(s, also string) string {
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

// target is where a reference leads within the document.
func (im *importer) target(ref string) config.Node {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local || len(ref) > 4096 {
		return config.Node{}
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return config.Node{}
	}
	return im.doc.Root().Find(pointer)
}
