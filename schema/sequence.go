package schema

import (
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A byteSequence matches what a pattern of ASCII matches that begins at the beginning of a
// text and leaves nothing to choose: one byte after the other, without a machine of states.
type byteSequence struct {
	steps []byteStep
	whole bool // nothing follows
}

// byteStep is a literal, or a number of bytes of a set.
type byteStep struct {
	literal string
	set     byteSet
	least   int
	most    int
}

// byteSet is a set of ASCII.
type byteSet [2]uint64

func (s *byteSet) has(c byte) bool { return c < utf8.RuneSelf && s[c/64]>>(c%64)&1 == 1 }

// sequenceOf returns the sequence that matches the same texts as an expression; nil when
// there is none.
func sequenceOf(tree *syntax.Regexp) *byteSequence {
	parts := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		parts = tree.Sub
	}
	if len(parts) == 0 || parts[0].Op != syntax.OpBeginText {
		return nil
	}
	s := new(byteSequence)
	for i, part := range parts[1:] {
		if part.Op == syntax.OpEndText && i == len(parts)-2 {
			s.whole = true
			break
		}
		step, ok := stepOf(part)
		if !ok || !s.addStep(step) {
			return nil
		}
	}
	return s
}

// addStep adds a step; false when it is not clear from the next byte where the one before it
// ends.
func (s *byteSequence) addStep(step byteStep) bool {
	if n := len(s.steps); n > 0 && s.steps[n-1].least < s.steps[n-1].most {
		before := &s.steps[n-1].set
		if step.least == 0 || before[0]&step.set[0] != 0 || before[1]&step.set[1] != 0 {
			return false
		}
	}
	s.steps = append(s.steps, step)
	return true
}

// stepOf returns the step for a part of an expression; its set holds the bytes with which it
// begins.
func stepOf(part *syntax.Regexp) (step byteStep, ok bool) {
	step = byteStep{least: 1, most: 1}
	switch part.Op {
	case syntax.OpLiteral:
		step.literal = string(part.Rune)
		return step, part.Flags&syntax.FoldCase == 0 && isASCII(part.Rune) && step.set.addRange(part.Rune[0], part.Rune[0])
	case syntax.OpCharClass:
		ok = len(part.Rune) > 0
		for i := 0; i < len(part.Rune) && ok; i += 2 {
			ok = step.set.addRange(part.Rune[i], part.Rune[i+1])
		}
		return step, ok
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
	default:
		return step, false
	}
	if step, ok = stepOf(part.Sub[0]); !ok || step.least != 1 || step.most != 1 || len(step.literal) > 1 {
		return step, false
	}
	step.literal, step.most = "", math.MaxInt
	switch part.Op {
	case syntax.OpStar:
		step.least = 0
	case syntax.OpQuest:
		step.least, step.most = 0, 1
	case syntax.OpRepeat:
		if step.least = part.Min; part.Max >= 0 {
			step.most = part.Max
		}
	}
	return step, true
}

func isASCII(text []rune) bool {
	return len(text) > 0 && !slices.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// addRange adds characters; false when one of them is not ASCII.
func (s *byteSet) addRange(low, high rune) bool {
	if high >= utf8.RuneSelf {
		return false
	}
	for c := low; c <= high; c++ {
		s[c/64] |= 1 << (c % 64)
	}
	return true
}

// matches reports whether the sequence matches a text.
func (s *byteSequence) matches(text string) bool {
	at := 0
	for i := range s.steps {
		step := &s.steps[i]
		if step.literal != "" {
			if !strings.HasPrefix(text[at:], step.literal) {
				return false
			}
			at += len(step.literal)
			continue
		}
		n, most := 0, min(step.most, len(text)-at)
		for n < most && step.set.has(text[at+n]) {
			n++
		}
		if n < step.least {
			return false
		}
		at += n
	}
	return !s.whole || at == len(text)
}
