package modelformat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/digest"
)

// maxName is the longest name that all of them take. Anthropic and newer
// versions of Gemini take 128 characters.
const maxName = 64

// nameDigits is how many digits of a digest tell a name apart.
const nameDigits = 8

// Fits reports whether a name is one that a dialect takes: letters, digits, "_"
// and "-", and for Gemini a letter or "_" to begin with. MCP takes dots too.
func (d Dialect) Fits(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r > '~' || !d.allowsNameByte(byte(r)) }) {
		return false
	}
	return d != Gemini || isLetter(name[0]) || name[0] == '_'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func (d Dialect) allowsNameByte(c byte) bool {
	switch {
	case isLetter(c), '0' <= c && c <= '9', c == '_', c == '-':
		return true
	default:
		return d == MCP && c == '.' || d == Gemini && (c == '.' || c == ':')
	}
}

// fitNames maps names to such as fit, each to another, and depends on nothing but
// the set of names. A name that fits stays. Another is made to fit, and ends in
// "_" and digits of the digest of the whole, more of them while that is taken.
func (d Dialect) fitNames(originals []string) []string {
	taken, mapped := map[string]bool{}, map[string]string{}
	for _, name := range originals {
		if d.Fits(name) {
			taken[name], mapped[name] = true, name
		}
	}
	sorted := slices.Clone(originals)
	slices.Sort(sorted)
	for _, name := range slices.Compact(sorted) {
		if mapped[name] != "" {
			continue
		}
		for try := 0; ; try++ {
			if candidate := d.fitName(name, try); !taken[candidate] {
				taken[candidate], mapped[name] = true, candidate
				break
			}
		}
	}
	out := make([]string, len(originals))
	for i, name := range originals {
		out[i] = mapped[name]
	}
	return out
}

// fitName returns the name that fits, at one of many tries.
func (d Dialect) fitName(name string, try int) string {
	of := name
	if try > 0 {
		of += "\x00" + strconv.Itoa(try)
	}
	end := "_" + digest.Text(of)[:nameDigits]
	var b strings.Builder
	if d == Gemini && (name == "" || !isLetter(name[0]) && name[0] != '_') {
		b.WriteByte('_')
	}
	for i := range len(name) {
		if b.Len() == maxName-len(end) {
			break
		}
		if d.allowsNameByte(name[i]) {
			b.WriteByte(name[i])
		} else {
			b.WriteByte('_')
		}
	}
	return b.String() + end
}
