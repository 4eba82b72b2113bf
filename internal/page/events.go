package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/signin"
)

const (
	// lookPause is how long a look at the state counts, for all streams together.
	lookPause = 400 * time.Millisecond
	// beatPause is the time between comments in a silent stream.
	beatPause = 15 * time.Second
)

// look is what changes on the page without the person: how many calls wait and which, the
// newest record, and what runs and says how far it is.
type look struct {
	Waiting int    `json:"waiting"`
	Which   string `json:"which"`
	Record  int64  `json:"record"`
	Running string `json:"running"`
}

// lookCache is one look for all who look at the same time.
type lookCache struct {
	mu   sync.Mutex
	at   time.Time
	last look
}

// lookNow looks at the state, or returns a look that is hardly older. What cannot be read
// stays as it was.
func (s *Site) lookNow(ctx context.Context) look {
	s.look.mu.Lock()
	defer s.look.mu.Unlock()
	if time.Since(s.look.at) < lookPause {
		return s.look.last
	}
	if list, err := s.rt.ListHeld(ctx); err == nil {
		s.look.last.Waiting, s.look.last.Which = len(list), digest.Text(s.describeState(ctx, list))[:16]
	}
	if head, err := audit.Newest(ctx, s.rt.State); err == nil {
		s.look.last.Record = head.Seq
	}
	says := ""
	for _, run := range s.rt.Running().List() {
		says += run.CallID + run.Says.Message + " "
	}
	s.look.last.Running = digest.Text(says)[:16]
	s.look.at = time.Now()
	return s.look.last
}

// describeState returns what people see change of held calls: which they are, who said
// yes, and whether others may decide by now.
func (s *Site) describeState(ctx context.Context, list []sallyport.Approval) string {
	yeses, err := s.rt.DescribeYeses(ctx, list)
	if err != nil {
		yeses = nil // the page that is loaded says so
	}
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].ID)
		if y := yeses[list[i].ID]; y != nil {
			fmt.Fprintf(&b, " %q %t", y.Lines(), y.EscalatesAt != nil && time.Now().After(*y.EscalatesAt))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// lookAgain makes the next look a fresh one, after something was decided.
func (s *Site) lookAgain() {
	s.look.mu.Lock()
	defer s.look.mu.Unlock()
	s.look.at = time.Time{}
}

// streamEvents says that something changed, for as long as the page is open. While a
// person who may decide listens, held calls wait for the answer.
func (s *Site) streamEvents(w http.ResponseWriter, r *http.Request) {
	p, _ := auth.PrincipalFrom(r.Context())
	ctx, done, ok := s.streams.Begin(r.Context(), p.Name)
	if !ok {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer done()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	send := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(writeWait))
		_, err := w.Write([]byte(text))
		return err == nil && out.Flush() == nil
	}
	defer s.rt.Running().Watch()()
	leave := s.announceEvent(ctx, signin.MayDecide(&p))
	defer leave()
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	var sent look
	beat := time.Now()
	for first := true; ; first = false {
		now := s.lookNow(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case first || now != sent:
			text, _ := json.Marshal(now) // numbers and a text
			if !send(fmt.Sprintf("event: look\ndata: %s\n\n", text)) {
				return
			}
			sent, beat = now, time.Now()
		case time.Since(beat) > beatPause:
			if !send(":\n\n") {
				return
			}
			beat = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// announceEvent says to the processes on the state that a person is connected who can decide,
// until leave is called.
func (s *Site) announceEvent(ctx context.Context, decides bool) (leave func()) {
	if !decides {
		return func() {}
	}
	s.watching.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(approvals.Lease / 3)
		defer tick.Stop()
		for {
			if err := approvals.Announce(ctx, s.rt.Settings, time.Now()); err != nil && ctx.Err() == nil {
				s.rt.Logger.Warn("held calls do not wait for the person at the page", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
		if s.watching.Add(-1) > 0 {
			return
		}
		// A person at another server says so again within a third of the lease.
		_ = approvals.Leave(context.WithoutCancel(ctx), s.rt.Settings, time.Now())
	}
}

// Shutdown ends the open streams and waits for them.
func (s *Site) Shutdown(ctx context.Context) error {
	s.streams.Stop()
	return s.streams.Wait(ctx)
}
