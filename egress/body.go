package egress

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sallyport/sallyport"
)

// boundedBody bounds a response body in size and time. It is read by one goroutine
// and may be closed by another.
type boundedBody struct {
	rc     io.ReadCloser
	ctx    context.Context // of this exchange, with the deadline
	parent context.Context // of the caller
	cancel context.CancelFunc
	client *Client
	host   string
	left   int64
	err    error // sticky
}

// Read reads decompressed bytes. One byte beyond the bound is asked for, so
// that a body of exactly the bound is not refused.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p))-1 > b.left {
		p = p[:b.left+1]
	}
	n, err := b.rc.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), newDialError(b.host, fmt.Sprintf("sent more than %d bytes", b.client.maxBytes), nil)
	}
	b.left -= int64(n)
	if err != nil {
		b.recordEnd(err)
	}
	return n, b.err
}

// recordEnd remembers the error and releases the timer.
func (b *boundedBody) recordEnd(err error) {
	if err != io.EOF && b.client.timedOut(b.ctx, b.parent) {
		err = &timeoutError{host: b.host, after: b.client.timeout}
	}
	b.err = err
	b.cancel()
}

// Close closes the body and releases the timer.
func (b *boundedBody) Close() error {
	err := b.rc.Close()
	b.cancel()
	return err
}

// timeoutError reports that the bound on time was reached. It matches
// context.DeadlineExceeded and is a net.Error by shape.
type timeoutError struct {
	host  string
	after time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("%s did not finish within %s", e.host, e.after)
}

// Timeout and Temporary are for callers that retry.
func (*timeoutError) Timeout() bool   { return true }
func (*timeoutError) Temporary() bool { return true }

// Unwrap returns both classes that the error belongs to.
func (e *timeoutError) Unwrap() []error {
	return []error{context.DeadlineExceeded, &sallyport.Error{Code: sallyport.CodeExecutionFailed, Resource: e.host, Operation: "dial", Detail: e.Error()}}
}
