package provenance

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sallyport/sallyport/internal/text"
)

// Fold returns a text in the form in which texts are compared: compatible
// characters are one, marks on letters are gone (NFKD), letters have their simple case
// folding, and white space and characters that are not seen are gone.
func Fold(s string) string {
	if folded, ok := foldASCII(s); ok {
		return folded
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		if r = foldRune(r); r >= 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// foldASCII folds a text of ASCII alone.
func foldASCII(s string) (folded string, ok bool) {
	switch seen := marksOf(s); {
	case seen&isRune != 0:
		return "", false
	case seen&hasFold == 0:
		return s, true
	}
	var few [256]byte // on the stack: enough for most values
	b := few[:]
	if len(s) > len(few) {
		b = make([]byte, len(s))
	}
	n := 0
	for i := range len(s) {
		if c := foldedASCII[s[i]]; c != 0 {
			b[n] = c
			n++
		}
	}
	return string(b[:n]), true
}

// foldedASCII is what a character of ASCII is folded to; 0 for one that does not count.
var foldedASCII = func() (folded [utf8.RuneSelf]byte) {
	for c := range folded {
		switch {
		case c <= ' ' || c == 0x7f:
		case 'A' <= c && c <= 'Z':
			folded[c] = byte(c) + 'a' - 'A'
		default:
			folded[c] = byte(c)
		}
	}
	return folded
}()

// foldRune folds a character; it is negative for one that does not count.
func foldRune(r rune) rune {
	switch {
	case unicode.IsSpace(r), isUnseen(r), unicode.Is(unicode.Mn, r):
		return -1
	case r == utf8.RuneError:
		return r
	}
	return foldCase(r)
}

// foldCase folds the case of a character.
func foldCase(r rune) rune {
	// The smallest of the characters that differ in case alone stands for all.
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// isUnseen reports whether a character is not seen by those who read a text.
func isUnseen(r rune) bool {
	return unicode.IsControl(r) && !unicode.IsSpace(r) ||
		unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// isFoldedWord reports whether a text is of ASCII that folding leaves as it is, so that it has
// neither a blank nor a character that is not seen.
func isFoldedWord(s string) bool { return marksOf(s)&(isRune|hasFold) == 0 }

// IsPlain reports whether a text is what it looks like: no character of it is unseen,
// or another one in other clothes, such as a full-width letter.
func IsPlain(s string) bool {
	if isFoldedWord(s) {
		return true
	}
	if text.IsASCII(s) {
		return !containsControl(s)
	}
	return plainText(s) == s && !strings.ContainsFunc(s, isUnseen)
}

// containsControl reports whether a text of ASCII has a character that is not seen.
func containsControl(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c == 0x7f) && !('\t' <= c && c <= '\r') {
			return true
		}
	}
	return false
}

// plainText returns a text as it is read: compatible characters are one, and those that
// are not seen are gone.
func plainText(s string) string {
	if text.IsASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isUnseen(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
}
