package window_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/window"
)

// history is the naive model: every admission there ever was.
type history []int64

// within counts the admissions of the window that ends at now.
func (h history) within(now int64, w time.Duration) (n int) {
	for _, at := range h {
		if at > now-int64(w) && at <= now {
			n++
		}
	}
	return n
}

// wait is how long until one more would be admitted.
func (h history) wait(now int64, l sallyport.RateLimit) time.Duration {
	for d := time.Duration(0); ; d++ {
		if h.within(now+int64(d), l.Window) < l.Requests {
			return d
		}
	}
}

// start is far from the zero of the clock, as real times are.
const start = int64(1_700_000_000_000_000_000)

func anyLimit(t *rapid.T) sallyport.RateLimit {
	return sallyport.RateLimit{
		Requests: rapid.IntRange(1, 20).Draw(t, "requests"),
		Window:   time.Duration(rapid.IntRange(1, 60).Draw(t, "window")),
	}
}

// TestARingIsTheNaiveModel compares every answer while the clock goes on and
// the number of requests changes.
func TestARingIsTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, now := anyLimit(t), start
		var r window.Ring
		var h history
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			now += int64(rapid.IntRange(0, 12).Draw(t, "later"))
			if rapid.IntRange(0, 30).Draw(t, "change") == 0 {
				limit.Requests = rapid.IntRange(1, 20).Draw(t, "requests")
			}
			want := h.wait(now, limit)
			if got := r.Admit(limit, now); got != want {
				t.Fatalf("Admit(%v) at %d = %d, want %d", limit, now-start, got, want)
			}
			if want == 0 {
				h = append(h, now)
			}
		}
	})
}

// TestAChangedLimitIsNeverExceeded changes the window too: what an earlier
// limit did not have to keep may be taken for newer than it was, never for
// older.
func TestAChangedLimitIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := start
		var r window.Ring
		var h history
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			now += int64(rapid.IntRange(0, 12).Draw(t, "later"))
			limit := sallyport.RateLimit{
				Requests: rapid.SampledFrom([]int{1, 2, 9, 20}).Draw(t, "requests"),
				Window:   rapid.SampledFrom([]time.Duration{1, 15, 60}).Draw(t, "window"),
			}
			wait := r.Admit(limit, now)
			if want := h.wait(now, limit); wait < want {
				t.Fatalf("Admit(%v) = %d, want at least %d", limit, wait, want)
			}
			if wait == 0 {
				h = append(h, now)
			}
		}
	})
}

// TestAClockThatIsSetBackAdmitsNoMore sets the clock back again and again, by
// any distance, and counts by the time that really passed.
func TestAClockThatIsSetBackAdmitsNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, now, offset, last := anyLimit(t), start, int64(0), int64(0)
		limit.Requests = min(limit.Requests, 4)
		var r window.Ring
		var h history
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			now += rapid.SampledFrom([]int64{0, 1, 3, 10, 60, 200}).Draw(t, "later")
			offset -= rapid.SampledFrom([]int64{0, 0, 0, 1, 20, 100, 200}).Draw(t, "back")
			wait := r.Admit(limit, now+offset)
			if want := h.wait(now, limit); wait < want {
				t.Fatalf("Admit(%v) = %d, want at least %d", limit, wait, want)
			}
			if r.Last < last {
				t.Fatalf("the newest admission was at %d and is at %d", last-start, r.Last-start)
			}
			if last = r.Last; wait == 0 {
				h = append(h, now)
			}
		}
	})
}

// TestAClockThatWasAheadHoldsNobodyUpForLong admits with a clock that is wrong
// by any distance, puts it right, and follows the waits.
func TestAClockThatWasAheadHoldsNobodyUpForLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := anyLimit(t)
		ahead := rapid.Int64Range(0, int64(20*365*24*time.Hour)).Draw(t, "ahead")
		var r window.Ring
		for range limit.Requests {
			if wait := r.Admit(limit, start+ahead); wait != 0 {
				t.Fatalf("Admit = %d, want room", wait)
			}
		}
		total := time.Duration(0)
		for wait := r.Admit(limit, start); wait != 0; wait = r.Admit(limit, start+int64(total)) {
			if total += wait; total > 3*limit.Window {
				t.Fatalf("still refused after %d, want an end", total)
			}
		}
		if total < limit.Window {
			t.Fatalf("admitted after %d, want a whole window", total)
		}
	})
}

