package text

import "strconv"

// CountOf returns a number with the name of what it counts, which an s
// makes plural.
func CountOf(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
