package lock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/internal/digest"
)

const (
	// maxName is what model APIs take.
	maxName = 64
	// maxServer leaves a tool's name at least 17 characters, so that a cut one
	// can still be recognised.
	maxServer = 40
	// nameDigits is how many digits of the digest end a name that was cut.
	nameDigits = 6
)

// CheckServer returns an error for a name that a server cannot have: other
// than 1 to 40 letters, digits, "_" or "-", with "__" in it, or ending in "_".
// With any other name "mcp__<server>__<tool>" says which server is meant.
func CheckServer(name string) error {
	switch {
	case name == "" || len(name) > maxServer || replaceInvalidRunes(name) != name:
		return fmt.Errorf("server name: expected 1 to %d letters, digits, _ or -", maxServer)
	case strings.Contains(name, "__"):
		return errors.New(`server name: "__" separates the server from the tool`)
	case strings.HasSuffix(name, "_"):
		return errors.New(`server name: a "_" at the end would belong to the separator`)
	}
	return nil
}

// MapName returns the name "mcp__<server>__<tool>" under which an upstream
// tool appears. A character outside [a-zA-Z0-9_-], or a byte that is no
// character, becomes "_". A name of more than 64 characters is cut and ends in
// "_" and six digits of the digest of what was cut. The result is the same
// every time; two tools may get one name, which [Conflicts] reports. The error
// is that of [CheckServer], or says that the tool has no name.
func MapName(server, tool string) (string, error) {
	if err := CheckServer(server); err != nil {
		return "", err
	}
	if tool == "" {
		return "", errors.New("the tool has no name")
	}
	full := "mcp__" + server + "__" + tool
	name := replaceInvalidRunes(full)
	if len(name) > maxName {
		name = name[:maxName-1-nameDigits] + "_" + digest.Text(full)[:nameDigits]
	}
	return name, nil
}

// replaceInvalidRunes replaces what a name cannot hold.
func replaceInvalidRunes(s string) string {
	return strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '_'
	}, s)
}

func isNameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}
