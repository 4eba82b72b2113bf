package schema

import (
	"strconv"
	"strings"
)

// decimal is a number in parts: sign, digits without zeros at either end, and
// the exponent: the value is 0.digits times 10^exp. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exp      int
}

// parseDecimal takes a text apart that follows the grammar of JSON numbers.
// ok is false when the exponent does not fit, which the decoder refuses.
func parseDecimal(n string) (d decimal, ok bool) {
	n, d.negative = strings.CutPrefix(n, "-")
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(n[i+1:], "+"))
		if err != nil || e > 1<<20 || e < -1<<20 {
			// Zero stays zero whatever its exponent, but people do not write it so.
			return d, false
		}
		n, d.exp = n[:i], e
	}
	whole, fraction, _ := strings.Cut(n, ".")
	d.exp += len(whole)
	d.digits = whole + fraction
	trimmed := strings.TrimLeft(d.digits, "0")
	d.exp -= len(d.digits) - len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

func inRange(n string) bool {
	d, ok := parseDecimal(n)
	return ok && -maxMagnitude <= d.exp && d.exp <= maxMagnitude
}

// appendNumber writes the one canonical text of a number. For every number
// that is the shortest text of its IEEE 754 double it is what RFC 8785 (and
// ECMAScript's Number::toString) prints. Other numbers keep all their digits
// in the same layout, where RFC 8785 would round: two different numbers must
// never share a digest.
func appendNumber(b []byte, n string) []byte {
	d, ok := parseDecimal(n)
	if !ok {
		return append(b, n...)
	}
	if d.digits == "" {
		return append(b, '0')
	}
	if d.negative {
		b = append(b, '-')
	}
	k := len(d.digits)
	switch {
	case k <= d.exp && d.exp <= 21:
		b = append(b, d.digits...)
		return append(b, strings.Repeat("0", d.exp-k)...)
	case 0 < d.exp && d.exp <= 21:
		b = append(b, d.digits[:d.exp]...)
		b = append(b, '.')
		return append(b, d.digits[d.exp:]...)
	case -6 < d.exp && d.exp <= 0:
		b = append(b, '0', '.')
		b = append(b, strings.Repeat("0", -d.exp)...)
		return append(b, d.digits...)
	}
	b = append(b, d.digits[0])
	if k > 1 {
		b = append(b, '.')
		b = append(b, d.digits[1:]...)
	}
	b = append(b, 'e')
	if d.exp > 0 {
		b = append(b, '+')
	}
	return strconv.AppendInt(b, int64(d.exp-1), 10)
}
