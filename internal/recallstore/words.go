package recallstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxWordBytes bounds a word; a longer one is cut, in notes and queries alike.
const maxWordBytes = 64

// sideOf returns the side of a shelf: letters and digits, as words of the index have.
func sideOf(shelf string, untrusted bool) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%t/%s", untrusted, shelf))
	return hex.EncodeToString(sum[:12])
}

// authorOf returns the digest that stands for a principal.
func authorOf(principal string) string {
	if principal == "" {
		return ""
	}
	return sideOf("author/"+principal, false)
}

// splitWords returns the words of a text, each once, without case and accents. The index
// takes what lies between other characters of ASCII for a word, so that each is one word
// there.
func splitWords(s string) (words []string) {
	var b strings.Builder
	seen := map[string]bool{}
	end := func() {
		if w := b.String(); w != "" && !seen[w] {
			seen[w], words = true, append(words, w)
		}
		b.Reset()
	}
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r):
			end()
		case b.Len() < maxWordBytes:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	end()
	return words
}

// indexed returns what the index has of a note.
func indexed(side, key, text string) string {
	words := splitWords(key + " " + text)
	for i := range words {
		words[i] = side + words[i]
	}
	return strings.Join(words, " ")
}
