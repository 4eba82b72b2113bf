package command

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordingFile is the picture at the beginning of README.md. `make recording`
// draws it from what the commands of the quick start print.
const recordingFile = "docs/start/first-run.svg"

// recorded is the sections of the quick start that the picture shows.
var recorded = []string{"Take the servers over", "See what happened"}

const (
	// recordColumns is the number of characters of a line of the picture, and the
	// other numbers are pixels.
	recordColumns    = 104
	recordCharWidth  = 7.83
	recordLineHeight = 19
	recordMargin     = 18
	// recordPause is the seconds after which the next line appears.
	recordPause = 0.35
)

// drawRecording returns a terminal as SVG, in which line after line appears. A
// line of the terminal is one text element, wrapped at recordColumns.
func drawRecording(lines []string) string {
	var body strings.Builder
	row := 0
	for i, line := range lines {
		class := "out"
		if strings.HasPrefix(line, "$ ") {
			class = "cmd"
		}
		fmt.Fprintf(&body, "<text class=\"%s\" style=\"animation-delay:%.2fs\">", class, float64(i)*recordPause)
		for part := range slices.Chunk([]rune(line), recordColumns) {
			row++
			fmt.Fprintf(&body, "<tspan x=\"%d\" y=\"%d\">%s</tspan>", recordMargin, recordMargin+row*recordLineHeight, html.EscapeString(string(part)))
		}
		body.WriteString("</text>\n")
	}
	columns := float64(recordColumns)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13">
<!-- Drawn by make recording; do not edit. -->
<title>A terminal: an import takes over the MCP servers of an agent, and a write to the gate's own file is refused and recorded</title>
<style>
text{fill:#c9d1d9;white-space:pre;opacity:0;animation:show .1s forwards}
.cmd{fill:#7ee787}
@keyframes show{to{opacity:1}}
@media (prefers-reduced-motion:reduce){text{animation:none;opacity:1}}
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
%s</svg>
`, columns*recordCharWidth+2*recordMargin, row*recordLineHeight+3*recordMargin, body.String())
}

// readRecording returns the lines of a picture.
func readRecording(t *testing.T, svg string) (lines []string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	inside := false
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local == "text" {
				inside, lines = true, append(lines, "")
			}
		case xml.EndElement:
			inside = inside && e.Name.Local != "text"
		case xml.CharData:
			if inside {
				lines[len(lines)-1] += string(e)
			}
		}
	}
}

// TestRecordingShowsTheQuickStart compares each line of the picture with the line
// of the quick start, whose commands TestStartPages runs.
func TestRecordingShowsTheQuickStart(t *testing.T) {
	t.Parallel()
	var want []string
	for section := range strings.SplitSeq(readPage(t, "docs/start/quick-start.md"), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		if !slices.Contains(recorded, title) {
			continue
		}
		for _, m := range fenced.FindAllStringSubmatch(text, -1) {
			if m[1] == "console" {
				want = append(want, strings.Split(strings.TrimSuffix(m[2], "\n"), "\n")...)
			}
		}
	}
	got := readRecording(t, readPage(t, recordingFile))
	if len(got) != len(want) {
		t.Fatalf("%s has %d lines, the quick start %d: run make recording", recordingFile, len(got), len(want))
	}
	for i, line := range got {
		if !linePattern(want[i]).MatchString(line) {
			t.Errorf("line %d of %s is %q, that of the quick start %q: run make recording", i+1, recordingFile, line, want[i])
		}
	}
	if first, _, _ := strings.Cut(readPage(t, "README.md"), "\n## Embed"); !strings.Contains(first, "]("+recordingFile+")") {
		t.Errorf("README.md does not begin with %s", recordingFile)
	}
}

// TestRecordingKeepsItsLines: what is drawn is read back, wide lines and signs of
// XML included.
func TestRecordingKeepsItsLines(t *testing.T) {
	t.Parallel()
	want := []string{"$ a <b> & 'c'", strings.Repeat("ö ", recordColumns), "  indented"}
	if got := readRecording(t, drawRecording(want)); !slices.Equal(got, want) {
		t.Errorf("the picture of %q shows %q", want, got)
	}
}

// saveRecording draws the recorded lines where SALLYPORT_TEST_RECORD=1 asks for it.
func saveRecording(t *testing.T, r *reader, lines []string) {
	t.Helper()
	if os.Getenv("SALLYPORT_TEST_RECORD") != "1" || t.Failed() {
		return
	}
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, r.home, pageHome)
	}
	if err := os.WriteFile(filepath.Join("..", "..", filepath.FromSlash(recordingFile)), []byte(drawRecording(lines)), 0o644); err != nil {
		t.Fatal(err)
	}
}
