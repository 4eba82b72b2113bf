package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// shownLine bounds a name, a reason or another single line, in code points.
	shownLine = 400
	// shownText bounds arguments and what else is shown whole, in code points. The gate
	// holds no call with longer ones.
	shownText = 200_000
)

// functions are what templates may call.
var functions = template.FuncMap{
	"clock":   func(t time.Time) string { return t.Local().Format("15:04:05") },
	"moment":  func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") },
	"machine": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"count":   text.CountOf,
	"parts":   listParts,
	"percent": func(p *float64) string { return fmt.Sprintf("%.0f %%", *p) },
	"span":    spanOf,
}

// cleanText returns one line of another party as a person may read it: without characters that
// are not seen or that change the direction of the text, and not too long.
func cleanText[T ~string](s T) string { return report.EscapeControls(text.Clip(string(s), shownLine)) }

// cleanLines is clean for a text with lines.
func cleanLines(s string) string {
	lines := strings.Split(text.Clip(s, shownText), "\n")
	for i := range lines {
		lines[i] = report.EscapeControls(lines[i])
	}
	return strings.Join(lines, "\n")
}

// cleanJSON returns arguments with a line for each value.
func cleanJSON(s string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") != nil {
		return cleanLines(s)
	}
	return cleanLines(b.String())
}

// spanOf says how long something takes in a few letters.
func spanOf(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Truncate(time.Second).String()
	}
}
