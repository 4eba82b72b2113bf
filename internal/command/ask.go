package command

import (
	"bufio"
	"fmt"
	"strings"
)

// canAsk reports whether a command may put a question to the user.
func (e *environment) canAsk(f *flags) bool { return e.terminal && !f.json }

// ask puts a question with the answers yes and no. Everything but yes, and the end
// of the input, is a no.
func (e *environment) ask(question string) bool {
	fmt.Fprintf(e.Stderr, "%s [y/N] ", question)
	// The rest of a line that ends early is as good as the line.
	line, _ := bufio.NewReader(e.stdin).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
