package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/window"
	"github.com/sallyport/sallyport/store"
)

func testLimits(t *testing.T, open opener) {
	runParts(t, open, []part{
		{"Window", testLimitWindow},
		{"Keys", testLimitKeys},
		{"Changed", testLimitChanged},
		{"Clock", testLimitClock},
		{"Forgotten", testLimitForgotten},
		{"Model", testLimitModel},
		{"Concurrent", testLimitConcurrent},
		{"Refused", testLimitRefused},
	})
}

// wantWait checks how long one call has to wait.
func wantWait(t testing.TB, l sallyport.Limiter, key string, limit sallyport.RateLimit, want time.Duration) {
	t.Helper()
	wait, err := l.Admit(t.Context(), key, limit)
	if wait != want || err != nil {
		t.Errorf("Admit(%q, %v) = %v, %v, want %v, no error", key, limit, wait, err, want)
	}
}

func testLimitWindow(t *testing.T, open opener) {
	c := newManualClock()
	l := open(t, Options{Now: c.Now})
	for _, w := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		limit := sallyport.RateLimit{Requests: 3, Window: w}
		key := w.String()
		wantWait(t, l, key, limit, 0)
		c.advance(w / 4)
		wantWait(t, l, key, limit, 0)
		wantWait(t, l, key, limit, 0)
		// A refused call takes nothing, however often it comes.
		for range 5 {
			wantWait(t, l, key, limit, w-w/4)
		}
		c.advance(w - w/4 - 1)
		wantWait(t, l, key, limit, 1)
		c.advance(1)
		wantWait(t, l, key, limit, 0)
		wantWait(t, l, key, limit, w/4)
		c.advance(w / 4)
		wantWait(t, l, key, limit, 0)
		wantWait(t, l, key, limit, 0)
		wantWait(t, l, key, limit, w-w/4)
	}
}

func testLimitKeys(t *testing.T, open opener) {
	l := open(t, Options{Now: newManualClock().Now})
	limit := sallyport.RateLimit{Requests: 1, Window: time.Hour}
	long := strings.Repeat("k", window.MaxKeyBytes)
	for _, key := range []string{"a", "A", "a\x00", "a\x00b", "\xff", "a/b", "%", long} {
		wantWait(t, l, key, limit, 0)
		wantWait(t, l, key, limit, time.Hour)
	}
}

func testLimitChanged(t *testing.T, open opener) {
	c := newManualClock()
	l := open(t, Options{Now: c.Now})
	of := func(n int, w time.Duration) sallyport.RateLimit { return sallyport.RateLimit{Requests: n, Window: w} }
	wantWait(t, l, "k", of(2, time.Hour), 0)
	wantWait(t, l, "k", of(2, time.Hour), 0)
	wantWait(t, l, "k", of(2, time.Hour), time.Hour)
	c.advance(time.Minute)
	// More requests: those that were made still count.
	wantWait(t, l, "k", of(3, time.Hour), 0)
	wantWait(t, l, "k", of(3, time.Hour), 59*time.Minute)
	// Fewer.
	wantWait(t, l, "k", of(1, time.Hour), time.Hour)
	// A shorter window lets go of what is older, a longer one takes it back.
	wantWait(t, l, "k", of(2, time.Minute), 0)
	wantWait(t, l, "k", of(2, time.Minute), time.Minute)
	wantWait(t, l, "k", of(3, 24*time.Hour), 24*time.Hour-time.Minute)
	wantWait(t, l, "k", of(4, 24*time.Hour), 24*time.Hour-time.Minute)
	wantWait(t, l, "k", of(5, 24*time.Hour), 0)
	// A short limit forgets times. What it forgot was out of its own window,
	// and counts in a longer one no longer than it has to.
	c.advance(time.Hour)
	wantWait(t, l, "k", of(2, time.Minute), 0)
	wantWait(t, l, "k", of(2, time.Minute), 0)
	c.advance(time.Hour)
	wantWait(t, l, "k", of(4, time.Hour), 0)
}

// testLimitClock sets the clock back by less and by more than the window.
func testLimitClock(t *testing.T, open opener) {
	limit := sallyport.RateLimit{Requests: 2, Window: time.Minute}
	c := newManualClock()
	l := open(t, Options{Now: c.Now})

	wantWait(t, l, "near", limit, 0)
	c.advance(-30 * time.Second)
	wantWait(t, l, "near", limit, 0)
	wantWait(t, l, "near", limit, 90*time.Second)
	c.advance(90*time.Second - 1)
	wantWait(t, l, "near", limit, 1)
	c.advance(1)
	wantWait(t, l, "near", limit, 0)

	wantWait(t, l, "far", limit, 0)
	wantWait(t, l, "far", limit, 0)
	c.advance(-1000 * time.Hour)
	wantWait(t, l, "far", limit, time.Minute)
	c.advance(time.Minute - 1)
	wantWait(t, l, "far", limit, 1)
	c.advance(1)
	wantWait(t, l, "far", limit, 0)
	wantWait(t, l, "far", limit, 0)
	wantWait(t, l, "far", limit, time.Minute)

	// And right again at once.
	wantWait(t, l, "again", limit, 0)
	wantWait(t, l, "again", limit, 0)
	c.advance(-time.Hour)
	wantWait(t, l, "again", limit, time.Minute)
	c.advance(time.Hour + time.Second)
	wantWait(t, l, "again", limit, 59*time.Second)
}

