package text

import "strconv"

// CountOf returns a number with the name of what it counts, which an s
// makes plural.
func CountOf(n int, thing string) string { return CountForms(n, thing, thing+"s") }

// CountForms returns a number with the name of what it counts.
func CountForms(n int, one, many string) string {
	if n != 1 {
		one = many
	}
	return strconv.Itoa(n) + " " + one
}
