package output

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// runeClass says how a character is treated; the bits combine.
type runeClass uint8

const (
	// hidden characters show nothing: they are dropped unless their place
	// needs them, and skipped in a comparison.
	hidden runeClass = 1 << iota
	// lineBreak characters become a line feed.
	lineBreak
	// combining characters stack on the one before; their runs are bounded.
	combining
	// joining letters belong to a script that needs joiners for spelling.
	joining
	// pictograph characters take part in emoji sequences.
	pictograph
	// variable characters have standardised variation sequences.
	variable
	// blank characters are spaces.
	blank
	// alike characters look like an ASCII character; see [lookalikeASCII].
	alike
)

// classTable maps the basic multilingual plane.
type classTable [1 << 16]runeClass

func (t *classTable) classOf(r rune) runeClass {
	if r < 1<<16 {
		return t[r]
	}
	return highClass(r)
}

// basicPlane returns the table, built on first use from the tables of package
// unicode and the ranges below.
var basicPlane = sync.OnceValue(newClasses)

// classRange is an inclusive range of characters with its class.
type classRange struct {
	lo, hi rune
	class  runeClass
}

// basicRanges lists what the general categories do not say. The hidden ones
// are Default_Ignorable_Code_Point of the Unicode Character Database
// (DerivedCoreProperties.txt, version 17) together with the controls, the
// interlinear annotation marks and the noncharacters.
var basicRanges = [...]classRange{
	{0x0000, 0x0008, hidden},
	{0x000B, 0x001F, hidden},
	{0x007F, 0x009F, hidden},
	{0x0085, 0x0085, lineBreak},
	{0x00AD, 0x00AD, hidden},
	{0x034F, 0x034F, hidden},
	{0x061C, 0x061C, hidden},
	{0x115F, 0x1160, hidden},
	{0x17B4, 0x17B5, hidden},
	{0x180B, 0x180F, hidden},
	{0x200B, 0x200F, hidden},
	{0x2800, 0x2800, blank}, // a Braille cell without dots
	{0x2028, 0x2029, lineBreak},
	{0x202A, 0x202E, hidden},
	{0x2060, 0x206F, hidden},
	{0x3164, 0x3164, hidden},
	{0xFDD0, 0xFDEF, hidden},
	{0xFE00, 0xFE0F, hidden},
	{0xFEFF, 0xFEFF, hidden},
	{0xFFA0, 0xFFA0, hidden},
	{0xFFF0, 0xFFFB, hidden},
	{0xFFFE, 0xFFFF, hidden},

	// Arabic, Syriac, Thaana, N'Ko, Mandaic; the Indic blocks; Myanmar;
	// Khmer; Mongolian; and their extensions.
	{0x0600, 0x08FF, joining},
	{0x0900, 0x0DFF, joining},
	{0x1000, 0x109F, joining},
	{0x1780, 0x18AF, joining},
	{0xA840, 0xA8FF, joining},
	{0xFB50, 0xFDCF, joining},
	{0xFDF0, 0xFDFF, joining},
	{0xFE70, 0xFEFE, joining},

	// Characters of emoji-data.txt below U+10000, by block.
	{0x00A9, 0x00A9, pictograph},
	{0x00AE, 0x00AE, pictograph},
	{0x203C, 0x203C, pictograph},
	{0x2049, 0x2049, pictograph},
	{0x2122, 0x2122, pictograph},
	{0x2139, 0x2139, pictograph},
	{0x2190, 0x21FF, pictograph},
	{0x2300, 0x23FF, pictograph},
	{0x24C2, 0x24C2, pictograph},
	{0x25A0, 0x27BF, pictograph},
	{0x2934, 0x2935, pictograph},
	{0x2B00, 0x2BFF, pictograph},
	{0x3030, 0x3030, pictograph},
	{0x303D, 0x303D, pictograph},
	{0x3297, 0x3299, pictograph},

	// StandardizedVariants.txt by block: Myanmar, mathematics, CJK,
	// Phags-pa, full-width forms.
	{0x1000, 0x109F, variable},
	{0x2200, 0x22FF, variable},
	{0x2A00, 0x2AFF, variable},
	{0x3000, 0x9FFF, variable},
	{0xA840, 0xA877, variable},
	{0xF900, 0xFAFF, variable},
	{0xFF00, 0xFF60, variable},

	{0xFF01, 0xFF5E, alike},
}

