package terminal

import (
	"bytes"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// maxKept bounds the output that is kept whole, and so the file into
	// which a long one goes.
	maxKept = 16 << 20
	// maxTail is what is kept of the end beyond that: more than a result
	// can show.
	maxTail = resultChars * utf8.UTFMax
	// maxLine is what is shown of a line while the command runs.
	maxLine = 200
)

// outputCapture is an output: all of it up to maxKept, and the end. The zero value
// is empty. It is not safe for concurrent use.
type outputCapture struct {
	kept  []byte
	tail  []byte // what follows kept, its last bytes only
	total int64
	last  atomic.Pointer[string] // the last whole line; nil before it
}

// lastLine returns the last whole line. It may be called beside Write.
func (o *outputCapture) lastLine() string {
	if line := o.last.Load(); line != nil {
		return *line
	}
	return ""
}

// noteLine remembers the last line that ends in what is written.
func (o *outputCapture) noteLine(p []byte) {
	end := bytes.LastIndexByte(p, '\n')
	if end < 0 {
		return
	}
	line := p[bytes.LastIndexByte(p[:end], '\n')+1 : end]
	text := strings.ToValidUTF8(string(bytes.TrimSpace(line[:min(len(line), maxLine)])), "\ufffd")
	if text != "" {
		o.last.Store(&text)
	}
}

// Write takes everything and never fails.
func (o *outputCapture) Write(p []byte) (int, error) {
	n := len(p)
	o.noteLine(p)
	o.total += int64(n)
	if room := maxKept - len(o.kept); room > 0 {
		k := min(room, n)
		o.kept = append(o.kept, p[:k]...)
		p = p[k:]
	}
	if len(p) == 0 {
		return n, nil
	}
	// Twice the size, so that the copy costs a constant per byte.
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*maxTail {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-maxTail:]...)
	}
	return n, nil
}

// isCut reports whether more was written than is kept whole.
func (o *outputCapture) isCut() bool { return o.total > int64(len(o.kept)) }

// lastBytes returns the last n bytes, n at most maxTail.
func (o *outputCapture) lastBytes(n int) []byte {
	if len(o.tail) >= n {
		return o.tail[len(o.tail)-n:]
	}
	from := max(0, len(o.kept)-(n-len(o.tail)))
	if len(o.tail) == 0 {
		return o.kept[from:]
	}
	return append(bytes.Clone(o.kept[from:]), o.tail...)
}

// excerpt is the beginning and the end of a text.
type excerpt struct {
	head, tail string
	// left is the number of bytes between them.
	left int64
}

// newExcerpt returns at most limit code points. The end gets more of them than
// the beginning: what a program says last is why it stopped.
func (o *outputCapture) newExcerpt(limit int) excerpt {
	limit = min(max(limit, 0), resultChars)
	if !o.isCut() && utf8.RuneCount(o.kept) <= limit {
		return excerpt{head: cleanText(o.kept)}
	}
	head := firstRunes(o.kept, limit*2/5)
	tail := lastRunes(o.lastBytes(min(maxTail, int(min(o.total, maxTail)))), limit-limit*2/5)
	return excerpt{cleanText(head), cleanText(tail), o.total - int64(len(head)) - int64(len(tail))}
}

// cleanText makes a text valid UTF-8 without trailing blank lines.
func cleanText(p []byte) string {
	return strings.TrimRight(strings.ToValidUTF8(string(p), "\uFFFD"), " \t\r\n")
}

// firstRunes returns the first n code points, back to the end of a line when
// that costs less than a fifth.
func firstRunes(p []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(p); n-- {
		_, size := utf8.DecodeRune(p[end:])
		end += size
	}
	if nl := bytes.LastIndexByte(p[:end], '\n'); nl >= end*4/5 {
		return p[:nl+1]
	}
	return p[:end]
}

// lastRunes returns the last n code points, from the beginning of a line when
// that costs less than a fifth.
func lastRunes(p []byte, n int) []byte {
	begin := len(p)
	for ; n > 0 && begin > 0; n-- {
		_, size := utf8.DecodeLastRune(p[:begin])
		begin -= size
	}
	if begin == 0 {
		return p
	}
	rest := p[begin:]
	if nl := bytes.IndexByte(rest, '\n'); nl >= 0 && nl < len(rest)/5 {
		return rest[nl+1:]
	}
	return rest
}
