package engine

import (
	"slices"
	"strings"
)

// onlyReads is what a caller is told whose statement is no query.
const onlyReads = "a connection that only reads takes queries (SELECT) and nothing else"

// queryWords are the words with which a query begins, in every dialect.
func queryWords() []string { return []string{"SELECT", "WITH", "VALUES", "TABLE"} }

// ExplainRefusal words an engine's syntax error on a connection that only
// reads. The statement was put behind words of ours (DECLARE, EXPLAIN), so the
// engine calls a statement that is no query a syntax error, which sends the
// caller looking for one. It decides nothing: the engine has refused already.
func ExplainRefusal(query, said string) string {
	if slices.Contains(queryWords(), firstWordOf(query)) {
		return said
	}
	return onlyReads
}

// firstWordOf returns the first word of a statement in upper case, after white
// space, comments and opening parentheses.
func firstWordOf(query string) string {
	rest := query
	for {
		rest = strings.TrimLeft(rest, " \t\r\n\f\v(")
		var end string
		switch {
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "#"):
			end = "\n"
		case strings.HasPrefix(rest, "/*"):
			end = "*/"
		default:
			letters := strings.IndexFunc(rest, func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' })
			if letters < 0 {
				letters = len(rest)
			}
			return strings.ToUpper(rest[:letters])
		}
		_, rest, _ = strings.Cut(rest, end)
	}
}
