package granting

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
)

// differenceOf returns the lines of a file that change: what goes after "-", what
// comes after "+", with the number of the line.
func differenceOf(c onestep.Change) string {
	was, is := linesOf(c.Old), linesOf(c.New)
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", text.PrintableLine(c.Path))
	i, j := 0, 0
	for i < len(was) || j < len(is) {
		if i < len(was) && j < len(is) && was[i] == is[j] {
			i, j = i+1, j+1
			continue
		}
		gone, come := nextCommon(was[i:], is[j:])
		for _, line := range was[i : i+gone] {
			i++
			fmt.Fprintf(&out, "%5d - %s\n", i, printLine(line))
		}
		for _, line := range is[j : j+come] {
			j++
			fmt.Fprintf(&out, "%5d + %s\n", j, printLine(line))
		}
	}
	return out.String()
}

// nextCommon returns after how many lines of each text the same line follows,
// counting as few as possible.
func nextCommon(was, is []string) (gone, come int) {
	for total := 1; total <= len(was)+len(is); total++ {
		for gone := 0; gone <= total; gone++ {
			come := total - gone
			if gone < len(was) && come < len(is) && was[gone] == is[come] {
				return gone, come
			}
		}
	}
	return len(was), len(is)
}

// printLine returns a line that drives no terminal, with its indentation.
func printLine(line string) string {
	body := strings.TrimLeft(line, " ")
	return line[:len(line)-len(body)] + text.PrintableLine(body)
}

func linesOf(content []byte) (lines []string) {
	for line := range bytes.Lines(content) {
		lines = append(lines, strings.TrimRight(string(line), "\r\n"))
	}
	return lines
}
