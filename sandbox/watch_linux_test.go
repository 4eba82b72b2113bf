package sandbox

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/seccomp"
)

// replayEvents plays events to follow, on a clock of its own, and returns how long it
// slept and how many events it looked at.
func replayEvents(s *startedPrograms, n int, every time.Duration, file func(i int) string) (slept time.Duration, looks int) {
	now, i := time.Unix(1e9, 0), 0
	s.followEvents(func(blind bool) (seccomp.Event, error) {
		if i++; i > n {
			return seccomp.Event{}, io.EOF
		}
		now = now.Add(every)
		if blind {
			return seccomp.Event{}, nil
		}
		looks++
		return seccomp.Event{File: file(i)}, nil
	}, func() time.Time { return now }, func(d time.Duration) {
		now, slept = now.Add(d), slept+d
	})
	return slept, looks
}

// TestAFloodOfStartsWaits: beyond the rate it is the callers who wait.
func TestAFloodOfStartsWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		n     int
		every time.Duration
		want  time.Duration
	}{
		{"a burst", startsPerSecond, 0, 0},
		{"a flood", 3 * startsPerSecond, 0, 2 * time.Second},
		{"at the rate", 10 * startsPerSecond, time.Second / startsPerSecond, 0},
		{"at twice the rate", 11 * startsPerSecond, time.Second / startsPerSecond / 2, 4500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := replayEvents(&startedPrograms{}, tt.n, tt.every, func(int) string { return "" })
			if d := got - tt.want; d.Abs() > time.Second/startsPerSecond {
				t.Errorf("%d starts waited %v, want %v", tt.n, got, tt.want)
			}
		})
	}
}

// TestAFullListLooksNoMore: what does not fit into the report is not read.
func TestAFullListLooksNoMore(t *testing.T) {
	t.Parallel()
	s := &startedPrograms{}
	_, looks := replayEvents(s, 1000, 0, func(i int) string { return fmt.Sprint("/bin/p", i) })
	if looks != maxSeen+1 || len(s.paths) != maxSeen || !s.more {
		t.Errorf("%d looks, %d paths, more %t; want %d, %d and true", looks, len(s.paths), s.more, maxSeen+1, maxSeen)
	}
	_, looks = replayEvents(&startedPrograms{}, 1000, 0, func(i int) string { return fmt.Sprint("/bin/p", i%maxSeen) })
	if looks != 1000 {
		t.Errorf("%d looks while there is room, want 1000", looks)
	}
}

// TestAFloodIsHeldBack has a real child start more than the rate, and asks for
// the least time that takes; that it takes no less holds on every machine.
func TestAFloodIsHeldBack(t *testing.T) {
	t.Parallel()
	installed(t, "python3")
	w := workspace(t, open(t, &Options{Warm: -1}))
	const script = `
import os, time
at = time.monotonic()
for i in range(1000):
    try: os.execv("/nonexistent", ["x"])
    except OSError: pass
print("held" if time.monotonic() - at > 0.9 else "free")`
	res := w.run(sallyport.SpawnOptions{}, "python3", "-c", script)
	if got := strings.TrimSpace(string(res.Stdout)); got != "held" {
		t.Errorf("1000 starts: %q, %q, want them held back", got, res.Stderr)
	}
}
