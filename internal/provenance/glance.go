package provenance

import (
	"strings"
	"unicode/utf8"
)

// A glance is what one look at a value says that it surely lacks.
type glance struct {
	text   bool // neither the whole of it nor a run of it is in the memory
	places bool // it names no place
	codes  bool // no character of it is written as a code
}

// maxGlanced bounds the memories for which a value is looked at before it is folded: with
// many, one of them seems to have some of it.
const maxGlanced = 8

// glanceAt looks once at a value, which is a place or a free text and of which it is known
// what its bytes stand for. It is sure of little in one that is not ASCII.
func (s *search) glanceAt(value string, seen marks, free bool) glance {
	lacks := glance{codes: seen&hasCode == 0}
	if free && seen&isRune == 0 {
		lacks.text = s.lacksText(value)
		lacks.places = seen&ofEntity == 0 || seen&ofEntity == hasStop && onlyEndsWords(value)
	}
	return lacks
}

// lacksText reports whether no memory has the whole of a text of ASCII or a run of it, as
// far as a glance can tell.
func (s *search) lacksText(value string) bool {
	if len(s.views) > maxGlanced {
		return false
	}
	for i := range s.views {
		if v := &s.views[i]; v.past != nil || !v.lacksText(value) {
			return false
		}
	}
	return true
}

// onlyEndsWords reports whether each mark of a text of ASCII that also ends a sentence stands
// at the end of a word.
func onlyEndsWords(text string) bool {
	for _, stop := range [...]byte{'.', ':'} {
		for rest := text; ; {
			at := strings.IndexByte(rest, stop) + 1
			if at == 0 || at == len(rest) {
				break
			}
			if classes[rest[at]]&betweenWords == 0 {
				return false
			}
			rest = rest[at:]
		}
	}
	return true
}

// lacksText reports whether neither the whole of a text of ASCII, when it is folded, nor a run
// of it is in the index, as far as the filter can tell. Nothing of the text is folded but the
// grams that decide: of a short text all until one is not known, of a long one those of which
// the whole and each run has one.
func (x *corpus) lacksText(text string) bool {
	if len(text) < runLength {
		return x.lacksGram(text, false)
	}
	for at := 0; at < len(text); at += runStep { // no further apart when it is folded
		if !x.lacksGram(text[at:], true) {
			return false
		}
	}
	return true
}

// lacksGram reports whether the folded form of a text of ASCII has a gram that the filter does
// not know, or none: with first, whether that is the first one.
func (x *corpus) lacksGram(text string, first bool) bool {
	gram, n := uint64(0), 0
	for i := range len(text) {
		c := foldedASCII[text[i]&(utf8.RuneSelf-1)]
		if c == 0 {
			continue
		}
		gram = gram>>8 | uint64(c)<<56
		if n++; n < gramSize {
			continue
		}
		if !x.mayHaveGram(gram) {
			return true
		}
		if first {
			return false
		}
	}
	return n < gramSize
}
