package main

import (
	"io"
	"strings"
	"testing"
)

func TestJudgeNamesWhatGrew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grow  func(i int, s *sample)
		after int
		want  string // empty for no error
	}{
		"nothing":         {grow: func(int, *sample) {}},
		"a moment":        {grow: func(i int, s *sample) { s.descriptors[0] += i % 2 * 100 }},
		"memory":          {grow: func(i int, s *sample) { s.residentMB[0] += float64(i) * 2 }, want: "serve: resident MB"},
		"descriptors":     {grow: func(i int, s *sample) { s.descriptors[1] += 2 * i }, want: "serve --stdio: descriptors"},
		"threads":         {grow: func(i int, s *sample) { s.threads[0] += i }, want: "serve: threads"},
		"child processes": {grow: func(i int, s *sample) { s.children[0] += i / 3 }, want: "serve: child processes"},
		"files":           {grow: func(i int, s *sample) { s.files += i }, want: "files of the state"},
		"goroutines":      {grow: func(int, *sample) {}, after: 20, want: "goroutines grew from 30 to 50"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var samples []sample
			for i := range 12 {
				s := sample{residentMB: [2]float64{30, 30}, descriptors: [2]int{40, 40}, threads: [2]int{10, 10}, children: [2]int{3, 3}, files: 10, calls: int64(i)}
				c.grow(i, &s)
				samples = append(samples, s)
			}
			err := judge(io.Discard, samples, 30, 30+c.after)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("judge = %v, want an error with %q", err, c.want)
			}
		})
	}
	if judge(io.Discard, make([]sample, 2), 1, 1) == nil {
		t.Error("judge took two samples as proof")
	}
}
