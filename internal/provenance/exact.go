package provenance

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
)

// Exact returns the form in which a value is compared with what the operator or the
// person named. [Canonical] finds a value in whatever clothes it went; this one takes no
// other value for a trusted one: marks on letters count, and so do blanks within and
// characters that are not seen. A path counts as it stands. A text is folded.
func Exact(kind sallyport.ValueKind, value string) string {
	switch kind {
	case effect.Text, "":
		return Fold(value)
	case effect.Path:
		return strings.TrimSpace(value)
	case effect.Account:
		return strings.ReplaceAll(trimKind(kind, foldSpaced(value)), " ", "")
	default:
		return trimKind(kind, foldSpaced(value))
	}
}

// foldSpaced folds a text as [Fold] does, except that every character counts, and a run
// of white space is one blank.
func foldSpaced(s string) string {
	if isFoldedWord(s) || isFoldedSpaced(s) {
		return s
	}
	return foldRunesSpaced(s)
}

func foldRunesSpaced(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range norm.NFKC.String(s) {
		if unicode.IsSpace(r) {
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(foldCase(r))
	}
	return b.String()
}

// isFoldedSpaced reports whether a text of ASCII is one that foldSpaced leaves as it is.
func isFoldedSpaced(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf, 'A' <= c && c <= 'Z', '\t' <= c && c <= '\r':
			return false
		case c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' '):
			return false
		}
	}
	return true
}
