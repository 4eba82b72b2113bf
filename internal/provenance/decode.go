package provenance

import (
	"encoding/base64"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/spelling"
)

const (
	// base64Shortest is the shortest text that is tried as base64: that of a value
	// of minValue.
	base64Shortest = 11
	// maxPieces bounds the encoded pieces of one text, and valuePieces those of a value:
	// more than an argument that is looked at can have.
	maxPieces, valuePieces = 64, 1 << 14
)

// decodePieces returns what the encoded pieces of a text mean: percent encoding, the codes
// of HTML and JSON for characters, and base64. all is false when it has more than most.
func decodePieces(text string, most int) (decoded []string, all bool) {
	for _, plain := range [...]string{decodePercent(text), decodeEntities(text), decodeUnicode(text)} {
		if plain != text {
			decoded = append(decoded, plain)
		}
	}
	for start := 0; start+base64Shortest <= len(text); {
		if gap := lastOutsideBase64(text[start : start+base64Shortest]); gap >= 0 {
			start += gap + 1
			continue
		}
		end := start + base64Shortest
		for end < len(text) && isBase64[text[end]] {
			end++
		}
		if plain, ok := decodeWord(text[start:end]); ok {
			if len(decoded) >= most {
				return decoded, false
			}
			decoded = append(decoded, plain)
		}
		start = end + 1
	}
	return decoded, true
}

// decodeWord decodes a word of base64, or the part of it behind the last mark, which may be
// that of a path or a name before it.
func decodeWord(word string) (string, bool) {
	if plain, ok := decodeBase64(word); ok {
		return plain, true
	}
	last := word[strings.LastIndexAny(word, "/-_+")+1:]
	if len(last) == len(word) || len(last) < base64Shortest {
		return "", false
	}
	return decodeBase64(last)
}

// lastOutsideBase64 returns where the last character that base64 has not is; -1 for none.
func lastOutsideBase64(text string) int {
	for i := len(text) - 1; i >= 0; i-- {
		if !isBase64[text[i]] {
			return i
		}
	}
	return -1
}

// isBase64 has the characters of both alphabets of base64.
var isBase64 = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		set[c] = true
	}
	return set
}()

// decodeBase64 decodes a word of base64Shortest or more whose code means a text.
func decodeBase64(word string) (string, bool) {
	if len(word)%4 == 1 {
		return "", false
	}
	coding := base64.RawStdEncoding
	if strings.ContainsAny(word, "-_") {
		coding = base64.RawURLEncoding
	}
	var few [96]byte // on the stack: enough for most words
	for start := 0; start < len(word); start += 128 {
		piece := word[start:min(start+128, len(word))]
		n, err := coding.Decode(few[:], []byte(piece))
		if err != nil || !isPlainText(few[:n]) {
			return "", false
		}
	}
	plain, err := coding.DecodeString(word)
	return string(plain), err == nil && utf8.Valid(plain)
}

func isPlainText(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// decodeEntities decodes what HTML names by a code, such as &#64;.
func decodeEntities(text string) string {
	if strings.IndexByte(text, '&') < 0 {
		return text
	}
	return html.UnescapeString(text)
}

// decodeUnicode decodes what JSON and programs name by a code of four digits, such as
// \u0040.
func decodeUnicode(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, `\u`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if code, err := strconv.ParseUint(rest[:min(4, len(rest))], 16, 16); err == nil && len(rest) >= 4 {
			b.WriteRune(rune(code)) // half of a pair becomes U+FFFD
			rest = rest[4:]
		} else {
			b.WriteString(`\u`)
		}
		text = rest
	}
}

// decodePercent decodes the percent codes of a text, and leaves what is none.
func decodePercent(text string) string {
	if strings.IndexByte(text, '%') < 0 {
		return text
	}
	return spelling.UnescapePercent(strings.ReplaceAll(text, "+", " ")) // a blank, in forms
}
