package terminal

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/heartbeat"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxListed bounds the changed files in the text, maxListedData in the
	// structured part.
	maxListed     = 30
	maxListedData = 200
	// margin is room for the line about what was left out, and for what the
	// gate may add to the text.
	margin = 400
)

// childReport turns a finished child into a result. Its fields are set before the
// child starts.
type childReport struct {
	call    *sallyport.Call
	source  string // of untrusted output, cmd:…
	cwd     string
	timeout time.Duration
	out     *outputCapture
	overlay bool     // changes are carried over later, or not at all
	discard bool     // changes are thrown away
	head    []string // lines after the exit code
	data    map[string]any
	body    string // shown instead of the output when it is not empty
	whole   []byte // kept instead of the output when it is not nil
}

// tellWhile tells the user that the child runs, and what it printed last.
func (r *childReport) tellWhile() (stop func()) {
	return heartbeat.Start(r.call, "running", r.out.lastLine)
}

// newResult makes the result of a child from what its start answered.
func (r *childReport) newResult(res sallyport.ProcessResult, err error) (sallyport.Result, error) {
	if err != nil {
		return r.newFailedResult(err)
	}
	return r.newFinishedResult(res), nil
}

// newFailedResult makes the result of a child that could not be started or was
// not let run to its end. What it wrote until then says more than the error.
func (r *childReport) newFailedResult(err error) (sallyport.Result, error) {
	if r.out.total == 0 {
		return sallyport.Result{}, err
	}
	res := sallyport.ErrorResult(err)
	res.Source = r.source
	x := r.out.newExcerpt(r.maxChars() - utf8.RuneCountInString(res.Error))
	res.Error += "\n\nOutput until then:\n" + x.joinWithNote("")
	return res, nil
}

// newFinishedResult makes the result of a child that ended, whatever its exit
// code. The facts come first and the output after the first blank line, so that
// no output can pass for a fact and a cut at the end costs output only.
func (r *childReport) newFinishedResult(res sallyport.ProcessResult) sallyport.Result {
	lines := append([]string{r.exitLine(res)}, r.head...)
	if res.Level == sallyport.LevelNone {
		lines = append(lines, "not confined: this ran without a sandbox")
	}
	lines = append(lines, noticeLines(res)...)
	lines = append(lines, r.changeLines(res.Changes)...)
	header := strings.Join(lines, "\n") + "\n\n"

	out := r.out
	if r.body != "" {
		out = &outputCapture{}
		_, _ = out.Write([]byte(r.body)) // It never fails.
	}
	x := out.newExcerpt(r.maxChars() - utf8.RuneCountInString(header))
	note, spilled := "", ""
	if x.left > 0 {
		spilled, note = r.spillOutput(r.overlay || len(res.Changes) > 0)
	}
	v := sallyport.OK(header + x.joinWithNote(note))
	v.Source = r.source
	v.Structured = r.structuredData(res, spilled)
	return v
}

func (r *childReport) exitLine(res sallyport.ProcessResult) string {
	line := "exit code: " + strconv.Itoa(res.ExitCode)
	if res.TimedOut {
		line += fmt.Sprintf(" (ended by the timeout of %d s)", int(r.timeout.Seconds()))
	}
	return line
}

func (r *childReport) maxChars() int {
	return min(cmp.Or(r.call.ResultBudget, resultChars), resultChars) - margin
}

func (r *childReport) structuredData(res sallyport.ProcessResult, spilled string) map[string]any {
	data := map[string]any{
		"exitCode": res.ExitCode, "timedOut": res.TimedOut, "outputBytes": r.out.total, "level": string(res.Level),
	}
	if spilled != "" {
		data["spilled"] = spilled
	}
	maps.Copy(data, r.data)
	if len(res.Changes) == 0 {
		return data
	}
	var list []any
	for _, ch := range res.Changes[:min(len(res.Changes), maxListedData)] {
		one := map[string]any{"path": ch.Path, "kind": string(ch.Kind), "bytes": ch.Bytes, "committed": ch.Committed}
		if ch.Why != "" {
			one["why"] = ch.Why
		}
		list = append(list, one)
	}
	data["changes"], data["changed"] = list, len(res.Changes)
	return data
}

// changeLines returns the lines about what was written in overlay mode.
func (r *childReport) changeLines(list []sallyport.Change) []string {
	if len(list) == 0 {
		return nil
	}
	title := "changes:"
	if r.discard {
		title = "changes, all thrown away:"
	}
	lines := []string{title}
	for i, ch := range list {
		if i == maxListed {
			lines = append(lines, fmt.Sprintf("  and %d more", len(list)-i))
			break
		}
		lines = append(lines, "  "+r.changeLine(ch))
	}
	return lines
}

// changeLine returns one line such as "added notes/a.txt (12 bytes),
// committed".
func (r *childReport) changeLine(ch sallyport.Change) string {
	var b strings.Builder
	b.WriteString(string(ch.Kind) + " " + quoteUnprintable(r.shortenPath(ch.Path)))
	if ch.Kind != sallyport.ChangeDeleted {
		b.WriteString(" (" + text.CountOf(int(ch.Bytes), "byte") + ")")
	}
	switch {
	case ch.Committed:
		b.WriteString(", committed")
	case !r.discard:
		b.WriteString(", not committed")
	}
	if ch.Why != "" {
		b.WriteString(": " + quoteUnprintable(ch.Why))
	}
	return b.String()
}

func (r *childReport) shortenPath(path string) string {
	if r.call.Workspace == "" {
		return path
	}
	rel, err := filepath.Rel(r.call.Workspace, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

// quoteUnprintable quotes a text that would not stay on its line.
func quoteUnprintable(s string) string {
	for _, c := range s {
		if !strconv.IsPrint(c) {
			return strconv.Quote(s)
		}
	}
	return s
}

// joinWithNote returns the excerpt with a line in the place of what was left
// out.
func (x excerpt) joinWithNote(note string) string {
	if x.left == 0 {
		if x.head == "" {
			return "(no output)"
		}
		return x.head
	}
	line := fmt.Sprintf("[%d bytes left out%s]", x.left, note)
	return x.head + "\n\n" + line + "\n\n" + x.tail
}
