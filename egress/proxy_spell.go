package egress

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/spelling"
)

// escapedValue finds a value in which each character may be escaped for JSON,
// HTML or a URL, or not: encoders differ in which ones they escape and in the
// case of the digits, so that a list of whole texts would miss most of them.
type escapedValue struct {
	units [][]string // the ways in which each character is written
	first [256]bool  // the bytes with which the value may begin
	to    string
}

func newEscapedValue(value, to string) *escapedValue {
	s := &escapedValue{to: to}
	for len(value) > 0 {
		_, size := utf8.DecodeRuneInString(value)
		s.units = append(s.units, spelling.Ways(value[:size]))
		value = value[size:]
	}
	for _, way := range s.units[0] {
		s.first[way[0]] = true
	}
	return s
}

// matchPrefix returns the length of the longest spelling at the head of b, 0 when
// there is none; more says that b ends where one might go on.
func (s *escapedValue) matchPrefix(b []byte) (n int, more bool) {
	ends := []int{0}
	for _, ways := range s.units {
		var next []int
		for _, at := range ends {
			rest := b[at:]
			for _, way := range ways {
				switch {
				case len(rest) >= len(way) && string(rest[:len(way)]) == way:
					if !slices.Contains(next, at+len(way)) {
						next = append(next, at+len(way))
					}
				case len(rest) < len(way) && way[:len(rest)] == string(rest):
					more = true
				}
			}
		}
		if ends = next; len(ends) == 0 {
			return 0, more
		}
	}
	return slices.Max(ends), more
}

// findFirst returns the first spelling in b, len(b) and 0 when there is none.
func (s *escapedValue) findFirst(b []byte) (at, n int) {
	for at = range b {
		if s.first[b[at]] {
			if n, _ = s.matchPrefix(b[at:]); n > 0 {
				return at, n
			}
		}
	}
	return len(b), 0
}

// unfinishedMatch returns the length of the longest end of b that begins a spelling.
func (s *escapedValue) unfinishedMatch(b []byte) int {
	// Nothing further back could be unfinished.
	from := max(0, len(b)-len(s.units)*s.longestEscape())
	for i := from; i < len(b); i++ {
		if s.first[b[i]] {
			if _, more := s.matchPrefix(b[i:]); more {
				return len(b) - i
			}
		}
	}
	return 0
}

func (s *escapedValue) longestEscape() int {
	n := 0
	for _, ways := range s.units {
		for _, way := range ways {
			n = max(n, len(way))
		}
	}
	return n
}

// replaceAll returns text without the spellings.
func (s *escapedValue) replaceAll(text string) string {
	b := []byte(text)
	var out bytes.Buffer
	for {
		at, n := s.findFirst(b)
		out.Write(b[:at])
		if n == 0 {
			return out.String()
		}
		out.WriteString(s.to)
		b = b[at+n:]
	}
}
