package text

import (
	"sort"
	"strings"
)

// maxSuggest bounds the length of a word that is compared, in bytes.
const maxSuggest = 64

// Nearest returns the name of the list that a misspelt word probably means,
// and "" when none is near. Case, "-" and "_" do not count; beyond that one
// edit in three letters is near, and at most three.
func Nearest(word string, names []string) string {
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
		if d := EditDistance(w, n); d <= limit && d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

func foldCase(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}
