package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// appendJSON writes a decoded value with sorted keys; numbers keep their own
// text unless canonical. A canonical text is that of RFC 8785: keys sorted by
// their UTF-16 code units, no space, the fewest escapes, numbers as appendNumber
// says. Equal values give equal bytes, different values different ones.
func appendJSON(b []byte, v any, canonical bool) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendString(b, v)
	case json.Number:
		if canonical {
			return appendNumber(b, string(v))
		}
		return append(b, v...)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item, canonical)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		var buf [16]string
		for i, k := range sortedKeys(v, buf[:0]) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, k)
			b = append(b, ':')
			b = appendJSON(b, v[k], canonical)
		}
		return append(b, '}')
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	default:
		// Nothing else comes here; null keeps the text well formed.
		return append(b, "null"...)
	}
}

func sortedKeys(m map[string]any, buf []string) []string {
	for k := range m {
		buf = append(buf, k)
	}
	slices.SortFunc(buf, compareUTF16)
	return buf
}

// compareUTF16 orders two UTF-8 strings by UTF-16 code units (RFC 8785
// section 3.2.3). That is the order of bytes, except that characters beyond
// U+FFFF, which begin with 0xF0 and up, come before U+E000 to U+FFFF, which
// begin with 0xEE and 0xEF.
func compareUTF16(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}

const hexDigits = "0123456789abcdef"

// appendString writes a string with the escapes of RFC 8785 section 3.2.2.2.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		const from, to = "\"\\\b\t\n\f\r", `"\btnfr`
		if k := strings.IndexByte(from, c); k >= 0 {
			b = append(b, '\\', to[k])
		} else {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
