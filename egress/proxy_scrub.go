package egress

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/spelling"
)

// formsOf returns the texts in which a server usually repeats a value: as it
// is, escaped for JSON, HTML and URLs, in base64 (standard and URL, at each of
// three offsets) and in hexadecimal. What is escaped in part or otherwise is
// found by [escapedValue].
func formsOf(value string) []string {
	quoted, _ := json.Marshal(value) // strings always marshal
	forms := []string{
		value, string(quoted[1 : len(quoted)-1]), html.EscapeString(value),
		url.QueryEscape(value), url.PathEscape(value),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	for offset := range 3 {
		padded := append(make([]byte, offset), value...)
		// The digits that only the value decides: those whose six bits all
		// lie behind the first 8*offset bits and before the end.
		first, last := (8*offset+5)/6, 8*len(padded)/6
		for _, e := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			forms = append(forms, e.EncodeToString(padded)[first:last])
		}
	}
	return forms
}

// readingsOf returns a value and what servers make of it that decode a header or
// cookie: as in a form or a URL (PHP and Express do so with cookies, object
// stores with fields), and as Latin-1 (WSGI, Node.js).
func readingsOf(value string) []string {
	readings := []string{value}
	add := func(reading string) {
		if len(reading) >= reach.MinSecretBytes && !slices.Contains(readings, reading) {
			readings = append(readings, reading)
		}
	}
	add(strings.ReplaceAll(value, "+", " "))
	for _, r := range slices.Clone(readings) {
		add(spelling.UnescapePercent(r))
	}
	latin := []rune{}
	for i := range len(value) {
		latin = append(latin, rune(value[i]))
	}
	add(string(latin))
	return readings
}

// scrubBody returns a body without the values. It passes on what it has, except
// for an end that may be the beginning of a value.
func (s *hostSwap) scrubBody(r io.Reader) io.Reader {
	n := len(s.back) + len(s.spelt)
	return &scrubber{src: r, pairs: s.back, spelt: s.spelt, next: make([]int, n), size: make([]int, n)}
}

// scrubber replaces in a stream.
type scrubber struct {
	src   io.Reader
	pairs []textPair
	spelt []*escapedValue
	next  []int  // where each pair, and then each spelling, occurs next in held
	size  []int  // how long it is there
	held  []byte // read, not yet judged
	out   []byte // judged, not yet handed over
	buf   [copyBuffer]byte
	err   error
	stop  error // with which the stream ends at the first occurrence, nil for none
}

func (s *scrubber) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		n, err := s.src.Read(s.buf[:])
		s.held = append(s.held, s.buf[:n]...)
		s.err = err
		s.flushClean()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// flushClean moves from held to out what is known to be free of values.
func (s *scrubber) flushClean() {
	s.out = s.out[:0]
	for i := range s.next {
		s.next[i] = -1
	}
	pos := 0
	for {
		at, which := s.findNext(pos)
		if which < 0 {
			break
		}
		s.out = append(s.out, s.held[pos:at]...)
		if s.stop != nil {
			s.err, s.held = s.stop, nil
			return
		}
		s.out = append(s.out, s.standIn(which)...)
		pos = at + s.size[which]
	}
	rest := s.held[pos:]
	keep := 0
	if s.err != io.EOF {
		// A connection that breaks inside of a value must not show its
		// beginning: what is held then is lost.
		keep = s.unfinishedMatch(rest)
	}
	s.out = append(s.out, rest[:len(rest)-keep]...)
	s.held = append(s.held[:0], rest[len(rest)-keep:]...)
}

// findNext returns the first occurrence at or behind pos, the longest where two
// begin together; which is -1 when there is none. Places are remembered, so
// that a body full of one value is not searched again for the others.
func (s *scrubber) findNext(pos int) (at, which int) {
	at, which = len(s.held), -1
	for i := range s.next {
		if s.next[i] < pos {
			s.next[i], s.size[i] = s.searchFrom(i, pos)
		}
		n := s.next[i]
		if n < at || n == at && which >= 0 && s.size[i] > s.size[which] {
			at, which = n, i
		}
	}
	return at, which
}

// searchFrom returns where a pair or spelling occurs at or behind pos, the end of
// held when it does not.
func (s *scrubber) searchFrom(i, pos int) (at, size int) {
	if i >= len(s.pairs) {
		at, size = s.spelt[i-len(s.pairs)].findFirst(s.held[pos:])
		return pos + at, size
	}
	from := s.pairs[i].from
	if n := bytes.Index(s.held[pos:], []byte(from)); n >= 0 {
		return pos + n, len(from)
	}
	return len(s.held), 0
}

// standIn returns what takes the place of a pair or spelling.
func (s *scrubber) standIn(i int) string {
	if i >= len(s.pairs) {
		return s.spelt[i-len(s.pairs)].to
	}
	return s.pairs[i].to
}

// unfinishedMatch returns the length of the longest end of b that begins a value.
func (s *scrubber) unfinishedMatch(b []byte) int {
	longest := 0
	for _, p := range s.spelt {
		longest = max(longest, p.unfinishedMatch(b))
	}
	for _, p := range s.pairs {
		start := max(0, len(b)-len(p.from)+1)
		for start < len(b)-longest {
			n := bytes.IndexByte(b[start:], p.from[0])
			if n < 0 {
				break
			}
			start += n
			if strings.HasPrefix(p.from, string(b[start:])) {
				longest = max(longest, len(b)-start)
				break
			}
			start++
		}
	}
	return longest
}
