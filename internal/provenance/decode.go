package provenance

import (
	"encoding/base64"
	"html"
	"math/bits"
	"slices"
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
	return decodeWords(decodeCodes(text), text, most)
}

// isCode is a mark with which each code of a character begins.
func isCode(c byte) bool { return c == '%' || c == '&' || c == '\\' }

// decodeCodes returns what a text means that has codes of characters.
func decodeCodes(text string) (decoded []string) {
	for _, plain := range [...]string{decodePercent(text), decodeEntities(text), decodeUnicode(text)} {
		if plain != text {
			decoded = append(decoded, plain)
		}
	}
	return decoded
}

// decodeWords appends what the words of a text mean in base64.
func decodeWords(decoded []string, text string, most int) (_ []string, all bool) {
	for start := 0; start+base64Shortest <= len(text); {
		if gap := lastOutsideBase64(text[start : start+base64Shortest]); gap >= 0 {
			start += gap + 1
			continue
		}
		end := start + base64Shortest
		for end < len(text) && base64Values[text[end]] != notBase64 {
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
	from := len(word)
	for from > 0 && !isWordMark(word[from-1]) {
		from--
	}
	if from == 0 || len(word)-from < base64Shortest {
		return "", false
	}
	return decodeBase64(word[from:])
}

// isWordMark reports whether a character of base64 stands between the parts of paths and
// names, too.
func isWordMark(c byte) bool { return c == '/' || c == '-' || c == '_' || c == '+' }

// lastOutsideBase64 returns where the last character that base64 has not is; -1 for none.
func lastOutsideBase64(text string) int {
	for i := len(text) - 1; i >= 0; i-- {
		if base64Values[text[i]] == notBase64 {
			return i
		}
	}
	return -1
}

// decodeBase64 decodes a word of base64Shortest or more whose code means a text.
func decodeBase64(word string) (string, bool) {
	if len(word)%4 == 1 || !beginsAsText(word) {
		return "", false
	}
	coding := base64.RawStdEncoding
	if strings.ContainsAny(word, "-_") {
		coding = base64.RawURLEncoding
	}
	var few [96]byte // on the stack: enough for most words
	for start := 0; start < len(word); start += 128 {
		n, err := coding.Decode(few[:], []byte(word[start:min(start+128, len(word))]))
		switch {
		case err != nil || !isPlainText(few[:n]):
			return "", false
		case len(word) <= 128:
			return string(few[:n]), utf8.Valid(few[:n])
		}
	}
	plain, err := coding.DecodeString(word)
	return string(plain), err == nil && utf8.Valid(plain)
}

// beginsAsText reports whether the first eight characters of a word are the code of bytes
// with which a text may begin: most words that are no code are not.
func beginsAsText(word string) bool {
	var code uint64
	for i := range 8 {
		code = code<<6 | uint64(base64Values[word[i]])
	}
	more := 0 // bytes of the character that has begun
	for shift := 40; shift >= 0; shift -= 8 {
		switch c := byte(code >> shift); {
		case c&0xc0 == 0x80:
			more--
		case more > 0 || isControl(c) || c == 0xc0 || c == 0xc1 || c > 0xf4: // RFC 3629
			return false
		case c >= utf8.RuneSelf:
			more = bits.LeadingZeros8(^c) - 1
		}
		if more < 0 {
			return false
		}
	}
	return true
}

// base64Values has the value of each character of both alphabets of base64, and notBase64
// for any other.
var base64Values = func() (values [256]uint8) {
	for c := range values {
		values[c] = notBase64
	}
	for _, last := range []string{"+/", "-_"} {
		for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last) {
			values[c] = uint8(i)
		}
	}
	return values
}()

const notBase64 = 0xff

func isPlainText(text []byte) bool { return !slices.ContainsFunc(text, isControl) }

// isControl reports whether a byte is one that no text has.
func isControl(c byte) bool {
	return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f
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
