package file

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxLineChars bounds what is shown of one line; minified files have
	// lines of megabytes.
	maxLineChars = 300
	// beforeMatch is how much of a long line is shown before its match.
	beforeMatch = 80
	// searchHeadChars is room for the first lines of a result.
	searchHeadChars = 800
)

// searchableText returns the text of a file with LF line ends; ok is false for
// binary content. UTF-16 with a mark is decoded, everything else is compared
// byte by byte.
func searchableText(data []byte) (text []byte, ok bool) {
	if bytes.HasPrefix(data, []byte(bomUTF16LE)) || bytes.HasPrefix(data, []byte(bomUTF16BE)) {
		data = []byte(decodeUTF16(data, encodingUTF16).content)
	} else if bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0 {
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte(bomUTF8))
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data, true
}

// reportMatches reports the matching lines of one file, each once.
func (s *fileSearch) reportMatches(ctx context.Context, e walkEntry, data []byte) error {
	number, counted := 1, 0
	shownTo := 0 // the number of the last line printed, for context
	for from, first := 0, true; from <= len(data); first = false {
		at, err := s.matcher.nextMatch(data, from, ctx.Err)
		if err != nil {
			return err
		}
		if at < 0 {
			return nil
		}
		if s.matches == s.in.MaxResults {
			s.stopped = fmt.Sprintf("stopped after %s; there are more: give a narrower pattern, path or glob, or a larger max_results", text.CountForms(s.matches, "match", "matches"))
			return errStopWalk
		}
		number += bytes.Count(data[counted:at], []byte("\n"))
		counted = at
		start, end := lineBounds(data, at)
		if first {
			s.files++
		}
		s.matches++
		shown := clipAround(data[start:end], at-start)
		s.found = append(s.found, map[string]any{"path": e.shown, "line": number, "text": shown})
		shownTo = s.printMatch(ctx, e.shown, data, start, end, number, shownTo, shown)
		if s.chars <= 0 {
			s.stopped = fmt.Sprintf("stopped after %s because the result is full; give a narrower pattern, path or glob", text.CountForms(s.matches, "match", "matches"))
			return errStopWalk
		}
		from = end + 1
	}
	return nil
}

// printMatch writes a matching line with the lines around it and returns the
// number of the last line written, which is not written again.
func (s *fileSearch) printMatch(ctx context.Context, name string, text []byte, start, end, number, shownTo int, shown string) int {
	around := s.in.Context
	if around == 0 {
		s.printLine(name, number, ':', shown)
		return number
	}
	before := min(around, number-1-shownTo)
	if shownTo == 0 && s.out.Len() > 0 || shownTo > 0 && number-before > shownTo+1 {
		s.appendLine("--\n")
	}
	at := start
	for range before {
		at, _ = lineBounds(text, at-1)
	}
	for n := number - before; n < number; n++ {
		_, lineEnd := lineBounds(text, at)
		s.printLine(name, n, '-', clipAround(text[at:lineEnd], 0))
		at = lineEnd + 1
	}
	s.printLine(name, number, ':', shown)
	return s.printLinesAfter(ctx, name, text, end, number)
}

// printLinesAfter writes the lines after a match, up to the next match.
func (s *fileSearch) printLinesAfter(ctx context.Context, name string, text []byte, end, number int) int {
	for range s.in.Context {
		at := end + 1
		if at >= len(text) {
			break
		}
		_, lineEnd := lineBounds(text, at)
		if next, err := s.matcher.nextMatch(text[:lineEnd], at, ctx.Err); err == nil && next >= 0 {
			break // It will be written as a match of its own.
		}
		number++
		s.printLine(name, number, '-', clipAround(text[at:lineEnd], 0))
		end = lineEnd
	}
	return number
}

// printLine writes one line of the result: a colon after the number for a match, a
// hyphen for a line around it.
func (s *fileSearch) printLine(name string, number int, mark byte, line string) {
	s.appendLine(name + string(mark) + strconv.Itoa(number) + string(mark) + " " + line + "\n")
}

// appendLine appends to the result, and counts the characters that are left.
func (s *fileSearch) appendLine(line string) {
	s.chars -= utf8.RuneCountInString(line)
	s.out.WriteString(line)
}

// lineBounds returns the bounds of the line that holds an offset, without its
// newline.
func lineBounds(text []byte, at int) (start, end int) {
	start = bytes.LastIndexByte(text[:at], '\n') + 1
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return start, at + i
	}
	return start, len(text)
}

// clipAround shortens a line so that what is at an offset stays visible.
func clipAround(line []byte, at int) string {
	if len(line) <= maxLineChars {
		return strings.ToValidUTF8(string(line), "\ufffd")
	}
	from := 0
	if at > beforeMatch {
		from = at - beforeMatch
		for from > 0 && !utf8.RuneStart(line[from]) {
			from--
		}
	}
	window := string(line[from:min(len(line), from+4*maxLineChars)])
	shown := text.FirstChars(window, maxLineChars)
	cut := len(shown) < len(line)-from
	shown = strings.ToValidUTF8(shown, "\ufffd")
	if from > 0 {
		shown = "..." + shown
	}
	if cut {
		shown += "..."
	}
	return shown
}

// newResult renders what the search found, and says which files it did not or
// not wholly look at. The last of the modes tried is the one that found it.
func (s *fileSearch) newResult(root string) sallyport.Result {
	tried := s.tried
	var b strings.Builder
	if s.matches == 0 {
		fmt.Fprintf(&b, "No matches for %q in %s of %s", shortenLine(s.in.Pattern), text.CountOf(s.searched, "file"), root)
		if len(tried) > 1 {
			fmt.Fprintf(&b, " (tried: %s)", joinModes(tried))
		}
	} else {
		fmt.Fprintf(&b, "%s for %q in %s of %s", text.CountForms(s.matches, "match", "matches"), shortenLine(s.in.Pattern), text.CountOf(s.files, "file"), root)
		if len(tried) > 1 {
			fmt.Fprintf(&b, "\nNote: the exact pattern did not match; shown are %s matches", joinModes(tried[1:]))
		}
	}
	notes := s.boundNotes()
	for _, n := range notes {
		b.WriteString("\nNote: " + n)
	}
	if s.matches > 0 {
		b.WriteString("\n\n" + strings.TrimSuffix(s.out.String(), "\n"))
	}
	r := sallyport.OK(b.String())
	r.Source = "file:" + root
	r.Structured = map[string]any{
		"path": root, "mode": string(s.matcher.mode), "matches": s.found,
		"files_searched": s.searched, "complete": len(notes) == 0,
	}
	return r
}

// joinModes lists modes in words. Collapsing white space includes folding
// the case, so the two stand side by side.
func joinModes(modes []searchMode) string {
	words := make([]string, len(modes))
	for i, m := range modes {
		words[i] = string(m)
	}
	return strings.Join(words, ", ")
}

// boundNotes lists the bounds that left something out. Binary files are not worth
// a note.
func (s *fileSearch) boundNotes() []string {
	var notes []string
	if s.stopped != "" {
		notes = append(notes, s.stopped)
	}
	notes = append(notes, s.walk.boundNotes()...)
	if s.cut > 0 {
		notes = append(notes, fmt.Sprintf("%s searched only in the first %d MiB", text.CountForms(s.cut, "file was", "files were"), maxSearchedBytes>>20))
	}
	if s.unreadable > 0 {
		notes = append(notes, text.CountOf(s.unreadable, "file")+" could not be read")
	}
	return notes
}
