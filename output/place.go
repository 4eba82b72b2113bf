package output

import "math"

// placePlain gives parts of the plain text of s, which are in order and without
// overlap, their places in s itself.
func placePlain(s string, spans []markedSpan) {
	if len(spans) == 0 {
		return
	}
	p := plainPass{s: s, classes: basicPlane(), spans: spans}
	p.cleanFrom(asciiRun(s, 0))
	p.out = append(p.out, s[p.from:]...)
	p.placeSpans(len(s), len(s), math.MaxInt-len(p.out))
}

// placeSpans places what begins or ends before the bytes from i to end, in
// whose place size bytes stand in the result, and what begins or ends there.
func (p *plainPass) placeSpans(i, end, size int) {
	at := len(p.out)
	for ; p.starts < len(p.spans) && p.spans[p.starts].start < at+size; p.starts++ {
		x := &p.spans[p.starts]
		x.start = i - max(0, at-x.start)
	}
	for ; p.ends < len(p.spans) && p.spans[p.ends].end <= at+size; p.ends++ {
		if x := &p.spans[p.ends]; x.end > at {
			x.end = end
		} else {
			x.end = i - (at - x.end)
		}
	}
}
