package approvals

import (
	"context"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// Signal wakes those who wait for a change. The zero value is ready. It is
// safe for concurrent use.
type Signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// Changed returns a channel that the next Send closes.
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Send wakes everybody.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// Await implements sallyport.ApprovalQueue's Wait over get. It looks
// after every signal, when the request expires by the clock now, and after
// every poll, which is how the decision of another process is seen; 0 does
// not poll.
func Await(
	ctx context.Context, changed *Signal, poll time.Duration, now func() time.Time,
	get func(context.Context) (sallyport.Approval, error),
) (sallyport.Approval, error) {
	for {
		// Before the look, so that no change falls in between.
		next := changed.Changed()
		a, err := get(ctx)
		if err != nil || a.State != sallyport.ApprovalPending {
			return a, err
		}
		pause := a.Expires.Sub(now())
		if poll > 0 {
			pause = min(pause, poll)
		}
		timer := time.NewTimer(pause)
		select {
		case <-next:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return a, ctx.Err()
		}
		timer.Stop()
	}
}
