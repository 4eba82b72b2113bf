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

// blockingPipe returns the ends of a pipe in the mode in which a program gets them.
func blockingPipe(t *testing.T) (in, out *os.File) {
	t.Helper()
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	in, out = os.NewFile(uintptr(ends[0]), "in"), os.NewFile(uintptr(ends[1]), "out")
	t.Cleanup(func() { _ = errors.Join(in.Close(), out.Close()) })
	return in, out
}

// TestAPipeIsPolled: what was written before and after is read, and closing the input
// ends a read that waits, which it does not for a file that blocks.
func TestAPipeIsPolled(t *testing.T) {
	t.Parallel()
	in, out := blockingPipe(t)
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
	wantBlocking(t, other)
}

// wantBlocking fails the test unless reads of the file still block.
func wantBlocking(t *testing.T, fd int) {
	t.Helper()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if errno != 0 || flags&syscall.O_NONBLOCK != 0 {
		t.Errorf("the flags of the input are %x (%v), want that reads block", flags, errno)
	}
}

// TestAPolledPipeEnds where the other end is closed.
func TestAPolledPipeEnds(t *testing.T) {
	t.Parallel()
	in, out := blockingPipe(t)
	polled := openPolled(in)
	_, err := out.WriteString(strings.Repeat("x", 20_000))
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if n, err := got.ReadFrom(polled); n != 20_000 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if err := polled.Close(); err != nil {
		t.Error(err)
	}
}

// TestASocketStaysAsItIs, since it may be standard output, too.
func TestASocketStaysAsItIs(t *testing.T) {
	t.Parallel()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[1])
	in := os.NewFile(uintptr(pair[0]), "in")
	defer in.Close()
	if got := openPolled(in); got != io.ReadCloser(in) {
		t.Errorf("it was opened as %T", got)
	}
	wantBlocking(t, pair[0])
}
