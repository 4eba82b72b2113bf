package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/report"
)

// canAsk reports whether a command may put a question to the user.
func (e *environment) canAsk(f *flags) bool { return e.terminal && !f.json }

// ask puts a question with the answers yes and no. Everything but yes, and the end
// of the input, is a no.
func (e *environment) ask(question string) bool {
	line, _ := e.askLine(question + " [y/N]")
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// askLine puts a question and returns the line of the answer; ok is false when the
// input ends before it. The rest of a line that ends early is as good as the line.
func (e *environment) askLine(question string) (line string, ok bool) {
	fmt.Fprintf(e.Stderr, "%s ", question)
	// What follows the line answers the next question.
	for b := make([]byte, 1); ; line += string(b) {
		switch n, err := e.stdin.Read(b); {
		case n > 0 && b[0] == '\n':
			return line, true
		case n == 0 && err != nil, len(line) > maxAnswer:
			return line, line != ""
		}
	}
}

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 1024

// showInstalls shows at a terminal how far installs and starts of servers are.
func (e *environment) showInstalls(f *flags) {
	if e.canAsk(f) {
		p := report.NewProgress(e.Stderr, time.Now)
		e.Progress, e.Stderr = p, p
	}
}
