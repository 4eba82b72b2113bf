package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// maxListedMatches bounds the places that are listed when old_text is not
// unique.
const maxListedMatches = 10

type patchInput struct {
	Path    string `json:"path" jsonschema:"File to change: absolute, or relative to the workspace."`
	OldText string `json:"old_text" jsonschema:"The text to replace, exactly as it is in the file, indentation included. It must occur exactly once: add surrounding lines when it does not."`
	NewText string `json:"new_text" jsonschema:"The text to put in its place, taken literally. Empty removes old_text."`
}

// errAlreadyApplied leaves the file untouched: it is not a failure.
var errAlreadyApplied = errors.New("already applied")

// patchFile runs a call of patch_file. The edit runs under the lock of the
// accessor, so that parallel patches of one file all take effect. "Already
// applied" is said of a patch that the same session made before, and of no
// other: new_text alone may be in a file for any reason.
func (m *patchMemory) patchFile(_ context.Context, c *sallyport.Call, in patchInput) (sallyport.Result, error) {
	switch {
	case in.Path == "":
		return sallyport.Result{}, sallyport.InputInvalid("path is empty")
	case in.OldText == "":
		return sallyport.Result{}, sallyport.InputInvalid("old_text is empty; use write_file to create or replace a whole file")
	case in.OldText == in.NewText:
		return sallyport.Result{}, sallyport.InputInvalid("old_text and new_text are the same")
	}
	name := c.FS.Abs(in.Path)
	key := newPatchKey(c.SessionKey, name, in.OldText, in.NewText)
	var done replacement
	err := c.FS.UpdateFile(in.Path, func(old []byte) (_ []byte, err error) {
		done, err = replaceOnce(old, in.OldText, in.NewText)
		if done.replaced && m.hasPatch(key) {
			err = errAlreadyApplied
		}
		return done.content, err
	})
	r := sallyport.Result{Source: "file:" + name}
	switch {
	case err == nil:
		m.rememberPatch(key)
		r.OK, r.Value = true, fmt.Sprintf("Patched %s at line %d%s", name, done.line, done.note)
		r.Structured = map[string]any{"path": name, "line": done.line, "applied": true}
	case errors.Is(err, errAlreadyApplied):
		r.OK, r.Value = true, fmt.Sprintf("already applied: %s has new_text at line %d and no longer has old_text; the file is unchanged", name, done.line)
		r.Structured = map[string]any{"path": name, "line": done.line, "applied": false}
	case isMismatch(err):
		r.Code, r.Error = sallyport.CodeInputInvalid, name+": "+err.Error()
	case !errors.Is(err, sallyport.ErrPathNotReachable) && isDir(c.FS, in.Path):
		return sallyport.Result{}, directoryError(name)
	default:
		return sallyport.Result{}, accessError("write", name, err)
	}
	return r, nil
}

type replacement struct {
	content []byte
	// line is where the replaced text begins, counted from 1.
	line int
	note string
	// replaced is true when the file has the new text, at line, and not the
	// old one, as after this very replacement.
	replaced bool
}

// patchMismatch explains why old_text does not name exactly one place.
type patchMismatch string

func (m patchMismatch) Error() string { return string(m) }

func isMismatch(err error) bool {
	_, ok := errors.AsType[patchMismatch](err)
	return ok
}

// replaceOnce replaces the only occurrence of old by new. Both are literal. In a file
// all of whose lines end in CRLF, line ends that the caller wrote as LF are
// understood as CRLF, because callers rarely see the difference and a mixed
// file is never what they want; a caller that writes CRLF itself is taken
// literally. The other way round, CRLF in old is understood as LF in a file
// that has no CRLF.
func replaceOnce(content []byte, old, new string) (replacement, error) {
	var e replacement
	old, new, e.note = adaptLineEnds(content, old, new)
	at := bytes.Index(content, []byte(old))
	if at < 0 {
		if found := bytes.Index(content, []byte(new)); found >= 0 && new != "" {
			e.line, e.replaced = lineAt(content, found), true
		}
		return e, patchMismatch(explainMismatch(string(content), old))
	}
	if places := findOccurrences(content, []byte(old), at); len(places) > 1 {
		return replacement{}, patchMismatch(listPlaces(content, places))
	}
	e.line = lineAt(content, at)
	e.content = slices.Concat(content[:at], []byte(new), content[at+len(old):])
	return e, nil
}

// adaptLineEnds gives old and new the line ends of the file.
func adaptLineEnds(content []byte, old, new string) (adaptedOld, adaptedNew, note string) {
	crlf, lf := bytes.Count(content, []byte("\r\n")), bytes.Count(content, []byte("\n"))
	switch {
	case crlf > 0 && crlf == lf && !strings.Contains(old, "\r") && !strings.Contains(new, "\r"):
		if strings.Contains(old, "\n") || strings.Contains(new, "\n") {
			note = " (line ends kept as CRLF)"
		}
		return strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(new, "\n", "\r\n"), note
	case crlf == 0 && lf > 0 && strings.Contains(old, "\r\n"):
		return strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(new, "\r\n", "\n"), " (line ends kept as LF)"
	default:
		return old, new, ""
	}
}

// findOccurrences lists where old begins, overlapping places included: "aa" is
// twice in "aaa", and which one is meant is not for us to guess. The list
// ends after maxListedMatches+1.
func findOccurrences(content, old []byte, first int) []int {
	places := []int{first}
	for at := first + 1; len(places) <= maxListedMatches; at++ {
		i := bytes.Index(content[at:], old)
		if i < 0 {
			break
		}
		at += i
		places = append(places, at)
	}
	return places
}

// listPlaces says where a text is that should be in one place only.
func listPlaces(content []byte, places []int) string {
	var b strings.Builder
	more := ""
	if len(places) > maxListedMatches {
		places, more = places[:maxListedMatches], "more than "
	}
	fmt.Fprintf(&b, "old_text is in the file %s%d times; add surrounding lines so that it is there exactly once. It begins at:", more, len(places))
	for _, at := range places {
		start, end := lineBounds(content, at)
		fmt.Fprintf(&b, "\n%6d: %s", lineAt(content, at), shortenLine(string(content[start:end])))
	}
	return b.String()
}

// lineAt returns the number of the line that holds an offset, from 1.
func lineAt(content []byte, at int) int {
	return 1 + bytes.Count(content[:at], []byte("\n"))
}

// previewChars is how much of a line is shown in a diagnosis.
const previewChars = 160

func shortenLine(line string) string {
	return text.Clip(strings.ToValidUTF8(strings.TrimRight(line, "\r"), "\ufffd"), previewChars)
}
