package reach

import (
	"errors"
	"strings"
	"unicode"
)

// CheckMailbox refuses the part of a mail address before the @ that a relay
// may read as something else than a mailbox, or a person as another one. Some
// decode what looks like an encoded word (RFC 2047), which may hold an @ and
// another domain; some take a | for a program, a / for a file and a - for an
// option of their own delivery.
func CheckMailbox(local string) error {
	switch {
	case strings.Contains(local, "=?"):
		return errors.New("a local part that looks like an encoded word")
	case strings.HasPrefix(local, "-"), strings.HasPrefix(local, "/"), strings.Contains(local, "|"):
		return errors.New("a local part that relays take for an option, a file or a program")
	case strings.ContainsFunc(local, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }):
		return errors.New("a local part with a character that does not show")
	default:
		return nil
	}
}
