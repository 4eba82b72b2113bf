package command

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestAnswerWriterNamesLostAnswers writes to outputs that take nothing. A full
// device loses an answer; an output that the program has closed itself does not.
func TestAnswerWriterNamesLostAnswers(t *testing.T) {
	t.Parallel()
	closed, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	gone, pipe := io.Pipe()
	gone.Close()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full: ", err)
	}
	defer full.Close()
	for name, tt := range map[string]struct {
		out  io.WriteCloser
		lost bool
	}{
		"closed by the program": {closed, false},
		"closed by the reader":  {pipe, false},
		"full":                  {full, true},
	} {
		w := &answerWriter{WriteCloser: tt.out}
		if _, err := io.WriteString(w, "answer"); err == nil {
			t.Errorf("%s: Write() succeeded, want an error", name)
		}
		if err := w.writeError(); (err != nil) != tt.lost {
			t.Errorf("%s: writeError() = %v, want an error: %v", name, err, tt.lost)
		}
	}
}
