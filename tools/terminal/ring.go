package terminal

import "sync"

// ringBytes bounds what is kept of the output of a background process.
const ringBytes = 1 << 20

// outputRing is the last ringBytes of an output. Offsets count from the first byte
// that was ever written. It is safe for concurrent use.
type outputRing struct {
	mu    sync.Mutex
	kept  []byte // its end is total
	total int64
	// more is closed and replaced when something was written.
	more chan struct{}
}

func newOutputRing() *outputRing { return &outputRing{more: make(chan struct{})} }

// Write takes everything and never fails.
func (r *outputRing) Write(p []byte) (int, error) {
	n := len(p)
	if n == 0 {
		return 0, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += int64(n)
	if len(p) > ringBytes {
		p = p[len(p)-ringBytes:]
	}
	if len(r.kept)+len(p) > 2*ringBytes {
		// Only half of the buffer is ever shown; what moves is paid for by
		// the megabyte that was written since.
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-ringBytes:]...)
	}
	r.kept = append(r.kept, p...)
	close(r.more)
	r.more = make(chan struct{})
	return n, nil
}

func (r *outputRing) size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// readSince returns a copy of at most most bytes from offset on, the offset of
// the first of them, and a channel that is closed at the next write. An offset
// that is no longer kept is moved to the first that is; one beyond the end to
// the end.
func (r *outputRing) readSince(offset int64, most int) (p []byte, from int64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.kept[max(0, len(r.kept)-ringBytes):]
	first := r.total - int64(len(kept))
	from = min(max(offset, first), r.total)
	p = kept[from-first:]
	return append([]byte(nil), p[:min(len(p), most)]...), from, r.more
}
