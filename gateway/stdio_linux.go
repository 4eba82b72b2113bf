package gateway

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// openPolled opens an input once more, so that the runtime waits for it as it waits for
// a connection, and closing it ends a read. A read that blocks keeps one of the runtime's
// processors idle until the runtime takes it back, 20 µs later at the earliest. Inputs
// that it cannot open so are returned as they are.
func openPolled(in io.ReadCloser) io.ReadCloser {
	f, ok := in.(*os.File)
	if !ok || f.SetReadDeadline(time.Time{}) == nil { // which is polled already
		return in
	}
	info, err := f.Stat()
	if err != nil {
		return in
	}
	switch info.Mode().Type() {
	case fs.ModeNamedPipe:
		// This end of the pipe has flags of its own: whoever shares the file does not see them.
		if again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			return &polledInput{again, f, false}
		}
	case fs.ModeSocket:
		if again, err := net.FileConn(f); err == nil {
			return &polledInput{again, f, true}
		}
	}
	return in
}

// polledInput is an input that was opened once more.
type polledInput struct {
	io.ReadCloser
	first *os.File
	// shared is true when both have the same flags.
	shared bool
}

func (p *polledInput) Close() error {
	err := p.ReadCloser.Close()
	if p.shared {
		err = errors.Join(err, syscall.SetNonblock(int(p.first.Fd()), false))
	}
	return errors.Join(err, p.first.Close())
}
