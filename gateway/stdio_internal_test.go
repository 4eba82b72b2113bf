package gateway

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// keptOutput is an output that stays readable after it was closed.
type keptOutput struct{ bytes.Buffer }

func (*keptOutput) Close() error { return nil }

// TestNothingIsWrittenAfterTheEnd sends a notice, as a change of the lists does,
// to a stream that has just been closed. To an output that is closed it would be
// a failed write, and so a failed command.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	out := &keptOutput{}
	l := newStdioStream(&core{}, io.NopCloser(strings.NewReader("")), out)
	if err := errors.Join(l.send([]byte("before")), l.close()); err != nil {
		t.Fatal(err)
	}
	if err := l.send([]byte("after")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("send() to a closed stream = %v, want %v", err, io.ErrClosedPipe)
	}
	if got := out.String(); got != "before\n" {
		t.Errorf("written: %q, want what came before the end", got)
	}
}
