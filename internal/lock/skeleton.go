package lock

import (
	"strings"
	"unicode"
)

// Skeleton returns the form that all names share which a person, or a model,
// takes for one another: letters that look like Latin ones become those,
// capitals small letters, "1", "I" and "|" an "l", "0" an "o", "rn" an "m",
// "vv" a "w", and whatever is no letter or digit a "_". Marks that stack on a
// letter and characters that show nothing are left out. An "i" becomes an "l"
// too: "Issue" and "issue" share a form, and "lssue" shares that of the first.
// So "mail" and "mall" are taken for one name, which errs on the safe side.
//
// It follows the idea of the skeleton of Unicode Technical Standard 39
// (section 4), with a table of what resembles a-z and 0-9 only.
func Skeleton(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
			continue
		}
		b.WriteByte(skeletonByte(r))
	}
	return pairs.Replace(b.String())
}

// pairs joins letters that look like one.
var pairs = strings.NewReplacer("rn", "m", "vv", "w")

// skeletonByte returns the small letter or digit that a character looks like, "_"
// for any other.
func skeletonByte(r rune) byte {
	c := asciiLookalike(r)
	switch {
	case 'A' <= c && c <= 'Z':
		c += 'a' - 'A'
	case c == '|':
		return 'l'
	}
	switch {
	case c == '1' || c == 'i':
		return 'l'
	case c == '0':
		return 'o'
	case 'a' <= c && c <= 'z' || '2' <= c && c <= '9':
		return c
	default:
		return '_'
	}
}

// asciiLookalike returns the ASCII character that a character looks like, 0 for none.
func asciiLookalike(r rune) byte {
	switch {
	case r < 0x80:
		return byte(r)
	case r >= 0xFF01 && r <= 0xFF5E: // full-width forms
		return byte(r - 0xFEE0)
	case r >= 0x24B6 && r <= 0x24E9: // circled letters
		return letterAt(int(r-0x24B6) % 52)
	case r >= 0x249C && r <= 0x24B5: // letters in parentheses
		return 'a' + byte(r-0x249C)
	case r >= 0x1F130 && r <= 0x1F149, r >= 0x1F150 && r <= 0x1F169, r >= 0x1F170 && r <= 0x1F189:
		return 'A' + byte((r-0x1F130)%32) // squared and circled capitals
	case r >= 0x1D400 && r <= 0x1D6A3: // mathematical alphabets, 13 of 52 letters
		return letterAt(int(r-0x1D400) % 52)
	case r >= 0x1D7CE && r <= 0x1D7FF: // mathematical digits, 5 times ten
		return '0' + byte((r-0x1D7CE)%10)
	case r >= 0x1FBF0 && r <= 0x1FBF9: // segmented digits
		return '0' + byte(r-0x1FBF0)
	default:
		return alike()[r]
	}
}

// letterAt returns a letter by its place in A-Z, a-z.
func letterAt(i int) byte {
	if i < 26 {
		return 'A' + byte(i)
	}
	return 'a' + byte(i-26)
}
