package gateway

import (
	"net/http"
	"time"
)

const (
	// writeWait bounds how long a write to a client may take. Long writes get
	// more time: slowest is the number of bytes a second that a client has to
	// read. A client that reads more slowly is treated as gone: it would occupy
	// the place of a request or a stream.
	writeWait = 5 * time.Second
	slowest   = 64 << 10
)

// slowClientWriter is a response writer that gives up on clients that read too slowly.
type slowClientWriter struct {
	http.ResponseWriter
	wait time.Duration // writeWait; less in tests
}

// Write sets a deadline that fits the length and writes.
func (p slowClientWriter) Write(text []byte) (int, error) {
	p.setDeadline(p.wait + time.Duration(len(text)/slowest)*time.Second)
	return p.ResponseWriter.Write(text)
}

// FlushError sends what was written.
func (p slowClientWriter) FlushError() error {
	p.setDeadline(p.wait)
	err := http.NewResponseController(p.ResponseWriter).Flush()
	// A stream may be silent for a long time.
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Time{})
	return err
}

// Unwrap is for http.ResponseController.
func (p slowClientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p slowClientWriter) setDeadline(d time.Duration) {
	// Only writers of tests do not support deadlines.
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(d))
}
