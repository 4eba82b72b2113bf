package notices

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
)

// stuckInbox is a receiver that takes webhooks and answers none.
func stuckInbox(t *testing.T) *inbox {
	t.Helper()
	release := make(chan struct{})
	in := newInbox(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	return in
}

// A receiver that never answers delays neither a call nor another receiver, and holds a
// bounded queue and one goroutine of the sender.
func TestADeadReceiverDelaysNothing(t *testing.T) {
	const calls = 3 * maxQueued
	dead, good := stuckInbox(t), newInbox(t, nil)
	d := newDesk(t, func(o *Options) { o.pauses.try = time.Hour })
	d.Replace(map[string]config.Notice{"dead": hookTo(dead.URL), "good": hookTo(good.URL)})
	d.hold("first", nil)
	waitFor(t, "the first try", func() bool { return len(dead.all()) == 1 && len(good.all()) == 1 })
	before := runtime.NumGoroutine()
	for i := range calls {
		d.hold(fmt.Sprintf("c%d", i), nil)
		waitFor(t, "the good one", func() bool { return d.Counts()["good"].Waiting < maxQueued/2 })
	}
	waitFor(t, "all at the good one", func() bool { return d.Counts()["good"].Sent == calls+1 })
	got := d.Counts()["dead"]
	if got != (Count{0, calls - maxQueued, maxQueued}) || len(dead.all()) != 1 {
		t.Errorf("counts of the dead receiver = %+v after %d tries", got, len(dead.all()))
	}
	if n := runtime.NumGoroutine(); n > before+10 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if n := strings.Count(d.logged(), "is behind"); n != 1 {
		t.Errorf("the dropped notices are told of %d times:\n%s", n, d.logged())
	}
	for _, word := range []string{"hunter2", signing, hidden} {
		if strings.Contains(d.logged(), word) {
			t.Errorf("the log has %q:\n%s", word, d.logged())
		}
	}
	// The end does not wait for it either.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	d.Close(ctx)
	waitFor(t, "a record", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return d.lost["dead"] == calls+1 })
	d.hold("late", nil)
	if d.Counts()["good"] != (Count{}) {
		t.Error("a notice was queued after the end")
	}
}

// Whatever a receiver answers, nothing but its status counts.
func TestHostileAnswers(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an endless body": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"a head without an end": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 400 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 4<<10))
			}
		},
		"a broken connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"an absurd pause": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "2147483647")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		t.Run(name, func(t *testing.T) {
			hostile, good := newInbox(t, answer), newInbox(t, nil)
			d := newDesk(t, func(o *Options) { o.pauses.asked = time.Millisecond })
			d.Replace(map[string]config.Notice{"hostile": hookTo(hostile.URL), "good": hookTo(good.URL)})
			d.hold("a1", nil)
			waitFor(t, "both", func() bool {
				c := d.Counts()
				return c["good"].Sent == 1 && c["hostile"].Sent+c["hostile"].Lost == 1
			})
			if name == "an endless body" != (d.Counts()["hostile"].Sent == 1) {
				t.Errorf("counts = %+v", d.Counts())
			}
		})
	}
}

// A reload keeps what waits for a receiver that is unchanged, and drops what waits for
// one that is not.
func TestReplaceKeepsWhatWaits(t *testing.T) {
	dead := stuckInbox(t)
	d := newDesk(t, func(o *Options) { o.pauses.try = time.Hour })
	same, other := hookTo(dead.URL), hookTo(dead.URL)
	d.Replace(map[string]config.Notice{"same": same, "other": other, "gone": other})
	for i := range 5 {
		d.hold(fmt.Sprintf("c%d", i), nil)
	}
	waitFor(t, "the first tries", func() bool { return len(dead.all()) == 3 })
	other.Arguments = true
	d.Replace(map[string]config.Notice{"same": hookTo(dead.URL), "other": other})
	got := d.Counts()
	if len(got) != 2 || got["same"].Waiting != 4 || got["other"] != (Count{}) {
		t.Errorf("counts = %+v, want what waits for the unchanged one", got)
	}
	waitFor(t, "a record", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return d.lost["gone"] == 5 && d.lost["other"] == 5 })
}

// The end tries once more what waits, also what waits for its next try.
func TestCloseFlushes(t *testing.T) {
	refuse := make(chan struct{})
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-refuse:
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	d := newDesk(t, func(o *Options) { o.pauses.first, o.pauses.most = time.Hour, time.Hour })
	d.Replace(one(hookTo(in.URL)))
	for i := range 5 {
		d.hold(fmt.Sprintf("c%d", i), nil)
	}
	waitFor(t, "the first try", func() bool { return strings.Contains(d.logged(), "cannot be sent now") })
	close(refuse)
	d.Close(t.Context())
	if n := len(in.all()); n != 6 || strings.Contains(d.logged(), "could not be sent") {
		t.Errorf("%d webhooks, want one that failed and all five:\n%s", n, d.logged())
	}
}

// A call that is over is not announced any more, and a secret that cannot sign sends
// nothing.
func TestWhatIsNotSent(t *testing.T) {
	in := newInbox(t, nil)
	d := newDesk(t, nil)
	c := hookTo(in.URL)
	for _, ref := range []string{"notices/none", "notices/short", "notices/bare"} {
		c.Secret = ref
		d.Replace(map[string]config.Notice{ref: c})
		d.hold(ref, nil)
		waitFor(t, ref, func() bool { return d.Counts()[ref].Lost == 1 })
	}
	d.Replace(one(hookTo(in.URL)))
	d.hold("late", func(a *sallyport.Approval) { a.Expires = time.Now().Add(-time.Second) })
	waitFor(t, "late", func() bool { return d.Counts()["chat"].Lost == 1 })
	if len(in.all()) != 0 || strings.Contains(d.logged(), hidden) {
		t.Errorf("webhooks %s; log:\n%s", in.ids(), d.logged())
	}
	a := sallyport.Approval{Expires: time.Now().Add(24 * time.Hour)}
	for event, age := range map[string]time.Duration{config.NoticeHeld: maxAge, config.NoticeDecided: maxAge} {
		n := newNotice(event, &a, false)
		if n.checkUse(n.asked.Add(age)) != nil || n.checkUse(n.asked.Add(age+1)) == nil {
			t.Errorf("%s counts for another time than %s", event, age)
		}
	}
	locked := newDesk(t, func(o *Options) {
		o.Known = func(context.Context) ([]sallyport.Secret, error) { return nil, errors.New("locked " + hidden) }
	})
	locked.Replace(one(hookTo(in.URL)))
	locked.hold("a1", nil)
	waitFor(t, "a loss", func() bool { return locked.Counts()["chat"].Lost == 1 })
	if len(in.all()) != 0 || strings.Contains(locked.logged(), hidden) {
		t.Errorf("webhooks %s without the list of secrets; log:\n%s", in.ids(), locked.logged())
	}
}
