package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWriteTableReplacesWhatStandsBetweenTheMarks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("before\n"+tableBegin+"old\n"+tableEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := []measured{{group{name: "http-1", title: "calls"}, []figure{
		{What: "`serve`", PerSecond: 4612, P50: 3214 * time.Microsecond, P99: 12 * time.Millisecond, Processor: 254 * time.Microsecond, Ratios: []ratio{{"bare", 0.112}, {"mcp-go", 12.3}}},
		{What: "bare", PerSecond: 44_490},
	}}}
	table[0].figures[0].aimAtShare("bare", 0.45)
	table[0].figures[0].aimAtShare("mcp-go", 0.8)
	table[0].figures[0].aimBelowShare("mcp-go", 2)
	if err := writeTable(path, renderTable(table)); err != nil {
		t.Fatal(err)
	}
	const want = "before\n" + tableBegin + `| what | figure | ratio in the same rounds | command |
| --- | --- | --- | --- |
| **calls** | | | |
| ` + "`serve`" + ` | 4,610 calls/s; 3.21 ms; 99th 12.0 ms; processor 254 µs | 0.11 of bare; 12 of mcp-go; missed aim: 0.45 of bare, at most 2 of mcp-go | ` + "`make bench-peers ONLY='^http-1$'`" + ` |
| bare | 44,500 calls/s |  | the same |
` + tableEnd + "after\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the page = %s, %v, want %s", got, err, want)
	}
	if err := os.WriteFile(path, []byte(tableBegin), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(path, renderTable(table)); err == nil {
		t.Error("writeTable took a page without the mark of its end")
	}
}

func TestMedianRatioLeavesOutRoundsThatSayNothing(t *testing.T) {
	t.Parallel()
	if got := medianRatio([]float64{9, 2, 6, 5}, []float64{3, 0, 2, 1}); got != 3 {
		t.Errorf("medianRatio = %v, want 3", got)
	}
	if got := medianRatio([]float64{1}, []float64{-1}); got != 0 {
		t.Errorf("medianRatio without a round = %v, want 0", got)
	}
}
