package yamldoc

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxBlankLines bounds blank lines in a row: the YAML scanner takes quadratic
// time in the blank lines that end a block scalar (10 s for 64 KiB of them).
const maxBlankLines = 256

// TextFault is a fault before its text has a name.
type TextFault struct {
	// At is where it is.
	At Position
	// Message says what is wrong and what was expected.
	Message string
}

// fileText is the checked text of one file.
type fileText struct {
	// text has line feeds only and no byte order mark.
	text string
	// lines is text split at line feeds.
	lines []string
}

// decodeText checks the bytes of a file, of which there may be most, and returns
// its text. A fault means that the text cannot be parsed.
func decodeText(data []byte, most int) (fileText, []TextFault) {
	if len(data) > most {
		return fileText{}, []TextFault{{Position{1, 1}, fmt.Sprintf("the file is larger than %d bytes", most)}}
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return fileText{}, []TextFault{{Position{1, 1}, "the file is UTF-16: expected UTF-8"}}
	}
	s := strings.TrimPrefix(string(data), "\ufeff")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	t := fileText{text: s, lines: strings.Split(s, "\n")}
	return t, checkLines(t.lines)
}

// checkLines reports the first bad character of each line.
func checkLines(lines []string) []TextFault {
	var faults []TextFault
	blank := 0
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			blank = 0
		} else if blank++; blank == maxBlankLines+1 {
			faults = append(faults, TextFault{Position{i + 1, 1}, fmt.Sprintf("more than %d blank lines in a row", maxBlankLines)})
		}
		if col, why := badColumn(line); why != "" {
			faults = append(faults, TextFault{Position{i + 1, col}, why})
		}
	}
	return faults
}

func badColumn(line string) (col int, why string) {
	col = 1
	for i := 0; i < len(line); col++ {
		r, n := utf8.DecodeRuneInString(line[i:])
		if r == utf8.RuneError && n == 1 {
			return col, fmt.Sprintf("byte 0x%02x is not UTF-8", line[i])
		}
		if why := badRune(r); why != "" {
			return col, why
		}
		i += n
	}
	return 0, ""
}

// badRune refuses what a reader of the file cannot see: control characters
// (YAML 1.2.2 section 5.1 excludes them too), characters that some editors
// take for line ends, the bidirectional overrides and isolates with which a
// text shows in another order than it is read (CVE-2021-42574), and the
// replacement character, which stands for text that was lost.
func badRune(r rune) string {
	switch {
	case r == '\t' || r == '\n':
		return ""
	case r == '\r':
		return "a carriage return without a line feed"
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff:
		return fmt.Sprintf("control character U+%04X", r)
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return fmt.Sprintf("bidirectional control character U+%04X", r)
	case r == utf8.RuneError:
		return "the replacement character U+FFFD: text was lost here"
	default:
		return ""
	}
}
