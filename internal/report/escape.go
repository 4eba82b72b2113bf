package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EscapeControls replaces characters that would control a terminal or deceive a
// reader: the text of a held call comes from an agent. Line breaks become
// blanks.
func EscapeControls(s string) string {
	plain := func(r rune) bool { return r == ' ' || unicode.IsPrint(r) && r != utf8.RuneError }
	var b strings.Builder
	for _, r := range s {
		switch {
		case plain(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteByte(' ')
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
