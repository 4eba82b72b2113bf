package provenance

import (
	"strings"
	"unicode"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
)

// Canonical returns the form in which two values of a kind are equal when they
// mean the same. Values of every kind are folded: see [Fold]. A URL loses its
// scheme, a "www." and a slash at its end, an account the marks that group its
// digits.
func Canonical(kind sallyport.ValueKind, value string) string {
	return canonicalSeen(kind, value, hasFold)
}

// canonicalSeen is Canonical for a value of which it is known what its bytes, or those of
// the text that it is a part of, stand for.
func canonicalSeen(kind sallyport.ValueKind, value string, seen marks) string {
	if seen&hasFold != 0 {
		value = Fold(value)
	}
	if kind == effect.Account {
		return strings.Map(dropMarks, value)
	}
	return trimKind(kind, value)
}

// dropMarks drops whatever people put between the letters and digits of an account.
func dropMarks(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return -1
}

// trimKind drops from a folded value what makes no difference to its kind.
func trimKind(kind sallyport.ValueKind, v string) string {
	switch kind {
	case effect.URL:
		return canonicalURL(v)
	case effect.Host:
		return strings.TrimSuffix(v, ".")
	case effect.Account:
		return strings.Map(dropGrouping, v)
	case effect.Mail:
		return strings.TrimSuffix(strings.TrimPrefix(v, "mailto:"), ".")
	default:
		return v
	}
}

func canonicalURL(folded string) string {
	if i := strings.Index(folded, "://"); i > 0 && isScheme(folded[:i]) {
		folded = folded[i+len("://"):]
	}
	return strings.TrimRight(strings.TrimPrefix(folded, "www."), "/")
}

func isScheme(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '+' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// dropGrouping drops what people put between the digits of an account.
func dropGrouping(r rune) rune {
	if r == '-' || r == '.' || r == '/' {
		return -1
	}
	return r
}
