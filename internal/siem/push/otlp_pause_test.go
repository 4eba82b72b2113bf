package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/internal/siem"
)

type asks time.Duration

func (a asks) Error() string        { return "later" }
func (a asks) Pause() time.Duration { return time.Duration(a) }

// A collector says when to come again, and not that it be left alone for ever.
func TestACollectorAsksForAPause(t *testing.T) {
	t.Parallel()
	v := newReceiver(t, nil)
	v.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(503)
	})
	_, err := sender(v.URL, nil).Send(t.Context(), make([]siem.Line, 1))
	if got := askedPause(err); got != 7*time.Second {
		t.Errorf("Retry-After: 7 asks for a pause of %v (%v)", got, err)
	}
	for err, want := range map[error]time.Duration{errors.New("x"): 0, asks(time.Hour): maxPause, fmt.Errorf("a: %w", asks(time.Second)): time.Second} {
		if got := askedPause(err); got != want {
			t.Errorf("askedPause(%v) = %v, want %v", err, got, want)
		}
	}
}

// busySender asks for a pause, and then takes everything.
type busySender struct {
	Sender
	times []time.Time
	done  func()
}

func (b *busySender) Send(context.Context, []siem.Line) (int, error) {
	if b.times = append(b.times, time.Now()); len(b.times) == 1 {
		return 0, asks(7 * time.Second)
	}
	b.done()
	return 0, nil
}

func TestAPauseIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecord(t)
		s := &busySender{Sender: sender("http://127.0.0.1:1", nil)}
		p := r.begin(t, s, t.Output())
		r.add(t, "a")
		ctx, cancel := context.WithCancel(t.Context())
		s.done = cancel
		p.Run(ctx)
		if waited := s.times[1].Sub(s.times[0]); waited != 7*time.Second {
			t.Errorf("the collector was left alone for %v, want 7s", waited)
		}
	})
}
