package upstream

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxLine bounds the bytes of a line of standard error that are kept until it
	// is cleaned. maxShown bounds what is shown of it then.
	maxLine, maxShown = 64 << 10, 1 << 10
	// longLine is shown instead of a longer line: its end may be missing from a
	// secret, which the cleaner would not recognize.
	longLine = "(a line of more than 64 KiB, which is not shown)"
)

// stderrLog passes the first lines that a server writes to standard error to
// the log. It keeps the last line that names an error, or else the last line.
type stderrLog struct {
	log *slog.Logger
	// plain removes secrets from a line. It needs the whole line.
	plain func(string) string
	// count is called with the number of bytes written.
	count func(bytes int)

	mu   sync.Mutex
	line []byte
	// last is as it was written.
	last string
	// named is true when that line names an error.
	named bool
	n     int
}

// Write never fails.
func (w *stderrLog) Write(p []byte) (int, error) {
	w.count(len(p))
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		// One byte more than the bound says that the line is too long.
		w.line = append(w.line, line[:min(len(line), maxLine+1-len(w.line))]...)
		if rest = after; ended {
			w.endLine()
		}
	}
	return len(p), nil
}

// endLine ends a line. The caller holds the lock.
func (w *stderrLog) endLine() {
	const most = 200
	line := string(bytes.TrimSpace(w.line))
	if len(w.line) > maxLine {
		line = longLine
	}
	if w.line = w.line[:0]; cap(w.line) > 4*maxShown {
		w.line = nil // few lines are long
	}
	if line == "" {
		return
	}
	// A program that fails often prints details of its environment last.
	if names := strings.Contains(line, "Error"); names || !w.named {
		w.last, w.named = line, names
	}
	if w.n++; w.n <= most {
		w.log.Info("MCP server says", "text", w.showLine(line))
	}
}

// showLine returns what may be shown of a line. It cuts the line only after its
// secrets are removed.
func (w *stderrLog) showLine(line string) string {
	return text.FirstBytes(w.plain(line), maxShown)
}

// lastLine returns the line that best explains why a server ended.
func (w *stderrLog) lastLine() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLine()
	return w.showLine(w.last)
}
