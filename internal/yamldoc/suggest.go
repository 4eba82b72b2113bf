package yamldoc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// Suggest returns the name of the list that a misspelt word probably means,
// and "" when none is near.
func Suggest(word string, names []string) string { return text.Nearest(word, names) }

// maxExpected is how many names a message lists before the list stops being
// of help.
const maxExpected = 30

// AdviseName returns "; did you mean …?" for a word near one of the names, else
// ": expected …" with the expected ones, else "".
func AdviseName(word string, names, expected []string) string {
	if near := Suggest(word, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(expected) == 0 || len(expected) > maxExpected {
		return ""
	}
	return ": expected " + OneOf(expected)
}

// Quote quotes a word of the text for a message, shortened.
func Quote(s string) string { return strconv.Quote(text.Clip(s, 64)) }

// OneOf returns "a", "a or b", "a, b or c".
func OneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
