package text

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine puts a text on one line: each run of white space becomes a blank.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// lineEnds are what some reader takes for the end of a line (Unicode, section 5.8),
// besides "\n".
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n",
	"\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// BreakLines ends each line of a text with "\n", whatever ends it.
func BreakLines(s string) string { return lineEnds.Replace(s) }

// HasControl reports whether a text has a control character, or a character that ends a
// line.
func HasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' })
}

// PrintableLine puts a text from another party on one line for a terminal.
// Control characters and characters that change the direction of the text
// become blanks.
func PrintableLine(s string) string {
	return OneLine(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, s))
}

// plainWord matches a word that a shell does not expand.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9_./:@%+-][a-zA-Z0-9_./:@%+=-]*$`)

// ShellWord quotes a word for a shell where it needs quotes. Another party may
// have chosen the word, and a user pastes the command that holds it.
func ShellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellLine returns words as a command line, as a shell reads them.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i := range words {
		quoted[i] = ShellWord(words[i])
	}
	return strings.Join(quoted, " ")
}

// RepeatFlag returns a flag of a command line once for each value, each with a blank
// before it.
func RepeatFlag(flag string, values []string) string {
	var b strings.Builder
	for _, value := range values {
		b.WriteString(" --" + flag + " " + ShellWord(value))
	}
	return b.String()
}

// AddCallID returns the text of a failed call for its reader, a model or a user:
// the text as it is, and below it the id with which the operator finds the call.
func AddCallID(failure, id string) string {
	if id == "" || strings.Contains(failure, id) {
		return failure
	}
	return failure + "\nCall ID: " + id
}

// IsASCII reports whether a text holds nothing but ASCII.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// ReasonSuffix returns a reason as the end of a sentence, "" when there is none.
func ReasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// CutLineEnd removes one line ending, the one that editors and programs add.
func CutLineEnd(s string) string {
	if line, ok := strings.CutSuffix(s, "\n"); ok {
		return strings.TrimSuffix(line, "\r")
	}
	return s
}

// JoinLines returns the lines that a list is written in, one for each item.
func JoinLines[T any](list []T, write func(T) string) string {
	lines := make([]string, len(list))
	for i := range list {
		lines[i] = write(list[i])
	}
	return strings.Join(lines, "\n")
}
