package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sallyport/sallyport/internal/text"
)

// Progress shows on one line of a terminal how far a command is. What is written to it
// stands above that line. It is safe for concurrent use.
type Progress struct {
	w   io.Writer
	now func() time.Time

	mu          sync.Mutex // guards what follows
	begin       time.Time
	done, total int
	step        string
	shown       bool
}

// NewProgress returns a progress that writes to a terminal. now is the clock.
func NewProgress(w io.Writer, now func() time.Time) *Progress { return &Progress{w: w, now: now} }

// Expect says that so many steps will come.
func (p *Progress) Expect(steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begin.IsZero() {
		p.begin = p.now()
	}
	p.total += steps
}

// Begin names what is done now.
func (p *Progress) Begin(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
	p.drawLine()
}

// Done counts a step.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.done >= p.total {
		p.eraseLine()
		return
	}
	p.drawLine()
}

// Write writes what is said beside the progress.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eraseLine()
	return p.w.Write(b)
}

// maxStep bounds the name of a step, in bytes, so that the line fits a terminal.
const maxStep = 50

// drawLine shows the line again. That a terminal takes nothing more does not matter here.
func (p *Progress) drawLine() {
	count, left := "", ""
	if p.done < p.total {
		count = fmt.Sprintf("[%d/%d] ", p.done+1, p.total)
	}
	if p.done > 0 && p.total > p.done {
		each := p.now().Sub(p.begin) / time.Duration(p.done)
		left = fmt.Sprintf(", about %s left", (each * time.Duration(p.total-p.done)).Round(time.Second))
	}
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s%s%s", count, text.FirstBytes(text.PrintableLine(p.step), maxStep), left)
	p.shown = true
}

// eraseLine removes the line.
func (p *Progress) eraseLine() {
	if p.shown {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
	p.shown = false
}
