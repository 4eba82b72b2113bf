package notices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/store"
)

// restart returns the sender of the next server of a state with its held calls.
func (d *desk) restart(t *testing.T) *desk {
	t.Helper()
	d.Close(t.Context())
	next := newDesk(t, func(o *Options) { o.Settings = d.o.Settings })
	next.calls = d.calls
	return next
}

// wasTold reports whether a receiver got a notice.
func (r *receiver) wasTold(t *testing.T, n *notice) bool {
	t.Helper()
	return r.s.readTold(t.Context(), []sallyport.Approval{n.call})[toldKey{n.id, r.key}]
}

// TestCallsThatWaitedAreAnnouncedOnce: what was held before a server started is told to each
// receiver that was not told, by whichever server of the state.
func TestCallsThatWaitedAreAnnouncedOnce(t *testing.T) {
	t.Parallel()
	in, moved := newInbox(t, nil), newInbox(t, nil)
	c := hookTo(in.URL)
	c.Events = []string{config.NoticeHeld, config.NoticeDecided}
	first := newDesk(t, nil)
	first.hold("before", nil) // without a receiver
	first.hold("over", func(a *sallyport.Approval) { a.State = sallyport.ApprovalDenied })
	first.Replace(one(c))
	first.AnnounceWaiting(t.Context())
	first.hold("fresh", nil)
	first.AnnounceWaiting(t.Context()) // as a reload does
	waitFor(t, "both", func() bool { return first.Counts()["chat"].Sent == 2 })

	next := first.restart(t)
	next.Replace(one(c))
	next.AnnounceWaiting(t.Context())
	next.hold("fresh", nil) // the same call, repeated
	next.hold("last", nil)
	waitFor(t, "the last", func() bool { return strings.HasSuffix(in.ids(), "last_held") })
	next.decide("before", true)
	waitFor(t, "the decision", func() bool { return strings.HasSuffix(in.ids(), "before_decided") })
	if got := in.ids(); got != "before_held fresh_held last_held before_decided" {
		t.Errorf("webhooks = %s, want each once", got)
	}

	c.URL = moved.URL // under the same name
	next.Replace(one(c))
	next.AnnounceWaiting(t.Context())
	waitFor(t, "what waits", func() bool { return next.Counts()["chat"].Sent == 2 })
	if got := moved.ids(); got != "fresh_held last_held" {
		t.Errorf("webhooks at another address = %s, want what waits", got)
	}
}

// TestWhatWasNotSentIsAnnouncedByTheNextServer: what a receiver did not take until the end is
// not lost while the call waits.
func TestWhatWasNotSentIsAnnouncedByTheNextServer(t *testing.T) {
	t.Parallel()
	var taken atomic.Bool
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request) {
		if !taken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	d := newDesk(t, func(o *Options) { o.pauses.first, o.pauses.most = time.Hour, time.Hour })
	d.Replace(one(hookTo(in.URL)))
	d.hold("a1", nil)
	waitFor(t, "the first try", func() bool { return len(in.all()) == 1 })
	next := d.restart(t)
	taken.Store(true)
	next.Replace(one(hookTo(in.URL)))
	next.AnnounceWaiting(t.Context())
	waitFor(t, "the notice", func() bool { return next.Counts()["chat"].Sent == 1 })
}

// TestEachCallThatWaitsIsAnnounced: however many, and none that was told is queued again.
func TestEachCallThatWaitsIsAnnounced(t *testing.T) {
	t.Parallel()
	in := newInbox(t, nil)
	d := newDesk(t, nil)
	const count = maxQueued + maxQueued/4
	for i := range count { // without a receiver
		d.hold(fmt.Sprintf("call%03d", i), func(a *sallyport.Approval) { a.Expires = a.Expires.Add(-time.Duration(i) * time.Second) })
	}
	d.Replace(one(hookTo(in.URL)))
	d.AnnounceWaiting(t.Context())
	waitFor(t, "each", func() bool { return d.Counts()["chat"].Sent == count })
	if first, _, _ := strings.Cut(in.ids(), " "); first != fmt.Sprintf("call%03d_held", count-1) {
		t.Errorf("%s comes first, want what expires first", first)
	}
	waiting, err := d.o.Waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{name: "chat", key: d.receivers["chat"].key, c: d.receivers["chat"].c, s: d.Sender}
	r.addWaiting(waiting, d.readTold(t.Context(), waiting))
	if n := d.Counts()["chat"]; len(r.queue) != 0 || n.Lost != 0 || len(in.all()) != count {
		t.Errorf("%+v after %d webhooks and %d queued again, want %d and none", n, len(in.all()), len(r.queue), count)
	}
}

