package provenance

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sallyport/sallyport"
)

// The work of a search is counted in looks at the filter of a memory, each of which takes
// some nanoseconds.
const (
	// MaxWork bounds the work for all values of a reading. A value that was not looked for
	// counts as one that was read.
	MaxWork = 1 << 26
	// lookEvery is the work between two looks at whether the call has ended.
	lookEvery = 1 << 16
	// heldWork is the work of asking whether a piece is held, foldWork that of folding a
	// byte which is not ASCII, and textStep the bytes of a memory for which one is counted.
	heldWork, foldWork, textStep = 1 << 8, 2, 64
	// foldStep is how much of a text is folded between two looks, in bytes.
	foldStep = 1 << 14
)

// spendWork counts work. From time to time it looks whether the call has ended.
func (s *search) spendWork(work int) {
	if s.work += work; s.work >= s.look {
		s.lookAround()
	}
}

// lookAround looks whether the call has ended, and whether too much was looked for.
func (s *search) lookAround() {
	s.look = min(s.work+lookEvery, MaxWork)
	if s.err == nil {
		s.err = s.ended()
	}
	if s.work >= MaxWork {
		s.Unknown = true
	}
}

// isStopped reports whether the search is to end at once.
func (s *search) isStopped() bool { return s.err != nil || s.work >= MaxWork }

// makeCanonical is [Canonical] for a value of which it is known what its bytes, or those of the
// text that it is a part of, stand for. It is empty once the search is stopped.
func (s *search) makeCanonical(kind sallyport.ValueKind, value string, seen marks) string {
	if seen&isRune != 0 && len(value) > foldStep {
		value = s.mapPieces(norm.NFKD, value, Fold)
		seen &^= hasFold
	}
	return canonicalSeen(kind, value, seen)
}

// makePlain is plainText, of a long text in pieces.
func (s *search) makePlain(value string) string {
	if len(value) > foldStep {
		return s.mapPieces(norm.NFKC, value, plainText)
	}
	return plainText(value)
}

// mapPieces brings a text into another form, piece by piece: some characters of Unicode
// stand for many.
func (s *search) mapPieces(form norm.Form, text string, change func(string) string) string {
	var b strings.Builder
	for text != "" && !s.isStopped() {
		n := endOfPiece(form, text)
		piece := change(text[:n])
		b.WriteString(piece)
		s.spendWork(foldWork * len(piece))
		text = text[n:]
	}
	if s.isStopped() {
		return ""
	}
	return b.String()
}

// endOfPiece returns how much of a text can be brought into a form by itself: what follows
// begins with a character that does not combine with those before. Where there is none for
// long, it ends anyway.
func endOfPiece(form norm.Form, text string) int {
	for at := foldStep; at < len(text); {
		p := form.PropertiesString(text[at:])
		if utf8.RuneStart(text[at]) && (p.BoundaryBefore() || at >= 2*foldStep) {
			return at
		}
		at++
	}
	return len(text)
}