func TestASetBackClockThatIsPutRight(t *testing.T) {
	limit := sallyport.RateLimit{Requests: 2, Window: time.Minute}
	for _, back := range []time.Duration{time.Second, time.Minute, time.Hour} {
		var r window.Ring
		now := start
		r.Admit(limit, now)
		if wait := r.Admit(limit, now-int64(back)); wait != 0 {
			t.Errorf("back %v: wait = %v, want the second call admitted", back, wait)
		}
		r.Admit(limit, now-int64(back))
		now += int64(time.Second)
		if wait := r.Admit(limit, now); wait != 59*time.Second {
			t.Errorf("back %v and forth: wait = %v, want 59s", back, wait)
		}
	}
}

func TestARingStaysSmall(t *testing.T) {
	limit := sallyport.RateLimit{Requests: 1_000_000, Window: time.Hour}
	var r window.Ring
	for i := range 100 {
		r.Admit(limit, start+int64(i))
	}
	if r.Slots() > 200 {
		t.Errorf("%d slots for 100 admissions", r.Slots())
	}
	limit.Requests = 2
	r.Admit(limit, start+int64(2*time.Hour))
	if r.Slots() > 2 {
		t.Errorf("%d slots after the limit became 2", r.Slots())
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name  string
		limit sallyport.RateLimit
		ok    bool
	}{
		{"least", sallyport.RateLimit{Requests: 1, Window: 1}, true},
		{"most", sallyport.RateLimit{Requests: window.MaxRequests, Window: window.MaxLength}, true},
		{"no requests", sallyport.RateLimit{Window: 1}, false},
		{"negative requests", sallyport.RateLimit{Requests: -1, Window: 1}, false},
		{"too many requests", sallyport.RateLimit{Requests: window.MaxRequests + 1, Window: 1}, false},
		{"no window", sallyport.RateLimit{Requests: 1}, false},
		{"negative window", sallyport.RateLimit{Requests: 1, Window: -1}, false},
		{"long window", sallyport.RateLimit{Requests: 1, Window: window.MaxLength + 1}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := window.Check(tt.limit); (err == nil) != tt.ok {
				t.Errorf("Check(%v) = %v, want ok = %v", tt.limit, err, tt.ok)
			}
			if err := window.CheckCall("k", tt.limit); (err == nil) != tt.ok {
				t.Errorf("CheckCall(%v) = %v, want ok = %v", tt.limit, err, tt.ok)
			}
		})
	}
	good := sallyport.RateLimit{Requests: 1, Window: 1}
	for _, key := range []string{"", string(make([]byte, window.MaxKeyBytes+1))} {
		if err := window.CheckCall(key, good); err == nil {
			t.Errorf("CheckCall(key of %d bytes) = no error, want one", len(key))
		}
	}
}

func BenchmarkRing(b *testing.B) {
	limit := sallyport.RateLimit{Requests: 1000, Window: time.Microsecond}
	var r window.Ring
	b.ReportAllocs()
	for now := start; b.Loop(); now++ {
		r.Admit(limit, now)
	}
}

// TestAddedAdmissionsCountFromTheLaterTime: no addition makes time go back, nor lets a
// clock that is set back later go faster.
func TestAddedAdmissionsCountFromTheLaterTime(t *testing.T) {
	t.Parallel()
	l := window.Line{Count: 3, Last: 100}
	for _, tt := range []struct {
		at, now int64
		want    window.Line
	}{
		{at: 150, now: 200, want: window.Line{Count: 5, Last: 150}},
		{at: 50, now: 200, want: window.Line{Count: 5, Last: 100}},
		{at: 50, now: 90, want: window.Line{Count: 5, Last: 100, Ahead: 10}},
	} {
		if got := l.Add(2, tt.at, tt.now); got != tt.want {
			t.Errorf("Add(2, %d, %d) = %+v, want %+v", tt.at, tt.now, got, tt.want)
		}
	}
}
