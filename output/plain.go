package output

import (
	"strings"
	"unicode/utf8"
)

// maxCombining bounds a run of combining marks. The longest that an
// orthography uses are Tibetan and Biblical Hebrew stacks of six.
const maxCombining = 8

// replacement is what an invalid byte sequence becomes.
const replacement = "\uFFFD"

// stops marks the bytes that the fast loop of toPlainText cannot pass over:
// everything but printable ASCII, tab and line feed.
var stops = func() (t [256]uint8) {
	for b := range t {
		if (b < 0x20 && b != '\n' && b != '\t') || b >= 0x7F {
			t[b] = 1
		}
	}
	return t
}()

// asciiRun returns the index of the first byte from i on that needs a look,
// len(s) when there is none.
func asciiRun(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		if stops[w[0]]|stops[w[1]]|stops[w[2]]|stops[w[3]]|
			stops[w[4]]|stops[w[5]]|stops[w[6]]|stops[w[7]] != 0 {
			break
		}
	}
	for i < len(s) && stops[s[i]] == 0 {
		i++
	}
	return i
}

// toPlainText returns s as valid UTF-8 without terminal escapes, control and
// invisible characters. It is idempotent and returns s itself when there is
// nothing to do.
func toPlainText(s string) string {
	i := asciiRun(s, 0)
	if i == len(s) {
		return s
	}
	p := plainPass{s: s, classes: basicPlane()}
	return p.cleanFrom(i)
}

// plainPass is the state of one pass of toPlainText.
type plainPass struct {
	s       string
	classes *classTable
	// out is the text so far, up to the byte at from; nil while nothing has
	// changed.
	out  []byte
	from int
	// prev is the last character kept, marks the length of the run of
	// combining marks that it ends.
	prev  rune
	marks int
	// invalid is the end of the last invalid sequence, -1 before the first.
	invalid int
	// open and lineOpen are the indices up to which no control string has
	// an end: in the whole text, and on the line for raw bytes.
	open, lineOpen int
	// spans are parts of the result that get their places in s, nil for none;
	// starts and ends say how many have theirs.
	spans        []markedSpan
	starts, ends int
}

// cleanFrom cleans the text from i on; what lies before is printable ASCII.
func (p *plainPass) cleanFrom(i int) string {
	p.invalid = -1
	if i > 0 {
		p.prev = rune(p.s[i-1])
	}
	for i < len(p.s) {
		b := p.s[i]
		switch {
		case stops[b] == 0:
			i = asciiRun(p.s, i)
			p.prev, p.marks = rune(p.s[i-1]), 0
		case b < utf8.RuneSelf:
			i = p.handleControl(i, b)
		default:
			if end := p.skipOrdinary(i); end > i {
				i = end
				continue
			}
			i = p.handleWide(i)
		}
	}
	if p.out == nil && p.from == 0 {
		return p.s
	}
	return string(append(p.out, p.s[p.from:]...))
}

// skipOrdinary returns the index after the characters at i that stay as they
// are wherever they stand: those of scripts, with printable ASCII in between.
func (p *plainPass) skipOrdinary(i int) int {
	const special = hidden | lineBreak | combining
	s, start, prev := p.s, i, p.prev
	for i+3 < len(s) {
		a, b, c := s[i], s[i+1], s[i+2]
		var r rune
		var n int
		switch {
		case a < utf8.RuneSelf:
			if stops[a] != 0 {
				return p.passTo(start, i, prev)
			}
			prev = rune(a)
			i++
			continue
		case a-0xC2 < 0xE0-0xC2 && b&0xC0 == 0x80:
			r, n = rune(a&0x1F)<<6|rune(b&0x3F), 2
		case a-0xE1 < 0xF0-0xE1 && a != 0xED && b&0xC0 == 0x80 && c&0xC0 == 0x80:
			r, n = rune(a&0x0F)<<12|rune(b&0x3F)<<6|rune(c&0x3F), 3
		case a == 0xF0 && b == 0x9F && c-0x80 < 0x2C && s[i+3]&0xC0 == 0x80:
			// U+1F000 to U+1FAFF are all pictographs.
			prev = 0x1F000 | rune(c&0x3F)<<6 | rune(s[i+3]&0x3F)
			i += 4
			continue
		default:
			return p.passTo(start, i, prev)
		}
		if p.classes[r&0xFFFF]&special != 0 && !p.joinsPictographs(r, prev, i+n) {
			return p.passTo(start, i, prev)
		}
		prev = r
		i += n
	}
	return p.passTo(start, i, prev)
}

// joinsPictographs reports whether r, which ends at i, is a joiner between two
// pictographs of the higher planes, or the variation selector of one: the common
// cases of what neededLength says.
func (p *plainPass) joinsPictographs(r, prev rune, i int) bool {
	switch r {
	case 0x200D:
		return prev-0x1F000 < 0xB00 && prev >= 0x1F000 && i+2 < len(p.s) && p.s[i] == 0xF0 && p.s[i+1] == 0x9F && p.s[i+2]-0x80 < 0x2C
	case 0xFE0F:
		return p.classes.classOf(prev)&(pictograph|hidden) == pictograph
	default:
		return false
	}
}

