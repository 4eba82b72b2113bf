package output

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// mark says what replaces a span. A lower mark wins where spans overlap,
// because it says more.
type mark uint16

const (
	markSecret mark = iota
	markKey
	markJWT
	markTemplate
	markBasic
	markBearer
	markURL
	markValue
	// markFormat plus an index is a row of formats.
	markFormat
)

var markTexts = [markFormat]string{
	markSecret:   "[REDACTED:secret]",
	markKey:      "[REDACTED:private-key]",
	markJWT:      "[REDACTED:jwt]",
	markTemplate: "[STRIPPED-TEMPLATE-TOKEN]",
	markBasic:    "[REDACTED:basic-auth]",
	markBearer:   "[REDACTED:bearer-token]",
	markURL:      "[REDACTED:url-password]",
	markValue:    "[REDACTED:credential]",
}

func (m mark) String() string {
	if m < markFormat {
		return markTexts[m]
	}
	return formats[m-markFormat].marker
}

// isWeaker reports whether m says less than o about the same text.
func (m mark) isWeaker(o mark) bool {
	rank := func(m mark) int {
		switch {
		case m == markSecret:
			return 0
		case m >= markFormat:
			return 1
		default:
			return 1 + int(m)
		}
	}
	return rank(m) > rank(o)
}

// markedSpan is a part of a text that is to be replaced by a marker.
type markedSpan struct {
	start, end int
	mark       mark
}

// sweeper is the state of one sweep.
type sweeper struct {
	c       *Cleaner
	s       string
	classes *classTable
	spans   []markedSpan
	// covered holds for each rule the end of its last span: nothing that
	// begins inside needs another look.
	covered [rules]int
}

// findSpans returns what has to be replaced in s, which is plain text, in
// order and without overlap.
func (c *Cleaner) findSpans(s string) []markedSpan {
	w := sweeper{c: c, s: s}
	var (
		v    uint64
		sym  symbol
		hits = &c.index.bits
	)
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf {
			sym = symbols[b]
			i++
		} else {
			if w.classes == nil {
				w.classes = basicPlane()
			}
			r, n := decodeRune(s, i)
			sym = wideSymbol(r, w.classes.classOf(r))
			i += n
		}
		v = v<<(sym>>8&63) | uint64(sym&63)
		key := v & keyMask
		if hits[key/64]>>(key%64)&1 != 0 && sym != 0 {
			w.checkAnchors(v, key, i)
		}
	}
	w.sweepEscaped()
	return mergeSpans(w.spans)
}

// checkAnchors checks the anchors that end before end.
func (w *sweeper) checkAnchors(v, key uint64, end int) {
	bucket := w.c.index.anchorsOf(key)
	for i := range bucket {
		if a := &bucket[i]; v&a.mask == a.code {
			w.checkAnchor(a, end)
		}
	}
}

// checkAnchor checks the text around an anchor and notes what has to go.
func (w *sweeper) checkAnchor(a *anchor, end int) {
	switch a.rule {
	case ruleForm:
		w.matchForm(int(a.arg), w.symbolStart(end, int(a.size)))
		return
	case ruleTag, ruleBracket:
		w.applyRule(a.rule, w.symbolStart(end, int(a.size)), 0)
		return
	}
	if end <= w.covered[a.rule] {
		return
	}
	w.applyRule(a.rule, end, int(a.arg))
}

// finders look for what the static rules are about, at the place of an anchor;
// arg is that of the anchor.
var finders = [rules]func(s string, at, arg int) (markedSpan, bool){
	ruleFormat: findFormat, ruleName: findValue, ruleURL: findPassword, ruleBearer: findBearer, ruleBasic: findBasic,
	rulePEM: findKey, ruleJWT: findJWT, ruleNetrc: findNetrc, ruleTag: findTag, ruleBracket: findBracket,
	ruleChatMarker: findChatMarker, ruleLiteral: findLiteral,
}

func (w *sweeper) applyRule(r anchorRule, at, arg int) {
	if x, ok := finders[r](w.s, at, arg); ok {
		w.addSpan(x)
		w.covered[r] = x.end
	}
}

// addSpan adds a span, joined with the last one where they are the same.
func (w *sweeper) addSpan(x markedSpan) {
	if n := len(w.spans); n > 0 {
		l := &w.spans[n-1]
		if x.start >= l.start && x.end <= l.end && !l.mark.isWeaker(x.mark) {
			return
		}
	}
	w.spans = append(w.spans, x)
}

// symbolStart returns the start of the symbol that is size symbols before end.
func (w *sweeper) symbolStart(end, size int) int {
	for size > 0 {
		if b := w.s[end-1]; b < utf8.RuneSelf {
			end--
			if symbols[b] != 0 {
				size--
			}
			continue
		}
		r, n := utf8.DecodeLastRuneInString(w.s[:end])
		end -= n
		if wideSymbol(r, basicPlane().classOf(r)) != 0 {
			size--
		}
	}
	return end
}

func mergeSpans(spans []markedSpan) []markedSpan {
	if len(spans) < 2 {
		return spans
	}
	byStart := func(a, b markedSpan) int { return cmp.Compare(a.start, b.start) }
	if !slices.IsSortedFunc(spans, byStart) {
		slices.SortStableFunc(spans, byStart)
	}
	n := 0
	for _, x := range spans[1:] {
		l := &spans[n]
		if x.start >= l.end {
			n++
			spans[n] = x
			continue
		}
		l.end = max(l.end, x.end)
		if l.mark.isWeaker(x.mark) {
			l.mark = x.mark
		}
	}
	return spans[:n+1]
}

// replaceSpans writes s with a marker in place of each span.
func replaceSpans(s string, spans []markedSpan) string {
	size := len(s)
	for _, x := range spans {
		size += len(x.mark.String()) - (x.end - x.start)
	}
	out := make([]byte, 0, size)
	from := 0
	for _, x := range spans {
		out = append(append(out, s[from:x.start]...), x.mark.String()...)
		from = x.end
	}
	return string(append(out, s[from:]...))
}
