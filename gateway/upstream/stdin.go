package upstream

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// readWait bounds how long a server on this machine may leave the message of a
// cancelled call unread. A server that is busy with other work reads on within
// that time.
const readWait = startWait

// stdinWriter is the standard input of a process, without a buffer in between. A
// process may stop reading, so a write ends with its context.
type stdinWriter struct {
	// lineLock is held by the one line that is being written.
	lineLock chan struct{}
	lines    chan []byte
	lineRead chan struct{} // a line was read completely
	written  atomic.Uint64
	// rest is the unread part of a line. Only the reader uses it.
	rest  []byte
	over  chan struct{}
	close sync.Once
}

func newStdinWriter() *stdinWriter {
	return &stdinWriter{lineLock: make(chan struct{}, 1), lines: make(chan []byte), lineRead: make(chan struct{}, 1), over: make(chan struct{})}
}

// Read reads for the process.
func (s *stdinWriter) Read(b []byte) (int, error) {
	for len(s.rest) == 0 {
		select {
		case <-s.over:
			return 0, io.EOF
		case s.rest = <-s.lines:
		}
	}
	n := copy(b, s.rest)
	if s.rest = s.rest[n:]; len(s.rest) == 0 {
		s.lineRead <- struct{}{}
	}
	return n, nil
}

// Close ends reads and writes.
func (s *stdinWriter) Close() error {
	s.close.Do(func() { close(s.over) })
	return nil
}

// writeLine writes a line. A line that is given up half-way is still written; stuck
// is called when the process does not read it.
func (s *stdinWriter) writeLine(ctx context.Context, line []byte, stuck func()) error {
	select {
	case s.lineLock <- struct{}{}:
	case <-s.over:
		return io.ErrClosedPipe
	case <-ctx.Done():
		s.giveUp(stuck)
		return ctx.Err()
	}
	return s.handOver(ctx, s.lines, line, stuck)
}

// handOver passes a line to the reader and waits until it is read. lines is nil
// when the reader has the line already.
func (s *stdinWriter) handOver(ctx context.Context, lines chan<- []byte, line []byte, stuck func()) error {
	for {
		select {
		case lines <- line:
			lines = nil
		case <-s.lineRead:
			s.written.Add(1)
			<-s.lineLock
			return nil
		case <-s.over:
			<-s.lineLock
			return io.ErrClosedPipe
		case <-ctx.Done():
			go func() { _ = s.handOver(context.WithoutCancel(ctx), lines, line, stuck) }()
			s.giveUp(stuck)
			return ctx.Err()
		}
	}
}

// giveUp ends the connection unless the line that is being written is read
// soon.
func (s *stdinWriter) giveUp(stuck func()) {
	before := s.written.Load()
	time.AfterFunc(readWait, func() {
		if s.written.Load() == before && len(s.lineLock) > 0 {
			stuck()
		}
	})
}
