package gateway

import (
	"net/http"
	"time"
)

const (
	// writeWait bounds how long a write to a client may take, and slowest is
	// the least that a client has to read in a second beyond it. One that reads
	// less is gone: the library tells one session after the other of a change,
	// within ten seconds for all.
	writeWait = 5 * time.Second
	slowest   = 64 << 10
)

// paced is an answer to a client that has to read it.
type paced struct {
	http.ResponseWriter
	wait time.Duration // writeWait, and less in tests
}

// Write writes within a time that fits the length.
func (p paced) Write(text []byte) (int, error) {
	p.within(p.wait + time.Duration(len(text)/slowest)*time.Second)
	return p.ResponseWriter.Write(text)
}

// FlushError sends what was written.
func (p paced) FlushError() error {
	p.within(p.wait)
	err := http.NewResponseController(p.ResponseWriter).Flush()
	// A stream may be silent for long.
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Time{})
	return err
}

// Unwrap is for http.ResponseController.
func (p paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p paced) within(d time.Duration) {
	// Writers that know no deadlines are those of tests.
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(d))
}
