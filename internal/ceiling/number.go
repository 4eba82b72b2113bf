package ceiling

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits bounds the digits of a number, and how far its point may be moved.
const maxDigits = 40

// Exact returns the value of a number without rounding: 0.1 and 0.2 make 0.3. It is
// not ok for a number of more than 40 digits, such as 1e400, and for what is no number.
func Exact(n json.Number) (value *big.Rat, ok bool) {
	text := string(n)
	if len(text) <= maxWhole && isWhole(text) {
		whole, err := strconv.ParseInt(text, 10, 64)
		return new(big.Rat).SetInt64(whole), err == nil
	}
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if found {
		if e, err := strconv.Atoi(exponent); err != nil || e > maxDigits || e < -maxDigits {
			return nil, false
		}
	}
	if len(mantissa) > maxDigits+2 || strings.ContainsAny(text, "/_xXpPbBoO") {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// maxWhole is how long a whole number may be that surely fits 64 bits.
const maxWhole = 18

func isWhole(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
