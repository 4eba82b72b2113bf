// Package rawjson takes JSON text apart without decoding it, and writes strings
// of it. The text must be valid: that is checked once, where it comes in.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"
)

// Blank returns the text behind its white space.
func Blank(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// Next reads one member of an object, from behind the opening bracket or the
// member before, and returns what stands behind it: another member, or the
// closing bracket. The key is decoded, the value is part of the text. The error
// says that the key cannot be read.
func Next(rest []byte) (key, value, after []byte, err error) {
	if rest[0] == ',' {
		rest = Blank(rest[1:])
	}
	end := Len(rest)
	if key, err = keyOf(rest[:end]); err != nil {
		return nil, nil, nil, err
	}
	rest = Blank(rest[end:])
	rest = Blank(rest[1:]) // the colon
	end = Len(rest)
	return key, rest[:end:end], Blank(rest[end:]), nil
}

// NextItem reads one item of an array, from behind the opening bracket or the
// item before, and returns what stands behind it: another item, or the closing
// bracket. The item is part of the text.
func NextItem(rest []byte) (item, after []byte) {
	if rest[0] == ',' {
		rest = Blank(rest[1:])
	}
	end := Len(rest)
	return rest[:end:end], Blank(rest[end:])
}

// keyOf decodes a key. One without escapes stays where it is in the text.
func keyOf(quoted []byte) ([]byte, error) {
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return inside, nil
	}
	var key string
	if err := json.Unmarshal(quoted, &key); err != nil {
		return nil, errors.New("a key cannot be read")
	}
	return []byte(key), nil
}

// Len returns the length of the value at the beginning of valid JSON text.
func Len(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// AppendText writes a JSON string as encoding/json does: what matters in HTML
// is escaped, bytes that are no UTF-8 become U+FFFD.
func AppendText(out []byte, text string) []byte { return appendText(out, text, true) }

// AppendPlainText writes a JSON string as [AppendText] does, but leaves what
// matters in HTML as it is.
func AppendPlainText(out []byte, text string) []byte { return appendText(out, text, false) }

// TextLen returns how many bytes [AppendText] writes for a text, without holding them all.
func TextLen(text string) int {
	n, piece := len(`""`), []byte(nil)
	for text != "" {
		end := min(len(text), 4<<10)
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		piece = AppendText(piece[:0], text[:end])
		n += len(piece) - len(`""`)
		text = text[end:]
	}
	return n
}

func appendText(out []byte, text string, html bool) []byte {
	out = append(out, '"')
	kept := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' && (!html || c != '<' && c != '>' && c != '&') {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
			if r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		out = appendEscaped(append(out, text[kept:i]...), r)
		i += size
		kept = i
	}
	return append(append(out, text[kept:]...), '"')
}

// appendEscaped writes one character that may not stand in a string.
func appendEscaped(out []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(out, '\\', byte(r))
	case '\n':
		return append(out, `\n`...)
	case '\r':
		return append(out, `\r`...)
	case '\t':
		return append(out, `\t`...)
	case '\b':
		return append(out, `\b`...)
	case '\f':
		return append(out, `\f`...)
	default:
		return append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
}

// AppendFloat writes a finite number as encoding/json does.
func AppendFloat(out []byte, f float64) []byte {
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(out, f, 'f', -1, 64)
	}
	out = strconv.AppendFloat(out, f, 'e', -1, 64)
	// e-09 is written e-9.
	if n := len(out); out[n-4] == 'e' && out[n-3] == '-' && out[n-2] == '0' {
		out = append(out[:n-2], out[n-1])
	}
	return out
}
