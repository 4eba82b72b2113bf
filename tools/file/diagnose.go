package file

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxDiagnosedLines bounds the lines of a file that are compared with
	// old_text, so that a huge file does not cost a noticeable time.
	maxDiagnosedLines = 50_000
	// maxShownLines bounds the lines that a diagnosis prints.
	maxShownLines = 12
	// maxAlignedLines bounds the lines of old_text that are looked for.
	maxAlignedLines = 200
	// similarEnough is the share of common letter pairs above which a line
	// is offered as a candidate; below it candidates only mislead.
	similarEnough = 0.5
)

// explainMismatch explains why old is not in content: a difference in white space
// only, which it makes visible, or the nearest lines.
func explainMismatch(content, old string) string {
	if strings.IndexByte(content[:min(len(content), sniffBytes)], 0) >= 0 {
		return "old_text was not found, and the file does not look like UTF-8 text"
	}
	lines, wanted := diagnosedLines(content, old)
	start, votes := alignLines(lines, wanted)
	switch {
	case start >= 0 && votes == len(wanted):
		return spaceDiagnosis(lines, wanted, start)
	case start >= 0:
		return partDiagnosis(lines, wanted, start)
	default:
		return similarDiagnosis(lines, wanted)
	}
}

func diagnosedLines(content, old string) (lines, wanted []string) {
	lines = strings.SplitN(content, "\n", maxDiagnosedLines+1)
	wanted = strings.SplitN(strings.Trim(old, "\r\n"), "\n", maxAlignedLines+1)
	return lines[:min(len(lines), maxDiagnosedLines)], wanted[:min(len(wanted), maxAlignedLines)]
}

// alignLines finds the place where most lines of wanted agree with the file when
// white space is disregarded. Blank lines agree but do not place anything.
// It returns -1 when no line agrees.
func alignLines(lines, wanted []string) (start, votes int) {
	positions := make(map[string][]int)
	for i, w := range wanted {
		if key := removeSpace(w); key != "" {
			positions[key] = append(positions[key], i)
		}
	}
	tally := make(map[int]int)
	for i, l := range lines {
		for _, p := range positions[removeSpace(l)] {
			if i >= p && len(tally) < maxDiagnosedLines {
				tally[i-p]++
			}
		}
	}
	start = -1
	for at, n := range tally {
		if n > votes || n == votes && at < start {
			start, votes = at, n
		}
	}
	for i, w := range wanted {
		if start >= 0 && removeSpace(w) == "" && start+i < len(lines) && removeSpace(lines[start+i]) == "" {
			votes++
		}
	}
	return start, votes
}

func removeSpace(s string) string { return strings.Join(strings.Fields(s), "") }

// spaceDiagnosis shows both sides with their white space made visible.
func spaceDiagnosis(lines, wanted []string, start int) string {
	var b strings.Builder
	end := start + len(wanted)
	fmt.Fprintf(&b, "old_text was not found, but %s the same except for white space (shown as \u00b7 space, \u2192 tab, \u240d carriage return, \u00b6 line end).",
		lineRange(start, end))
	b.WriteString("\nThe file has:")
	for i := start; i < min(end, start+maxShownLines); i++ {
		fmt.Fprintf(&b, "\n%6d: %s", i+1, showSpace(lines[i]))
	}
	b.WriteString("\nold_text has:")
	for i, w := range wanted[:min(len(wanted), maxShownLines)] {
		fmt.Fprintf(&b, "\n%6d: %s", start+i+1, showSpace(w))
	}
	return b.String()
}

// lineRange names lines start to end-1, counted from 0, with their verb.
func lineRange(start, end int) string {
	if end-start == 1 {
		return fmt.Sprintf("line %d is", end)
	}
	return fmt.Sprintf("lines %d-%d are", start+1, end)
}

// partDiagnosis shows the place where a part of the lines agrees, and the
// first line that does not.
func partDiagnosis(lines, wanted []string, start int) string {
	var b strings.Builder
	b.WriteString("old_text was not found. The nearest place in the file:")
	for i := start; i < min(start+len(wanted), len(lines), start+maxShownLines); i++ {
		fmt.Fprintf(&b, "\n%6d: %s", i+1, shortenLine(lines[i]))
	}
	for i, w := range wanted {
		if start+i >= len(lines) {
			fmt.Fprintf(&b, "\nThe file ends before line %d of old_text.", i+1)
			break
		}
		if removeSpace(w) != removeSpace(lines[start+i]) {
			fmt.Fprintf(&b, "\nLine %d of old_text differs: %s", i+1, shortenLine(w))
			break
		}
	}
	return b.String()
}

// similarDiagnosis lists up to three lines that resemble the longest line of
// old_text.
func similarDiagnosis(lines, wanted []string) string {
	longest := ""
	for _, w := range wanted {
		if w = strings.TrimSpace(w); len(w) > len(longest) {
			longest = w
		}
	}
	var best [3]struct {
		line  int
		score float64
	}
	want := countLetterPairs(longest)
	for i, l := range lines {
		score := diceCoefficient(want, countLetterPairs(strings.TrimSpace(l)))
		at := len(best)
		for at > 0 && score > best[at-1].score {
			at--
		}
		if score >= similarEnough && at < len(best) {
			copy(best[at+1:], best[at:])
			best[at].line, best[at].score = i, score
		}
	}
	if best[0].score == 0 {
		return "old_text was not found, nor anything like it; read the file again"
	}
	var b strings.Builder
	b.WriteString("old_text was not found. The most similar lines:")
	for _, c := range best {
		if c.score > 0 {
			fmt.Fprintf(&b, "\n%6d: %s", c.line+1, shortenLine(lines[c.line]))
		}
	}
	return b.String()
}

// letterPairs counts the adjacent byte pairs of a line, hashed into a table
// of fixed size: a collision only blurs the likeness.
type letterPairs struct {
	counts [256]uint8
	total  int
}

// countLetterPairs counts the pairs of the first previewChars bytes.
func countLetterPairs(s string) letterPairs {
	var p letterPairs
	s = text.FirstBytes(s, previewChars)
	for i := 0; i+1 < len(s); i++ {
		h := s[i]*31 + s[i+1]
		if p.counts[h] < 255 {
			p.counts[h]++
			p.total++
		}
	}
	return p
}

// diceCoefficient returns the Dice coefficient of two lines, 0 to 1.
func diceCoefficient(a, b letterPairs) float64 {
	if a.total == 0 || b.total == 0 {
		return 0
	}
	common := 0
	for i := range a.counts {
		common += int(min(a.counts[i], b.counts[i]))
	}
	return 2 * float64(common) / float64(a.total+b.total)
}

func showSpace(line string) string {
	var b strings.Builder
	for i, r := range line {
		if i >= previewChars {
			return b.String() + "..."
		}
		switch r {
		case ' ':
			b.WriteRune('\u00b7')
		case '\t':
			b.WriteRune('\u2192')
		case '\r':
			b.WriteRune('\u240d')
		case '\u00a0':
			b.WriteString("[U+00A0]")
		case utf8.RuneError:
			b.WriteRune('\ufffd')
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + "\u00b6"
}
