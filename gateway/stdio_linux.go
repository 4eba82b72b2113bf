package gateway

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// openPolled opens a pipe once more, so that the runtime waits for it as it waits for a
// connection, and closing it ends a read. A read that blocks keeps one of the runtime's
// processors idle until the runtime takes it back, 20 µs later at the earliest. Other
// inputs are returned as they are: a socket would stop blocking for all who have it open,
// and it may be standard output, too.
func openPolled(in io.ReadCloser) io.ReadCloser {
	f, ok := in.(*os.File)
	if !ok || f.SetReadDeadline(time.Time{}) == nil { // which is polled already
		return in
	}
	if info, err := f.Stat(); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		return in
	}
	// A pipe that is opened has flags of its own.
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return in
	}
	return &polledInput{again, f}
}

// polledInput is a pipe that was opened once more.
type polledInput struct {
	*os.File
	first *os.File
}

func (p *polledInput) Close() error { return errors.Join(p.File.Close(), p.first.Close()) }
