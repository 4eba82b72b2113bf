package output

import "strings"

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
