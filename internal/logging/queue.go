package logging

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxQueued bounds the lines that wait for the output, in bytes together.
	maxQueued = 1 << 20
	// closeWait bounds how long the end of the program waits for the output.
	closeWait = time.Second
)

// queue writes lines from one goroutine and drops those for which there is no room.
// It is safe for concurrent use.
type queue struct {
	w    io.Writer
	most int
	tell func(lines int64) []byte // the line that says how many were dropped

	dropped atomic.Int64 // lines, until now

	mu      sync.Mutex
	waiting []byte
	missing int64 // lines that were dropped and not told yet
	closed  bool
	wake    chan struct{}
	ended   chan struct{}
}

func newQueue(w io.Writer, most int, tell func(lines int64) []byte) *queue {
	q := &queue{w: w, most: most, tell: tell, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go q.runQueue()
	return q
}

// Write takes one whole line and never waits.
func (q *queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting)+len(line) > q.most {
		q.missing++
		q.dropped.Add(1)
		return len(line), nil
	}
	q.waiting = append(q.waiting, line...)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return len(line), nil
}

// runQueue writes what waits until the queue is closed and empty.
func (q *queue) runQueue() {
	defer close(q.ended)
	var batch []byte
	for {
		q.mu.Lock()
		batch, q.waiting = q.waiting, batch[:0]
		missing, closed := q.missing, q.closed
		q.missing = 0
		q.mu.Unlock()
		if missing > 0 {
			batch = append(batch, q.tell(missing)...)
		}
		if len(batch) > 0 {
			// An output that is gone cannot be told.
			_, _ = q.w.Write(batch)
			continue
		}
		if closed {
			return
		}
		<-q.wake
	}
}

// close writes what waits, and gives up after a time. Closing twice is safe.
func (q *queue) close() error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	select {
	case <-q.ended:
	case <-time.After(closeWait):
	}
	return nil
}
