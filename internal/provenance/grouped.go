package provenance

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// longestWord is the longest word without a digit that stands in an account.
	longestWord = 12
	// longestGap is how many marks and blanks stand between two groups at most.
	longestGap = 3
	// longestGrouped bounds what is joined, in bytes, and overlap is what the next one
	// repeats of it: more than the longest account, an IBAN, has.
	longestGrouped, overlap = 256, 40
)

// visitGrouped calls visit for each run of neighbouring groups of digits and letters
// between which there is another mark than a blank, joined: accounts and numbers as people
// write them, such as DE89/3704/0044 or 12 345.67. Blanks alone make no difference to what
// is folded. A date is none.
func visitGrouped(text string, visit func(joined string)) {
	from := 0 // where the run may begin at the earliest
	for at := 0; at < len(text); {
		if c := text[at]; c < '0' || c > '9' {
			at++
			continue
		}
		start := at
		for start > from && isAlphanumeric[text[start-1]] {
			start--
		}
		if end := start + len("2026-11-26"); end <= len(text) && beginsWithDate(text[start:end]) && (end == len(text) || text[end] == 'T' || !isAlphanumeric[text[end]]) {
			at, from = end, end
			continue
		}
		at = visitRun(text, from, start, visit)
		from = at
	}
}

// visitRun visits the run whose first group with a digit begins at a place, and returns
// where to go on.
func visitRun(text string, from, start int, visit func(string)) int {
	var joined [longestGrouped + overlap]byte
	n, marked := 0, false
	add := func(word string) {
		for len(word) > 0 {
			if n == len(joined) {
				visitMarked(joined[:n], marked, visit)
				n = copy(joined[:], joined[n-overlap:])
			}
			k := copy(joined[n:], word)
			n, word = n+k, word[k:]
		}
	}
	if word, mark := wordBefore(text[from:start]); word != "" {
		add(word)
		marked = mark
	}
	at, words := start, 0
	for at < len(text) {
		end := at
		digit := false
		for end < len(text) && isAlphanumeric[text[end]] {
			digit = digit || text[end] <= '9'
			end++
		}
		if !digit {
			if words++; words > 1 || end-at > longestWord {
				break
			}
		} else {
			words = 0
		}
		add(text[at:end])
		next, mark := skipGap(text, end)
		if at = next; next == end || next == len(text) || !isAlphanumeric[text[next]] {
			break
		}
		if end := next + len("2026-11-26"); end <= len(text) && beginsWithDate(text[next:end]) {
			break
		}
		marked = marked || mark
	}
	visitMarked(joined[:n], marked, visit)
	return max(at, start+1)
}

func visitMarked(joined []byte, marked bool, visit func(string)) {
	if !marked || len(joined) < minValue {
		return
	}
	if text := string(joined); isMostlyDigits(text) {
		visit(text)
	}
}

// wordBefore returns the word without a digit that stands before a group, and whether
// there is a mark between them that is no blank.
func wordBefore(text string) (word string, mark bool) {
	end := len(text)
	for gap := 0; end > 0 && !isAlphanumeric[text[end-1]]; gap++ {
		r, size := utf8.DecodeLastRuneInString(text[:end])
		blank := unicode.IsSpace(r)
		if gap == longestGap || !blank && !isGroupMark(r) {
			return "", false
		}
		mark = mark || !blank
		end -= size
	}
	start := end
	for start > 0 && isAlphanumeric[text[start-1]] && text[start-1] > '9' {
		start--
	}
	if end-start > longestWord {
		return "", false
	}
	return text[start:end], mark
}

// skipGap returns where the marks between two groups end, and whether one of them is no
// blank.
func skipGap(text string, at int) (end int, mark bool) {
	for gap := 0; at < len(text) && !isAlphanumeric[text[at]]; gap++ {
		r, size := utf8.DecodeRuneInString(text[at:])
		blank := unicode.IsSpace(r)
		if gap == longestGap || !blank && !isGroupMark(r) {
			return at, mark
		}
		mark = mark || !blank
		at += size
	}
	return at, mark
}

// isAlphanumeric has the ASCII letters and digits.
var isAlphanumeric = func() (set [256]bool) {
	for c := range set {
		set[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return set
}()

// isGroupMark reports whether people put a character between groups of digits.
func isGroupMark(r rune) bool {
	if r < utf8.RuneSelf {
		return strings.IndexByte("-./_,|'():", byte(r)) >= 0
	}
	return unicode.Is(unicode.Pd, r) || strings.ContainsRune("\u2212\u2019\u00b7\u2022\u00ad\u3002", r)
}
