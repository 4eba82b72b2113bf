// Package spelling is the one table of the ways in which a character of a secret
// may be written. The proxy of children searches answers for them, and what
// cleans results is held to the same table by its tests.
package spelling

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Ways returns the ways in which one character is written: as it is; with a
// backslash (RFC 8259, section 7); in percent (RFC 3986, section 2.1), a blank
// also as in forms; as a reference of HTML, with zeros that PHP adds;
// in full width (Unicode, block FF00).
func Ways(c string) []string {
	ways := []string{c}
	both := func(format string, a any) {
		ways = append(ways, fmt.Sprintf(strings.ReplaceAll(format, "X", "x"), a), fmt.Sprintf(format, a))
	}
	percent := ""
	for i := range len(c) {
		percent += fmt.Sprintf("%%%02X", c[i])
	}
	ways = append(ways, percent, strings.ToLower(percent))
	r, _ := utf8.DecodeRuneInString(c)
	if r == utf8.RuneError {
		return ways
	}
	units := utf16.Encode([]rune{r})
	lower, upper := "", ""
	for _, u := range units {
		lower, upper = lower+fmt.Sprintf(`\u%04x`, u), upper+fmt.Sprintf(`\u%04X`, u)
	}
	ways = append(ways, lower, upper)
	for _, format := range []string{"%X;", "%02X;", "%04X;"} {
		both("&#x"+format, r)
	}
	for _, format := range []string{"&#%d;", "&#%03d;"} {
		ways = append(ways, fmt.Sprintf(format, r))
	}
	switch c {
	case `"`, `\`, "/", "'":
		ways = append(ways, `\`+c)
	case " ":
		ways = append(ways, "+")
	}
	for _, n := range names {
		if string(n.r) == c {
			ways = append(ways, "&"+n.name+";")
		}
	}
	if r > ' ' && r < 0x7f {
		ways = append(ways, string(r+0xFEE0)) // its full-width form
	}
	slices.Sort(ways)
	return slices.Compact(ways)
}

// names lists the named references of HTML to printable ASCII characters and the
// blank (HTML, section 13.5).
var names = [...]struct {
	name string
	r    rune
}{
	{"quot", '"'},
	{"apos", '\''},
	{"amp", '&'},
	{"lt", '<'},
	{"gt", '>'},
	{"nbsp", ' '},
	{"excl", '!'},
	{"num", '#'},
	{"dollar", '$'},
	{"percnt", '%'},
	{"lpar", '('},
	{"rpar", ')'},
	{"ast", '*'},
	{"plus", '+'},
	{"comma", ','},
	{"period", '.'},
	{"sol", '/'},
	{"colon", ':'},
	{"semi", ';'},
	{"equals", '='},
	{"quest", '?'},
	{"commat", '@'},
	{"lbrack", '['},
	{"lsqb", '['},
	{"bsol", '\\'},
	{"rbrack", ']'},
	{"rsqb", ']'},
	{"Hat", '^'},
	{"lowbar", '_'},
	{"grave", '`'},
	{"lbrace", '{'},
	{"lcub", '{'},
	{"vert", '|'},
	{"verbar", '|'},
	{"rbrace", '}'},
	{"rcub", '}'},
	{"QUOT", '"'},
	{"AMP", '&'},
	{"LT", '<'},
	{"GT", '>'},
}

// Named returns the character of a named reference, -1 when the table has none.
func Named(name string) rune {
	for _, n := range names {
		if n.name == name {
			return n.r
		}
	}
	return -1
}

// UnescapePercent undoes the percent escapes of a text and leaves what is none, as
// lenient servers do.
func UnescapePercent(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if b, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				out.Write(b)
				i += 2
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
