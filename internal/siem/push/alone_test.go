package push

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/internal/siem"
)

// A collector that takes requests without records alone may be set up wrong: what it
// refuses waits for it, but for a few records, and one for each pause.
func TestACollectorThatRefusesEachRecordLosesFew(t *testing.T) {
	t.Parallel()
	bad := true
	r, v := newRecord(t), newReceiver(t, func(tools []string) (int, []byte) {
		if bad && len(tools) > 0 {
			return http.StatusBadRequest, nil
		}
		return http.StatusOK, nil
	})
	p := r.begin(t, sender(v.URL, nil), t.Output())
	var tools []string
	for i := range 40 {
		tools = append(tools, fmt.Sprint(i))
	}
	r.add(t, tools...)
	for pauses := range 3 {
		if err := sendAll(t, p); err == nil || !strings.Contains(err.Error(), "refuses the record") {
			t.Fatalf("after %d pauses: %v", pauses, err)
		}
		if s, want := p.Stats(), int64(maxAlone+pauses); s.Sent != 0 || s.Lost != want || p.at.Seq != want {
			t.Errorf("after %d pauses the counts are %+v up to %d, want %d lost", pauses, s, p.at.Seq, want)
		}
	}
	p.Finish(t.Context())
	lost := int(p.Stats().Lost)
	if lost != maxAlone+2 {
		t.Errorf("the end of the program left out %d more", lost-maxAlone-2)
	}
	v.mu.Lock()
	bad = false
	v.mu.Unlock()
	if err := sendAll(t, p); err != nil || !slices.Equal(v.taken(), tools[lost:]) || p.Stats().Sent != int64(len(tools)-lost) {
		t.Errorf("the collector got %q, %v, the counts are %+v", v.taken(), err, p.Stats())
	}
}

// refusingSender refuses each record, and notes when.
type refusingSender struct {
	Sender
	times []time.Time
}

func (s *refusingSender) Send(_ context.Context, lines []siem.Line) (int, error) {
	if len(lines) > 1 {
		return 0, ErrTooMuch
	}
	s.times = append(s.times, time.Now())
	return 0, ErrAlone
}

func TestPausesGrowWhileNothingIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, s := newRecord(t), &refusingSender{Sender: sender("http://127.0.0.1:1", nil)}
		p := r.begin(t, s, t.Output())
		p.o.Poll = time.Minute
		r.add(t, slices.Repeat([]string{"a"}, 60)...)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		p.Run(ctx)
		last := len(s.times) - 1
		if pause := s.times[last].Sub(s.times[last-1]); max(pause, s.times[last-1].Sub(s.times[last-2])) != maxPause {
			t.Errorf("the last pause is %v, want %v", pause, maxPause)
		}
		// The pauses of the first five minutes double from a millisecond.
		if lost := p.Stats().Lost; lost <= maxAlone || lost > maxAlone+19+24 {
			t.Errorf("%d records are left out in two hours", lost)
		}
	})
}
