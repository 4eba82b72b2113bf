package reach

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MinSecretBytes is the shortest secret value that may be handed out: a
	// shorter one could not be removed from a text without tearing it apart.
	MinSecretBytes = 8
	// maxRefBytes bounds a reference. The longest path that a directory of
	// secrets can serve is PATH_MAX, 4096 bytes; a tenth of it is enough.
	maxRefBytes = 512
	// maxNameBytes is NAME_MAX of Linux and macOS: the longest file name.
	maxNameBytes = 255
	// maxPathBytes is PATH_MAX of Linux, which execve enforces.
	maxPathBytes = 4096
)

// Ref is a secret reference, or a pattern for every reference below a prefix.
// Make one with ParseRef; the zero Ref covers nothing.
type Ref struct {
	// Path is the segments, joined by slashes, without the "/*" of a pattern.
	Path string
	// Below is true for "path/*": it covers what is below Path, and not Path
	// itself.
	Below bool
}

// ParseRef reads "a/b/c" or "a/b/*". It refuses an empty text, an empty, "."
// or ".." segment, a star anywhere but alone at the end of a prefix, a
// backslash, a drive letter, invalid UTF-8, characters that do not print, and
// more than 512 bytes. The error does not repeat the text.
func ParseRef(s string) (Ref, error) {
	if len(s) > maxRefBytes {
		return Ref{}, fmt.Errorf("longer than %d bytes", maxRefBytes)
	}
	if err := checkPrintable(s); err != nil {
		return Ref{}, err
	}
	path, below := strings.CutSuffix(s, "/*")
	switch {
	case path == "":
		return Ref{}, errors.New("empty")
	case path[0] == '/', len(path) > 1 && path[1] == ':' && isLetter(path[0]):
		return Ref{}, errors.New("absolute path in place of a reference")
	case strings.Contains(path, `\`):
		return Ref{}, errors.New("backslashes are not allowed")
	case strings.Contains(path, "*"):
		return Ref{}, errors.New(`"*" is allowed only as the last segment after a prefix`)
	case !wholeSegments(path):
		return Ref{}, errors.New(`empty, "." or ".." segment`)
	}
	return Ref{Path: path, Below: below}, nil
}

// ParseExactRef is ParseRef for a reference that is asked for: a pattern is
// refused.
func ParseExactRef(s string) error {
	r, err := ParseRef(s)
	if err == nil && r.Below {
		return errors.New("a pattern in place of a reference")
	}
	return err
}

// CheckRef is ParseExactRef with an error that names the reference.
func CheckRef(ref string) error {
	if err := ParseExactRef(ref); err != nil {
		return fmt.Errorf("secret reference %q: %w", ref, err)
	}
	return nil
}

// String returns the text from which ParseRef makes the same Ref.
func (r Ref) String() string {
	if r.Below {
		return r.Path + "/*"
	}
	return r.Path
}

// Covers reports whether everything that o matches is matched by r.
func (r Ref) Covers(o Ref) bool {
	if !r.Below {
		return r == o && r.Path != ""
	}
	if o.Below && o.Path == r.Path {
		return true
	}
	// The slash after the prefix keeps "a/*" from covering "ab/c".
	return r.Path != "" && len(o.Path) > len(r.Path)+1 &&
		o.Path[len(r.Path)] == '/' && o.Path[:len(r.Path)] == r.Path
}

// MatchRef reports whether one of the patterns covers a reference that is
// asked for. A text that is no reference matches nothing, not even an equal
// entry; neither does an entry that is no pattern. It does not allocate.
func MatchRef(patterns []string, ref string) bool {
	want, err := ParseRef(ref)
	if err != nil || want.Below {
		return false
	}
	for _, p := range patterns {
		if r, err := ParseRef(p); err == nil && r.Covers(want) {
			return true
		}
	}
	return false
}

// IntersectRefs returns what both lists cover, sorted, without entries that
// another entry covers, and the declared entries of which nothing is left, in
// their order. The narrower side wins either way round. Entries that do not
// parse cover nothing. An absent ceiling is the caller's business: an empty
// list here allows nothing.
func IntersectRefs(declared, allowed []string) (granted, dropped []string) {
	return intersectLists(declared, allowed, func(s string) (Ref, bool) {
		r, err := ParseRef(s)
		return r, err == nil
	})
}

// coveringEntry is an entry of a list that may cover other entries.
type coveringEntry[T any] interface {
	comparable
	fmt.Stringer
	Covers(T) bool
}

func intersectLists[T coveringEntry[T]](declared, allowed []string, parse func(string) (T, bool)) (granted, dropped []string) {
	var limits, kept []T
	for _, s := range allowed {
		if a, ok := parse(s); ok {
			limits = append(limits, a)
		}
	}
	for _, s := range declared {
		before := len(kept)
		if d, ok := parse(s); ok {
			for _, a := range limits {
				switch {
				case a.Covers(d):
					kept = append(kept, d)
				case d.Covers(a):
					kept = append(kept, a)
				}
			}
		}
		if len(kept) == before {
			dropped = append(dropped, s)
		}
	}
	return widestEntries(kept), dropped
}

// widestEntries returns the sorted texts of the entries that no other entry
// covers.
func widestEntries[T coveringEntry[T]](entries []T) []string {
	var texts []string
	for i, e := range entries {
		covered := slices.ContainsFunc(entries, func(o T) bool { return o != e && o.Covers(e) })
		if !covered && !slices.Contains(entries[:i], e) {
			texts = append(texts, e.String())
		}
	}
	slices.Sort(texts)
	return texts
}

// Binary is an entry of a process allow list: a name that the fixed search
// path resolves, an absolute path that means itself, or "*" for any name.
type Binary string

// AnyBinary covers every name on the search path. It covers no path.
const AnyBinary Binary = "*"

// ParseBinary reads an entry of a process allow list. A name has ASCII
// letters, digits and "._+-@" and does not begin with "." or "-"; a path is
// absolute and clean. Anything else is refused: a relative path means another
// file in every directory, and other characters belong to shells. So is a
// [Launcher].
func ParseBinary(s string) (Binary, error) {
	if why := RefuseLauncher(s); why != "" {
		return "", errors.New(why)
	}
	switch {
	case s == "":
		return "", errors.New("empty")
	case s == string(AnyBinary):
		return AnyBinary, nil
	case filepath.IsAbs(s):
		return parseBinaryPath(s)
	case strings.ContainsAny(s, `/\`):
		return "", errors.New("a relative path in place of a name")
	case len(s) > maxNameBytes:
		return "", fmt.Errorf("longer than %d bytes", maxNameBytes)
	case s[0] == '.', s[0] == '-':
		return "", fmt.Errorf("a name does not begin with %q", s[0])
	}
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && (c < '0' || c > '9') && !strings.ContainsRune("._+-@", rune(c)) {
			return "", errors.New("a character that is not a letter, a digit or one of ._+-@")
		}
	}
	return Binary(s), nil
}

func parseBinaryPath(s string) (Binary, error) {
	if err := checkPrintable(s); err != nil {
		return "", err
	}
	if len(s) > maxPathBytes || filepath.Clean(s) != s || filepath.Dir(s) == s {
		return "", errors.New("not a clean path of a file")
	}
	return Binary(s), nil
}

// String returns the entry.
func (b Binary) String() string { return string(b) }

// Covers reports whether everything that o allows is allowed by b.
func (b Binary) Covers(o Binary) bool {
	return b != "" && (b == o || b == AnyBinary && !filepath.IsAbs(string(o)))
}

// MatchBinary reports whether one of the entries covers a binary that is to be
// started. The star is an entry, not a binary. It does not allocate.
func MatchBinary(entries []string, binary string) bool {
	want, err := ParseBinary(binary)
	if err != nil || want == AnyBinary {
		return false
	}
	for _, s := range entries {
		if b, err := ParseBinary(s); err == nil && b.Covers(want) {
			return true
		}
	}
	return false
}

// IntersectNames is IntersectRefs for process allow lists: "*" on one side
// leaves the names of the other side.
func IntersectNames(declared, allowed []string) (granted, dropped []string) {
	return intersectLists(declared, allowed, func(s string) (Binary, bool) {
		b, err := ParseBinary(s)
		return b, err == nil
	})
}

// checkPrintable returns an error for what a reader of a list or a log could
// not see.
func checkPrintable(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("not valid UTF-8")
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return errors.New("a control or invisible character")
		}
	}
	return nil
}

// wholeSegments reports whether no segment is empty, "." or "..".
func wholeSegments(path string) bool {
	for {
		segment, rest, more := strings.Cut(path, "/")
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
		if !more {
			return true
		}
		path = rest
	}
}

// IsEnvName reports whether s is a portable name of an environment variable:
// ASCII letters, digits and underscores without a digit in front (POSIX.1-2017,
// section 8.1).
func IsEnvName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isLetter(c) && c != '_' && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return s != ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