// TestWhatWasToldIsRememberedWithinBounds: for as long as the call waits, and the newest only.
func TestWhatWasToldIsRememberedWithinBounds(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	list := []told{{"over", "chat", "", time.Now().Add(-time.Second)}}
	for range maxTold {
		list = append(list, told{"old", "chat", "", time.Now().Add(time.Hour)})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.o.Settings.(store.Settings).Put(t.Context(), nameTold("a1"), string(text)); err != nil {
		t.Fatal(err)
	}
	r := &receiver{name: "chat", key: "chat x", s: d.Sender}
	n := newNotice(config.NoticeHeld, &sallyport.Approval{ID: "a1", Expires: time.Now().Add(time.Hour)}, false)
	if r.wasTold(t, n) {
		t.Error("a notice was told before it was sent")
	}
	r.markTold(t.Context(), n)
	value, _, err := d.o.Settings.Get(t.Context(), nameTold("a1"))
	got := decodeTold(value)
	if err != nil || len(got) != maxTold || got[0].Notice != "old" || !r.wasTold(t, n) {
		t.Errorf("%d notices are remembered, %v, want %d with the newest", len(got), err, maxTold)
	}
	if decodeTold(`[{"notice":1}]`) != nil {
		t.Error("what this program did not write says something")
	}
}

// channelFunc is a way to a receiver.
type channelFunc func() error

func (f channelFunc) sendOne(context.Context, *notice) error { return f() }
func (channelFunc) closeIdle()                               {}

// TestServersOfAStateTellOnce: one sends at a time, another one after a try that failed or was
// never ended, and none after one that succeeded.
func TestServersOfAStateTellOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	sent := 0
	server := func(own string, send channelFunc) *receiver {
		return &receiver{name: "chat", key: "chat x", own: own, s: d.Sender, way: send}
	}
	n := newNotice(config.NoticeDecided, &sallyport.Approval{ID: "a1"}, false)
	second := server("second", func() error { sent++; return nil })
	first := server("first", func() error {
		if err := second.sendOnce(t.Context(), n); !errors.Is(err, errSending) || len(second.queue) != 1 {
			t.Errorf("while another server sends: %v, %d wait, want the notice to wait", err, len(second.queue))
		}
		return errors.New("it is down")
	})
	if err := first.sendOnce(t.Context(), n); err == nil || sent != 0 {
		t.Errorf("the first try: %v, and %d were sent", err, sent)
	}
	for range 2 {
		if err := second.sendOnce(t.Context(), n); err != nil || sent != 1 {
			t.Errorf("after a try that failed: %v, and %d were sent, want one", err, sent)
		}
	}
	if err := server("third", func() error { sent++; return nil }).sendOnce(t.Context(), n); err != nil || sent != 1 {
		t.Errorf("after it was told: %v, and %d were sent", err, sent)
	}
	killed := newNotice(config.NoticeDecided, &sallyport.Approval{ID: "a2"}, false)
	left, err := json.Marshal([]told{{killed.id, "chat x", "killed", time.Now().Add(-time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.o.Settings.PutIfAbsent(t.Context(), nameTold("a2"), string(left)); err != nil {
		t.Fatal(err)
	}
	if err := second.sendOnce(t.Context(), killed); err != nil || sent != 2 {
		t.Errorf("after a server was killed while it sent: %v, and %d were sent, want another", err, sent)
	}
}

// TestACallThatIsBeingToldIsAnnounced: its server may have been killed.
func TestACallThatIsBeingToldIsAnnounced(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := &receiver{name: "chat", key: "chat x", own: "first", s: d.Sender}
	n := newNotice(config.NoticeHeld, &sallyport.Approval{ID: "a1", Expires: time.Now().Add(time.Hour)}, false)
	if err := r.reserveNotice(t.Context(), n); err != nil || r.wasTold(t, n) {
		t.Errorf("%v; a notice that is being sent counts as told: %v", err, r.wasTold(t, n))
	}
}

// TestLittleIsWrittenForEachNotice: however many calls wait.
func TestLittleIsWrittenForEachNotice(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := &receiver{name: "chat", key: "chat x", s: d.Sender}
	note := func(i int) *notice {
		id := fmt.Sprintf("06h1pwmnsj3pzzqggbrk%04d", i)
		return newNotice(config.NoticeHeld, &sallyport.Approval{ID: id, Expires: time.Now().Add(time.Hour)}, false)
	}
	for i := range sallyport.MaxPendingApprovalsTotal {
		r.markTold(t.Context(), note(i))
	}
	for i := range sallyport.MaxPendingApprovalsTotal {
		n := note(i)
		value, _, err := d.o.Settings.Get(t.Context(), nameTold(n.call.ID))
		if !r.wasTold(t, n) || len(value) > 8<<10 || err != nil {
			t.Fatalf("notice %d is forgotten, or written with %d bytes of others, %v", i, len(value), err)
		}
	}
}
