package logging

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLinesOfBothFormats(t *testing.T) {
	var out bytes.Buffer
	l := New(&out, JSON, slog.LevelInfo)
	l.Info("call", "tool", "a\nb")
	l.Debug("not asked for")
	if _, err := l.Lines("sallyport: ").Write([]byte("sallyport: refused: x\nsecond\n")); err != nil {
		t.Fatal(err)
	}
	l.Close()
	var got []string
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q is not JSON: %v", line, err)
		}
		got = append(got, m["msg"].(string))
	}
	if want := "call,refused: x,second"; strings.Join(got, ",") != want {
		t.Errorf("messages %q, want %s", got, want)
	}
	out.Reset()
	l = New(&out, Text, slog.LevelWarn)
	l.Info("call")
	l.Warn("odd", "tool", "a\nb")
	l.Close()
	if s := out.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, `tool="a\nb"`) {
		t.Errorf("text = %q, want the warning on one line", s)
	}
}

// stuck is an output that takes nothing until it is let go.
type stuck struct {
	mu  sync.Mutex
	out bytes.Buffer
	let chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.let
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// An output that takes nothing makes no caller wait, costs bounded memory, and is told
// later what it missed.
func TestASlowReaderLosesLinesAndIsTold(t *testing.T) {
	w := &stuck{let: make(chan struct{})}
	l := New(w, JSON, slog.LevelInfo)
	long := strings.Repeat("x", 1000)
	for range 5000 { // five times what the queue holds
		l.Info("call", "args", long)
	}
	if l.Dropped() == 0 {
		t.Fatal("nothing was dropped, although the output takes nothing")
	}
	l.queue.mu.Lock()
	held := len(l.queue.waiting)
	l.queue.mu.Unlock()
	if held > maxQueued {
		t.Errorf("%d bytes wait, want at most %d", held, maxQueued)
	}
	close(w.let)
	l.Close()
	if s := w.out.String(); !strings.Contains(s, "log lines were dropped") {
		t.Errorf("the reader is not told of %d lost lines", l.Dropped())
	}
}

// Closing does not wait for an output that is stuck for good.
func TestCloseGivesUp(t *testing.T) {
	w := &stuck{let: make(chan struct{})}
	defer close(w.let)
	l := New(w, Text, slog.LevelInfo)
	l.Info("call")
	done := make(chan struct{})
	go func() { l.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("Close waits for a stuck output")
	}
}

func TestAFloodOfEqualWarningsIsCounted(t *testing.T) {
	s := newFlood(slog.DiscardHandler).s
	at := time.Unix(1000, 0)
	written := 0
	for range 1000 {
		if _, ok := s.admitRecord("a request was refused", at); ok {
			written++
		}
	}
	if written != floodBurst {
		t.Errorf("%d of 1000 lines at one moment are written, want %d", written, floodBurst)
	}
	if left, ok := s.admitRecord("a request was refused", at.Add(floodEvery)); !ok || left != 1000-floodBurst {
		t.Errorf("the next line: %v with %d left out, want it with %d", ok, left, 1000-floodBurst)
	}
	if _, ok := s.admitRecord("another message", at); !ok {
		t.Error("another message is limited too")
	}
}
