package window

import (
	"time"

	"github.com/sallyport/sallyport"
)

// leastSlots is the size of a ring that grows: most keys are used now and
// then, far below their limit.
const leastSlots = 8

// Ring is one key in memory. The zero value has no past. It is not safe for
// concurrent use.
type Ring struct {
	// Line is the past without the times.
	Line
	times []int64 // the time of admission i is at i modulo the length
	kept  int64   // how many of the newest are there
}

// Slots returns how many times the ring has room for, 8 bytes each.
func (r *Ring) Slots() int { return len(r.times) }

// Admit takes one step, in constant time: averaged over the calls while the
// ring grows or the limit has changed, for each call afterwards. It returns
// how long to wait, 0 for an admission.
func (r *Ring) Admit(limit sallyport.RateLimit, now int64) (wait time.Duration) {
	nth := r.Dropped
	if number, ok := r.Nth(limit); ok && int64(limit.Requests) <= r.kept {
		nth = r.times[number%int64(len(r.times))]
	}
	next, wait := r.Step(limit, now, nth)
	r.Line = next
	if wait == 0 {
		r.storeTime(limit.Requests)
	}
	return wait
}

// storeTime stores the time of the newest admission, of which at most n
// count.
func (r *Ring) storeTime(n int) {
	switch size := len(r.times); {
	case size < n && r.kept == int64(size):
		r.resizeTimes(min(n, max(leastSlots, 2*size)))
	case size > max(2*n, leastSlots):
		r.resizeTimes(n)
	}
	size := int64(len(r.times))
	r.times[(r.Count-1)%size] = r.Last
	r.kept = min(r.kept+1, size)
}

// resizeTimes resizes the ring and keeps the newest times, without that of
// the admission under way.
func (r *Ring) resizeTimes(size int) {
	times := make([]int64, size)
	kept := min(r.kept, int64(size))
	for number := r.Count - 1 - kept; number < r.Count-1; number++ {
		times[number%int64(size)] = r.times[number%int64(len(r.times))]
	}
	r.times, r.kept = times, kept
}