// passTo notes that the text from start to end stays and ends with a character,
// and returns end.
func (p *plainPass) passTo(start, end int, last rune) int {
	if end > start {
		p.prev, p.marks = last, 0
	}
	return end
}

// replaceBytes replaces the bytes from i to end by with.
func (p *plainPass) replaceBytes(i, end int, with string) int {
	if p.out == nil {
		p.out = make([]byte, 0, len(p.s))
	}
	p.out = append(p.out, p.s[p.from:i]...)
	if p.spans != nil {
		p.placeSpans(i, end, len(with))
	}
	p.out = append(p.out, with...)
	p.from = end
	if with != "" {
		p.prev, _ = utf8.DecodeRuneInString(with)
		p.marks = 0
	}
	return end
}

func (p *plainPass) handleControl(i int, b byte) int {
	switch {
	case b == '\r' && i+1 < len(p.s) && p.s[i+1] == '\n':
		p.prev, p.marks = '\r', 0
		return i + 1
	case b == '\r':
		return p.replaceBytes(i, i+1, "\n")
	case b == escape:
		return p.replaceBytes(i, p.sequenceEnd(i), "")
	default:
		return p.replaceBytes(i, i+1, "")
	}
}

func (p *plainPass) handleWide(i int) int {
	r, n := decodeRune(p.s, i)
	if r == utf8.RuneError && n == 1 {
		return p.handleInvalid(i)
	}
	c := p.classes.classOf(r)
	switch {
	case c&(hidden|lineBreak|combining) == 0:
		p.prev, p.marks = r, 0
		return i + n
	case c&lineBreak != 0:
		return p.replaceBytes(i, i+n, "\n")
	case c&hidden == 0:
		if p.marks++; p.marks > maxCombining {
			return p.replaceBytes(i, i+n, "")
		}
		p.prev = r
		return i + n
	case r < 0xA0:
		return p.replaceBytes(i, p.bodyEnd(byte(r)-0x40, i+n), "")
	}
	if k := p.neededLength(r, i+n); k > 0 {
		p.prev = r
		return i + n + k - 1
	}
	return p.replaceBytes(i, i+n, "")
}

// handleInvalid handles a byte that is not UTF-8: an 8-bit control of a
// terminal that opens a sequence goes with it, any run of other bytes becomes
// one replacement character.
func (p *plainPass) handleInvalid(i int) int {
	b := p.s[i]
	fresh := p.invalid != i
	if fresh {
		if end := p.rawEnd(i, b); end > i {
			return p.replaceBytes(i, end, "")
		}
	}
	p.invalid = i + 1
	if fresh {
		return p.replaceBytes(i, i+1, replacement)
	}
	return p.replaceBytes(i, i+1, "")
}

// neededLength says how much of a hidden character and what follows belongs
// where it stands: 0 for nothing, else one more than the number of bytes
// after the character r, which begin at rest, that belong to it.
func (p *plainPass) neededLength(r rune, rest int) int {
	c := p.classes.classOf(p.prev)
	keep := false
	switch {
	case r == 0x200D:
		keep = c&joining != 0 || (c&pictograph != 0 || p.prev == 0xFE0F) && p.nextClass(rest)&pictograph != 0
	case r == 0x200C:
		keep = c&joining != 0
	case r == 0xFE0E || r == 0xFE0F:
		keycap := isDigit(byte(p.prev)) || p.prev == '#' || p.prev == '*'
		keep = c&pictograph != 0 || p.prev < 0x80 && keycap && strings.HasPrefix(p.s[rest:], "\u20E3")
	case r >= 0xFE00 && r <= 0xFE02, r >= 0xE0100 && r <= 0xE01EF:
		keep = c&variable != 0
	case r >= 0x180B && r <= 0x180D, r == 0x180F:
		keep = p.prev >= 0x1800 && p.prev <= 0x18AF && c&hidden == 0
	case r >= 0xE0020 && r < 0xE007F && p.prev == 0x1F3F4:
		return p.flagLength(rest)
	}
	if keep && c&hidden == 0 || keep && p.prev == 0xFE0F {
		return 1
	}
	return 0
}

func (p *plainPass) nextClass(i int) runeClass {
	if i >= len(p.s) {
		return 0
	}
	r, _ := decodeRune(p.s, i)
	return p.classes.classOf(r)
}

// flagLength recognises the three flags of emoji-sequences.txt that are
// spelled with tag characters: England, Scotland and Wales. Any other run of
// them is a hidden message. The first tag, U+E0067, has been read.
func (p *plainPass) flagLength(rest int) int {
	for _, tail := range [...]string{
		"\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
		"\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
		"\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
	} {
		if strings.HasPrefix(p.s[rest-4:], "\U000E0067"+tail) {
			return 1 + len(tail)
		}
	}
	return 0
}
