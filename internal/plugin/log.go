package plugin

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/sallyport/sallyport"
)

// logWriter takes what a module writes to its standard output and error: lines of a
// bounded number and length. The rest is dropped.
type logWriter struct {
	emit  func(sallyport.Progress) // nil while no call runs
	lines int
	line  []byte
	first string // the first whole line
}

func (w *logWriter) writeLine(b []byte) {
	for len(b) > 0 && w.lines < maxLogLines {
		part, rest, whole := bytes.Cut(b, []byte("\n"))
		w.line = append(w.line, part[:min(len(part), maxLogBytes-len(w.line))]...)
		if whole {
			w.flushLine()
		}
		b = rest
	}
}

// flushLine hands a line over. The gate cleans it.
func (w *logWriter) flushLine() {
	if len(w.line) == 0 || w.lines >= maxLogLines {
		return
	}
	w.lines++
	line := strings.ToValidUTF8(string(w.line), "\ufffd")
	w.line, w.first = w.line[:0], cmp.Or(w.first, line)
	if w.emit != nil {
		w.emit(sallyport.Progress{Message: line})
	}
}
