package upstream

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestWhatNobodyReadsIsGivenUp with its sender: no sender waits for a process
// that has stopped reading, and such a connection ends.
func TestWhatNobodyReadsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		theirs := newStdinWriter()
		answers, out := io.Pipe()
		defer out.Close()
		s := newPipe(&connLink{s: &mountedServer{m: &Mounts{memory: newMemory()}}}, theirs, answers)
		defer s.Close()
		message := &jsonrpc.Request{Method: "notifications/a"}
		for range 3 { // the second and third wait for their turn
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := s.Write(ctx, message); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Write = %v, want the end of its context", err)
			}
			cancel()
		}
		// A process that was busy reads on, and nothing is lost.
		buffer := make([]byte, 1<<10)
		if n, err := theirs.Read(buffer); err != nil || buffer[n-1] != '\n' {
			t.Errorf("what is read = %q, %v; want the message", buffer[:n], err)
		}
		time.Sleep(2 * readWait)
		go func() { _, _ = theirs.Read(buffer) }()
		if err := s.Write(t.Context(), message); err != nil {
			t.Errorf("Write to a process that reads again = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = s.Write(ctx, message)
		time.Sleep(2 * readWait)
		if err := s.Write(t.Context(), message); err == nil {
			t.Error("Write to a process that read nothing for long succeeded, want the connection to have ended")
		}
	})
}
