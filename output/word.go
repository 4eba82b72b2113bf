package output

import (
	"math/bits"
	"strings"
)

const (
	// lowBits has the lowest bit of each of eight bytes, highBits the highest, which
	// bytes beyond ASCII have.
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// loadWord returns the first eight bytes of b.
func loadWord(b string) uint64 {
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// lastLineFeed returns the index of the last line feed in s, -1 when there is none.
func lastLineFeed(s string) int {
	end := len(s)
	for ; end >= 8; end -= 8 {
		x := loadWord(s[end-8:end]) ^ '\n'*lowBits
		if (x-lowBits)&^x&highBits != 0 {
			break
		}
	}
	return strings.LastIndexByte(s[:end], '\n')
}

// commonPrefix returns how many bytes at the beginning are the same in a and b
// and are not zero.
func commonPrefix(a, b string) int {
	n := 0
	for ; n+8 <= len(a) && n+8 <= len(b); n += 8 {
		x := loadWord(a[n : n+8])
		different := x ^ loadWord(b[n:n+8])
		if different |= (x - lowBits) &^ x & highBits; different != 0 {
			return n + bits.TrailingZeros64(different)/8
		}
	}
	for n < len(a) && n < len(b) && a[n] == b[n] && a[n] != 0 {
		n++
	}
	return n
}

// countVisible returns how many of the last of eight bytes are symbols of ASCII.
// It may be fewer where others are in front.
func countVisible(b string) int {
	x := loadWord(b)
	others := (x - '!'*lowBits) | (x + lowBits) | x
	return bits.LeadingZeros64(others&highBits) / 8
}
