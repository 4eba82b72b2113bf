package text

import (
	"regexp"
	"sync"
)

// Pattern returns a regular expression that is compiled at its first use. The
// program has some dozens of them, and most commands need none: a start that
// compiled them all would take a quarter longer. A test of package house
// compiles each.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
