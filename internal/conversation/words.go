package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
)

// Words are what a person told a session before anything untrusted was read in it, in
// the forms in which values are looked for. What they hold is not untrusted.
type Words struct{ raw, folded, spaced string }

func newWords(words string) Words {
	return Words{
		raw: words, folded: provenance.Fold(words), spaced: provenance.Exact(effect.Name, endSentences(words)),
	}
}

// endSentences puts a blank after the mark of a sentence that has none, as in "to
// site.example.They know".
func endSentences(words string) string {
	var b strings.Builder
	r := []rune(words)
	for i := range r {
		b.WriteRune(r[i])
		if r[i] == '.' && i > 0 && i+2 < len(r) && unicode.IsLower(r[i-1]) && unicode.IsUpper(r[i+1]) && unicode.IsLower(r[i+2]) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Hold reports whether the words have a piece, in the form of [provenance.Exact]. A text
// may be a part of them; what names a place or a person stands for itself, so that
// "bob@company.co" is not in "write to bob@company.com".
func (w Words) Hold(kind sallyport.ValueKind, exact string) bool {
	if exact == "" || w.raw == "" {
		return false
	}
	switch kind {
	case effect.Text, "":
		return strings.Contains(w.folded, exact)
	case effect.Account:
		return len(exact) >= leastAccount && strings.ContainsAny(exact, "0123456789") && accountStandsIn(w.spaced, exact)
	case effect.Path:
		return standsIn(w.raw, kind, exact)
	default:
		return standsIn(w.spaced, kind, exact)
	}
}

// leastAccount is the shortest account that words may name, in bytes: a shorter one is an
// amount, a year or a word as well.
const leastAccount = 8

// accountStandsIn reports whether an account stands in a text, whatever groups its digits
// there, and is no part of a longer one.
func accountStandsIn(text, account string) bool {
	for start := range len(text) {
		if start > 0 && isAccountByte(text[start-1]) {
			continue
		}
		at, left := start, account
		for at < len(text) && left != "" && (text[at] == left[0] || at > start && strings.IndexByte(accountMarks, text[at]) >= 0) {
			if text[at] == left[0] {
				left = left[1:]
			}
			at++
		}
		if left == "" && (at == len(text) || !isAccountByte(text[at])) && !isDigitNext(text[at:]) && !isDigitBefore(text[:start], account) {
			return true
		}
	}
	return false
}

// isDigitNext reports whether another group of digits follows an account: it may be its
// rest. A sentence may end between them.
func isDigitNext(rest string) bool {
	if strings.HasPrefix(rest, ". ") {
		return false
	}
	rest = strings.TrimLeft(rest, accountMarks)
	return rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// isDigitBefore reports whether another group of digits stands before an account that
// begins with one.
func isDigitBefore(before, account string) bool {
	before = strings.TrimRight(before, accountMarks)
	return before != "" && account[0] <= '9' && before[len(before)-1] >= '0' && before[len(before)-1] <= '9'
}

// accountMarks group the digits of an account.
const accountMarks = " -./"

func isAccountByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= utf8.RuneSelf
}

// standsIn reports whether a piece stands in a text with nothing around it that would
// make it a part of another one.
func standsIn(text string, kind sallyport.ValueKind, piece string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], piece)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(piece)
		if beginsAfter(text[:start], kind) && endsBefore(text[end:], kind) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[start:])
		from = start + size
	}
}

// beginsAfter reports whether a piece may begin after a text.
func beginsAfter(before string, kind sallyport.ValueKind) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	switch {
	case before == "", !isPart(kind, last):
		return true
	case kind == effect.URL, kind == effect.Host:
		return strings.HasSuffix(before, "://") || strings.HasSuffix(before, "www.") || kind == effect.Host && last == '@'
	}
	return false
}

// endsBefore reports whether a piece may end before a text. The mark that ends a
// sentence is no part of an address.
func endsBefore(after string, kind sallyport.ValueKind) bool {
	if kind == effect.Host && after != "" && strings.ContainsRune("/:?#", rune(after[0])) {
		return true
	}
	after = strings.TrimLeft(after, ".:!?/")
	first, _ := utf8.DecodeRuneInString(after)
	return after == "" || !isPart(kind, first)
}

// isPart reports whether a character may belong to a value of a kind.
func isPart(kind sallyport.ValueKind, r rune) bool {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == '-' {
		return true
	}
	switch kind {
	case effect.Mail, effect.Host, effect.URL, effect.Path:
		return strings.ContainsRune(".+%@/=&#~", r)
	default:
		return false
	}
}
