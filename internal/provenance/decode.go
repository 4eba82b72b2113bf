package provenance

import (
	"encoding/base64"
	"strings"

	"github.com/sallyport/sallyport/internal/spelling"
)

const (
	// base64Shortest is the shortest text that is tried as base64: that of a value
	// of minValue.
	base64Shortest = 11
	// maxPieces bounds the encoded pieces of one text.
	maxPieces = 64
)

// decodePieces returns what the encoded pieces of a text mean: percent encoding
// and base64.
func decodePieces(text string) (decoded []string) {
	if plain := decodePercent(text); plain != text {
		decoded = append(decoded, plain)
	}
	for start := 0; start+base64Shortest <= len(text) && len(decoded) < maxPieces; {
		if gap := lastOutsideBase64(text[start : start+base64Shortest]); gap >= 0 {
			start += gap + 1
			continue
		}
		end := start + base64Shortest
		for end < len(text) && isBase64[text[end]] {
			end++
		}
		if plain, ok := decodeBase64(text[start:end]); ok {
			decoded = append(decoded, plain)
		}
		start = end + 1
	}
	return decoded
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

// decodeBase64 decodes a word of base64Shortest or more whose code means a text of ASCII.
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
	return string(plain), err == nil
}

func isPlainText(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// decodePercent decodes the percent codes of a text, and leaves what is none.
func decodePercent(text string) string {
	if strings.IndexByte(text, '%') < 0 {
		return text
	}
	return spelling.UnescapePercent(strings.ReplaceAll(text, "+", " ")) // a blank, in forms
}
