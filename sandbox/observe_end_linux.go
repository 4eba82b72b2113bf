package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// awaitProgram waits until the program runs and then until it has ended, or
// ends it when ctx does.
func (b *observer) awaitProgram(ctx context.Context, h *readyHelper, spaces bool) (*Observation, error) {
	program, err := b.awaitRunning(ctx, h, spaces)
	if err != nil {
		h.discard()
		return nil, err
	}
	if program != nil {
		defer program.Close()
	}
	done, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		endObserved(h.proc, program, done)
	})
	state, err := h.proc.Wait()
	close(done)
	if !stop() {
		<-ended // it uses program
	}
	if !spaces {
		_ = syscall.Kill(-h.proc.Pid, syscall.SIGKILL)
	}
	if err != nil {
		return nil, err
	}
	return &Observation{ExitCode: exitCode(state), Interrupted: ctx.Err() != nil}, nil
}

// awaitRunning waits until the program runs, below an init where it has
// namespaces, and returns the pidfd that it has there. The init sends that when
// the program may run already, so that the end of ctx leaves it a moment to do
// so.
func (b *observer) awaitRunning(ctx context.Context, h *readyHelper, spaces bool) (program *os.File, err error) {
	defer context.AfterFunc(ctx, func() { _ = h.control.SetReadDeadline(time.Now().Add(stopGrace)) })()
	for {
		kind, text, fd, err := h.receiveMessage()
		switch {
		case err == nil && kind == helper.MsgProgram && fd >= 0 && program == nil:
			program = os.NewFile(uintptr(fd), "program")
			continue
		case err != nil:
		case kind == helper.MsgFailed:
			err = errors.New(text)
		case kind != 0 || spaces != (program != nil):
			err = fmt.Errorf("the helper answered %q", string(kind))
		default:
			return program, nil
		}
		if program != nil {
			program.Close()
		}
		return nil, err
	}
}

// endObserved asks the program to end, which it does when it handles the
// signal, or that of a terminal, which it has got already; then it kills. program
// is nil where the first process is the program.
func endObserved(first *os.Process, program *os.File, done <-chan struct{}) {
	pid, terminate := first.Pid, func() { _ = first.Signal(syscall.SIGTERM) }
	if program != nil {
		pid, terminate = numberOf(program), func() { _ = sendSignal(program, syscall.SIGTERM) }
	}
	if handlesSignal(pid, syscall.SIGTERM, syscall.SIGINT) {
		terminate()
		select {
		case <-done:
			return
		case <-time.After(stopGrace):
		}
	}
	if program == nil {
		_ = syscall.Kill(-first.Pid, syscall.SIGKILL)
	}
	_ = first.Kill()
}
