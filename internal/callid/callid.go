// Package callid makes the ids of calls, and reads the time in one.
package callid

import (
	"math/rand/v2"
	"strings"
	"time"
)

// digits is Crockford's alphabet in lower case: no letters to confuse.
const digits = "0123456789abcdefghjkmnpqrstvwxyz"

// half is how many digits each half of an id has.
const half = 12

// New returns an id that sorts by time: 48 bits of milliseconds and 72 random bits,
// five to a digit. An id is no secret, it only has to be unique, so that the runtime's
// generator will do.
func New(now time.Time) string {
	high := uint64(now.UnixMilli())<<12 | uint64(rand.Uint32N(1<<12))
	low := rand.Uint64()
	var text [2 * half]byte
	for i := range half {
		text[half-1-i] = digits[high>>(5*i)&31]
		text[2*half-1-i] = digits[low>>(5*i)&31]
	}
	return string(text[:])
}

// ReadTime returns the first half of an id as a number: milliseconds and 12 random bits.
// Numbers sort as the ids do. Ok is false for an id of another form, and for the number 0.
func ReadTime(id string) (number int64, ok bool) {
	if len(id) != 2*half {
		return 0, false
	}
	for i := range half {
		digit := strings.IndexByte(digits, id[i])
		if digit < 0 {
			return 0, false
		}
		number = number<<5 | int64(digit)
	}
	return number, number > 0
}