func newClasses() *classTable {
	t := new(classTable)
	for _, x := range basicRanges {
		for r := x.lo; r <= x.hi; r++ {
			t[r] |= x.class
		}
	}
	t[0x85] &^= hidden
	for _, x := range lookalikes {
		for _, r := range x.alike {
			t[r] |= alike
		}
	}
	fillClass(t, unicode.Mn, combining)
	fillClass(t, unicode.Me, combining)
	fillClass(t, unicode.Zs, blank)
	return t
}

// fillClass adds a class to the basic characters of a range table.
func fillClass(t *classTable, table *unicode.RangeTable, c runeClass) {
	for _, x := range table.R16 {
		for r := uint32(x.Lo); r <= uint32(x.Hi); r += uint32(x.Stride) {
			t[r] |= c
		}
	}
}

func highClass(r rune) runeClass {
	switch {
	case r >= 0x1F000 && r <= 0x1FAFF:
		return pictograph
	case r >= 0x20000 && r <= 0x3FFFD:
		return variable
	case r >= 0xE0000 && r <= 0xE0FFF, r >= 0x1BCA0 && r <= 0x1BCA3,
		r >= 0x1D173 && r <= 0x1D17A, r&0xFFFE == 0xFFFE:
		return hidden
	case unicode.Is(unicode.Mn, r):
		return combining
	default:
		return 0
	}
}

// lookalikes lists, for an ASCII character, the characters other than its
// full-width form that stand for it in a forged tag.
var lookalikes = [...]struct {
	ascii byte
	alike string
}{
	{'<', "\u2039\u2329\u276C\u276E\u2770\u27E8\u29FC\u3008\u300A\uFE3F\uFE64\u02C2\u1438"},
	{'>', "\u203A\u232A\u276D\u276F\u2771\u27E9\u29FD\u3009\u300B\uFE40\uFE65\u02C3\u1433"},
	{'|', "\u01C0\u2223\u2502\u23D0\u2758\uFFE8"},
	{'/', "\u2044\u2215\u29F8"},
	{':', "\u2236\uFE55\uA789"},
	{'_', "\u2581"},
}

// lookalikeASCII returns the ASCII character that an alike character stands
// for.
func lookalikeASCII(r rune) byte {
	if r >= 0xFF01 && r <= 0xFF5E {
		return byte(r - 0xFEE0)
	}
	for _, x := range lookalikes {
		if strings.ContainsRune(x.alike, r) {
			return x.ascii
		}
	}
	return 0
}

// decodeRune decodes the character at i, for loops that have ruled out ASCII.
// The common sequences of two and three bytes are read without a call.
func decodeRune(s string, i int) (rune, int) {
	if i+2 < len(s) {
		a, b, c := s[i], s[i+1], s[i+2]
		switch {
		case a-0xC2 < 0xE0-0xC2 && b&0xC0 == 0x80:
			return rune(a&0x1F)<<6 | rune(b&0x3F), 2
		case a-0xE1 < 0xF0-0xE1 && a != 0xED && b&0xC0 == 0x80 && c&0xC0 == 0x80:
			return rune(a&0x0F)<<12 | rune(b&0x3F)<<6 | rune(c&0x3F), 3
		}
	}
	return utf8.DecodeRuneInString(s[i:])
}

func isAlnum(b byte) bool {
	return b-'0' < 10 || b|0x20-'a' < 26
}

func isWord(b byte) bool { return isAlnum(b) || b == '_' }

func isBase64(b byte) bool {
	return isAlnum(b) || b == '+' || b == '/' || b == '-' || b == '_'
}

func isUpper(b byte) bool { return b-'A' < 26 }

func isLower(b byte) bool { return b-'a' < 26 }

func isDigit(b byte) bool { return b-'0' < 10 }

// hexValue returns the value of a hexadecimal digit, 16 for anything else.
func hexValue(b byte) byte {
	switch {
	case b-'0' < 10:
		return b - '0'
	case b|0x20-'a' < 6:
		return b | 0x20 - 'a' + 10
	default:
		return 16
	}
}
