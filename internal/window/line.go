package window

import (
	"time"

	"github.com/sallyport/sallyport"
)

// Line is what a step has to know of the past of one key, beside the time of
// one admission. The zero value has no past. Times are Unix nanoseconds.
type Line struct {
	// Count is the number of admissions so far. They are numbered from 0.
	Count int64
	// Last is when the newest was. It never falls.
	Last int64
	// Ahead is by how much the key's time was ahead of the clock.
	Ahead int64
	// Dropped is a time that no admission is later than whose own time need
	// not be kept any more.
	Dropped int64
}

// Nth returns the number of the admission whose time decides: the N-th newest.
// ok is false while there are fewer than N. A store that no longer keeps its time
// takes Dropped for it.
func (l Line) Nth(limit sallyport.RateLimit) (number int64, ok bool) {
	number = l.Count - int64(limit.Requests)
	return number, number >= 0
}

// Step decides about a call at now, given the time of the N-th newest
// admission, which is ignored while there are fewer. A wait of 0 admits the
// call at next.Last: the times of the admissions from next.Nth on have to be
// kept then. Otherwise wait is how long it takes until a call would be
// admitted, and next differs from l when the clock was set far back, which has
// to be remembered too.
func (l Line) Step(limit sallyport.RateLimit, now, nth int64) (next Line, wait time.Duration) {
	at, far := l.timeAt(now, limit.Window)
	next = l
	_, full := l.Nth(limit)
	if free := nth + int64(limit.Window); full && free > at {
		if far {
			next.Ahead = at - now
			return next, time.Duration(free - at)
		}
		return next, time.Duration(free - now)
	}
	next.Count, next.Last, next.Ahead = l.Count+1, at, at-now
	if full {
		next.Dropped = max(l.Dropped, nth)
	}
	return next, 0
}

// Add returns the line with admissions that were made up to a time at, or up to the
// newest that it has; all of them count from the later of both.
func (l Line) Add(count int, at, now int64) Line {
	l.Count, l.Last = l.Count+int64(count), max(l.Last, at)
	l.Ahead = max(0, l.Last-now)
	return l
}

// timeAt returns the time of the key when the clock says now: never before
// the newest admission, and no further from it than the clock can have moved.
// far reports a clock that is more than a window behind.
func (l Line) timeAt(now int64, window time.Duration) (at int64, far bool) {
	switch behind := l.Last - now; {
	case behind <= 0:
		return now, false
	case behind <= int64(window):
		return l.Last, false
	default:
		return max(now+l.Ahead, l.Last), true
	}
}

// Expires is when the key need not be remembered any more.
func (l Line) Expires(window time.Duration) int64 { return l.Last + int64(max(window, Keep)) }
