package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// figure is one row.
type figure struct {
	Group string `json:"group"`
	What  string `json:"what"`
	// PerSecond, P50, P99 and Processor are medians over the rounds; Processor is
	// the processor time of the server for a call.
	PerSecond float64       `json:"per_second,omitempty"`
	P50       time.Duration `json:"p50_ns,omitempty"`
	P99       time.Duration `json:"p99_ns,omitempty"`
	Processor time.Duration `json:"processor_ns,omitempty"`
	// MB is memory, or the size of a file.
	MB     float64 `json:"mb,omitempty"`
	Ratios []ratio `json:"ratios,omitempty"`
	// Missed lists the aims that the row does not reach.
	Missed []string `json:"missed,omitempty"`
}

// aimAt notes an aim that is missed unless it holds.
func (f *figure) aimAt(holds bool, aim string) {
	if !holds {
		f.Missed = append(f.Missed, aim)
	}
}

// aimAtShare notes an aim that a ratio of the row misses.
func (f *figure) aimAtShare(of string, least float64) {
	for _, r := range f.Ratios {
		if r.Of == of {
			f.aimAt(r.Value >= least, fmt.Sprintf("%v of %s", least, of))
		}
	}
}

// aimBelowShare notes an aim that a ratio of the row goes beyond.
func (f *figure) aimBelowShare(of string, most float64) {
	for _, r := range f.Ratios {
		if r.Of == of {
			f.aimAt(r.Value > 0 && r.Value <= most, fmt.Sprintf("at most %v of %s", most, of))
		}
	}
}

// ratio compares a row with another of the same rounds: the median of the
// ratios of each round.
type ratio struct {
	// Of says what is compared with what, as "bare" or "the proxy at the median".
	Of    string  `json:"of"`
	Value float64 `json:"value"`
}

// measured is the rows of a group.
type measured struct {
	group
	figures []figure
}

const (
	tableBegin = "<!-- bench: begin -->\n"
	tableEnd   = "<!-- bench: end -->\n"
)

// renderTable returns the table in Markdown. The first row of a group names the
// command that measures it.
func renderTable(table []measured) string {
	var s strings.Builder
	s.WriteString("| what | figure | ratio in the same rounds | command |\n| --- | --- | --- | --- |\n")
	for _, m := range table {
		fmt.Fprintf(&s, "| **%s** | | | |\n", m.title)
		command := fmt.Sprintf("`make bench-peers ONLY='^%s$'`", m.name)
		for _, f := range m.figures {
			fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", f.What, f.text(), f.ratioText(), command)
			command = "the same"
		}
	}
	return s.String()
}

func (f *figure) text() string {
	var parts []string
	if f.PerSecond > 0 {
		parts = append(parts, formatCount(f.PerSecond)+" calls/s")
	}
	if f.P50 > 0 {
		parts = append(parts, formatDuration(f.P50))
	}
	if f.P99 > 0 {
		parts = append(parts, "99th "+formatDuration(f.P99))
	}
	if f.Processor > 0 {
		parts = append(parts, "processor "+formatDuration(f.Processor))
	}
	if f.MB > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MB", f.MB))
	}
	return strings.Join(parts, "; ")
}

func (f *figure) ratioText() string {
	var parts []string
	for _, r := range f.Ratios {
		parts = append(parts, formatRatio(r.Value)+" of "+r.Of)
	}
	if len(f.Missed) > 0 {
		parts = append(parts, "missed aim: "+strings.Join(f.Missed, ", "))
	}
	return strings.Join(parts, "; ")
}

// formatRatio returns a ratio with two digits that count.
func formatRatio(v float64) string {
	switch {
	case v == 0:
		return "no clear share" // no round in which the other one was more than nothing
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// formatCount returns a number with three digits that count, and commas.
func formatCount(n float64) string {
	unit := 1.0
	for n/unit >= 1000 {
		unit *= 10
	}
	text := fmt.Sprintf("%.0f", float64(int(n/unit+0.5))*unit)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// formatDuration returns a time with two or three digits that count.
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
}

// writeTable replaces what stands between the marks of a page.
func writeTable(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no lines %q and %q around its table", path, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	return os.WriteFile(path, []byte(before+tableBegin+table+tableEnd+after), 0o644)
}
