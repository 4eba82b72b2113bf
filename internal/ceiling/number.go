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
