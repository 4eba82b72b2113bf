package yamldoc

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// maxSuggest bounds the length of a word that is compared, in bytes.
const maxSuggest = 64

// Suggest returns the name of the list that a misspelt word probably means,
// and "" when none is near. Case, "-" and "_" do not count; beyond that one
// edit in three letters is near, and at most three.
func Suggest(word string, names []string) string {
	best, bestDistance := "", 4
	w := foldCase(word)
	if w == "" || len(word) > maxSuggest {
		return ""
	}
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	for _, name := range sorted {
		if len(name) > maxSuggest {
			continue
		}
		n := foldCase(name)
		limit := min(3, max(len(w), len(n))/3)
		if d := text.EditDistance(w, n); d <= limit && d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// maxExpected is how many names a message lists before the list stops being
// of help.
const maxExpected = 16

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

func foldCase(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}
