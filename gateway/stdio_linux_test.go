package gateway

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// blockingInputs are pairs as clients give them to a program, in the mode in which it
// gets them: a file to read from, and one to write to.
func blockingInputs(t *testing.T) map[string][2]*os.File {
	t.Helper()
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string][2]*os.File{}
	for name, fds := range map[string][2]int{"pipe": pipe, "socket": pair} {
		files := [2]*os.File{os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name)}
		inputs[name] = files
		t.Cleanup(func() { _ = errors.Join(files[0].Close(), files[1].Close()) })
	}
	return inputs
}

// TestInputsArePolled: what was written before and after is read, and closing the input
// ends a read that waits, which it does not for a file that blocks.
func TestInputsArePolled(t *testing.T) {
	for name, files := range blockingInputs(t) {
		t.Run(name, func(t *testing.T) {
			in, out := files[0], files[1]
			other, err := syscall.Dup(int(in.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Close(other)
			if _, err := out.WriteString("before "); err != nil {
				t.Fatal(err)
			}
			polled := openPolled(in)
			if _, err := out.WriteString("after"); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len("before after"))
			if _, err := io.ReadFull(polled, got); err != nil || string(got) != "before after" {
				t.Errorf("read %q, %v", got, err)
			}
			ended := make(chan error)
			go func() {
				_, err := polled.Read(make([]byte, 1))
				ended <- err
			}()
			if err := polled.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			if err := <-ended; err == nil || errors.Is(err, io.EOF) {
				t.Errorf("the read that waits ended with %v, want that the file was closed", err)
			}
			if _, err := in.Stat(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the input is open (%v)", err)
			}
			flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(other), syscall.F_GETFL, 0)
			if errno != 0 || flags&syscall.O_NONBLOCK != 0 {
				t.Errorf("who shares the input finds the flags %x (%v), want that reads block", flags, errno)
			}
		})
	}
}

// TestPolledInputsEnd where the other end is closed.
func TestPolledInputsEnd(t *testing.T) {
	for name, files := range blockingInputs(t) {
		t.Run(name, func(t *testing.T) {
			polled := openPolled(files[0])
			_, err := files[1].WriteString(strings.Repeat("x", 20_000))
			if err := errors.Join(err, files[1].Close()); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if n, err := got.ReadFrom(polled); n != 20_000 || err != nil {
				t.Errorf("read %d bytes, %v", n, err)
			}
			if err := polled.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
