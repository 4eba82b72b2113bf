package schema

import "strings"

// suggestName returns " did you mean" for a key that is nearly a declared one.
func suggestName(n *node, key string) string {
	if n == nil {
		return ""
	}
	if name, ok := n.folded[foldCase(key)]; ok {
		return "; did you mean " + quoteName(name) + "?"
	}
	if len(key) > maxQuoted {
		return ""
	}
	best, name := 3, ""
	for _, candidate := range n.folded {
		d := editDistance(strings.ToLower(key), strings.ToLower(candidate))
		if d < best && d*3 <= len(candidate) || d == best && candidate < name {
			best, name = d, candidate
		}
	}
	if name == "" {
		return ""
	}
	return "; did you mean " + quoteName(name) + "?"
}

// editDistance returns the Levenshtein distance in bytes, exact up to 3.
func editDistance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
