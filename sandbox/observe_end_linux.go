package sandbox

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// wait waits until the program runs and then until it has ended, or ends it
// when ctx does.
func (b *observer) wait(ctx context.Context, h *ready, spaces bool) (*Observation, error) {
	done := make(chan struct{})
	defer close(done)
	defer context.AfterFunc(ctx, func() { endObserved(h.proc, spaces, done) })()
	kind, text, _, err := h.receive()
	if kind == helper.MsgFailed {
		err = errors.New(text)
	}
	if err != nil {
		h.discard()
		return nil, err
	}
	state, err := h.proc.Wait()
	if !spaces {
		_ = syscall.Kill(-h.proc.Pid, syscall.SIGKILL)
	}
	if err != nil {
		return nil, err
	}
	out := &Observation{ExitCode: state.ExitCode(), Interrupted: ctx.Err() != nil}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.ExitCode = 128 + int(ws.Signal())
	}
	return out, nil
}

// endObserved asks the program to end, which it does when it handles the
// signal, or that of a terminal, which it has got already; then it kills.
func endObserved(p *os.Process, spaces bool, done <-chan struct{}) {
	if catches(p.Pid, syscall.SIGTERM, syscall.SIGINT) {
		_ = p.Signal(syscall.SIGTERM)
		select {
		case <-done:
			return
		case <-time.After(stopGrace):
		}
	}
	if !spaces {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
	_ = p.Kill()
}