// testLimitForgotten uses many keys once and comes back after long.
func testLimitForgotten(t *testing.T, open opener) {
	c := newManualClock()
	l := open(t, Options{Now: c.Now})
	short := sallyport.RateLimit{Requests: 1, Window: time.Second}
	week := sallyport.RateLimit{Requests: 1, Window: 7 * 24 * time.Hour}
	wantWait(t, l, "week", week, 0)
	for i := range 50 {
		wantWait(t, l, fmt.Sprint("old", i), short, 0)
	}
	// A day is remembered whatever the window was.
	c.advance(24*time.Hour - 2*time.Second)
	for i := range 50 {
		wantWait(t, l, fmt.Sprint("new", i), short, 0)
	}
	wantWait(t, l, "old7", sallyport.RateLimit{Requests: 1, Window: 24 * time.Hour}, 2*time.Second)
	c.advance(48 * time.Hour)
	for i := range 50 {
		wantWait(t, l, fmt.Sprint("newer", i), short, 0)
	}
	wantWait(t, l, "week", week, 4*24*time.Hour+2*time.Second)
	wantWait(t, l, "old7", short, 0)
	wantWait(t, l, "old7", short, time.Second)
}

// testLimitModel compares the answers of few keys with those of lists of all
// admissions.
func testLimitModel(t *testing.T, open opener) {
	c := newManualClock()
	l := open(t, Options{Now: c.Now})
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		past := make(map[string][]time.Time)
		limit := sallyport.RateLimit{Requests: rapid.IntRange(1, 5).Draw(r, "requests"), Window: time.Minute}
		for range rapid.IntRange(1, 40).Draw(r, "calls") {
			c.advance(time.Duration(rapid.IntRange(0, 30).Draw(r, "seconds")) * time.Second)
			key := fmt.Sprintf("%d-%s", run, rapid.SampledFrom([]string{"a", "b"}).Draw(r, "key"))
			if rapid.IntRange(0, 20).Draw(r, "change") == 0 {
				limit.Requests = rapid.IntRange(1, 5).Draw(r, "requests")
			}
			want := time.Duration(0)
			if n := len(past[key]) - limit.Requests; n >= 0 {
				want = max(0, past[key][n].Add(limit.Window).Sub(c.Now()))
			}
			wait, err := l.Admit(r.Context(), key, limit)
			if wait != want || err != nil {
				r.Fatalf("Admit(%s, %v) = %v, %v, want %v", key, limit, wait, err, want)
			}
			if wait == 0 {
				past[key] = append(past[key], c.Now())
			}
		}
	})
}

func testLimitConcurrent(t *testing.T, open opener) {
	l := open(t, Options{})
	limit := sallyport.RateLimit{Requests: 50, Window: time.Hour}
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				wait, err := l.Admit(t.Context(), "k", limit)
				if err != nil || wait < 0 || wait > time.Hour {
					t.Errorf("Admit = %v, %v", wait, err)
				}
				if wait == 0 {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := admitted.Load(); got != 50 {
		t.Errorf("%d calls were admitted, want 50", got)
	}
}

// testLimitRefused asks what cannot be counted. None of it is an admission.
func testLimitRefused(t *testing.T, open opener) {
	l := open(t, Options{Now: newManualClock().Now})
	good := sallyport.RateLimit{Requests: 1, Window: time.Hour}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	bad := []struct {
		name  string
		ctx   context.Context
		key   string
		limit sallyport.RateLimit
		want  error
	}{
		{"no requests", t.Context(), "k", sallyport.RateLimit{Window: time.Hour}, nil},
		{"no window", t.Context(), "k", sallyport.RateLimit{Requests: 1}, nil},
		{"too many requests", t.Context(), "k", sallyport.RateLimit{Requests: window.MaxRequests + 1, Window: time.Hour}, nil},
		{"no key", t.Context(), "", good, nil},
		{"long key", t.Context(), strings.Repeat("k", window.MaxKeyBytes+1), good, nil},
		{"cancelled", cancelled, "k", good, context.Canceled},
	}
	for _, tt := range bad {
		if _, err := l.Admit(tt.ctx, tt.key, tt.limit); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: Admit = %v, want an error that matches %v", tt.name, err, tt.want)
		}
	}
	wantWait(t, l, "k", good, 0)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Admit(t.Context(), "other", good); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Admit on a closed store = %v, want ErrClosed", err)
	}
}
