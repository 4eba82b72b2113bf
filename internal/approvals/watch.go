package approvals

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// watchPause is the pause between two looks for held calls.
	watchPause = 300 * time.Millisecond
	// settle is how long keys do not count after a call was shown: a key that is
	// pressed twice must not answer for the next call.
	settle = 500 * time.Millisecond
)

// Watch shows held calls one after another and takes the answers of a person.
// Every field but Keys is required.
type Watch struct {
	// List returns the held calls that are open, the oldest first.
	List func(ctx context.Context) ([]sallyport.Approval, error)
	// Decide approves or denies one of them.
	Decide func(ctx context.Context, a *sallyport.Approval, approve bool) error
	// Settings says to the processes on the state that a person watches.
	Settings Settings
	// Show shows a call. It asks for a key when the person can answer.
	Show func(a *sallyport.Approval, ask bool)
	// Tell says what became of a call that was shown.
	Tell func(a *sallyport.Approval, what string)
	// Keys brings the person's keys: y, n, s and q. It is closed when no more
	// come; nil means that the person only looks and gives no answers.
	Keys <-chan byte

	seen  map[string]bool // calls that were shown and need no look any more
	shown *sallyport.Approval
	since time.Time // when it was shown
}

// Run watches until the context ends or the person quits.
func (w *Watch) Run(ctx context.Context) error {
	w.seen = map[string]bool{}
	defer func() {
		if w.Keys != nil {
			// The state forgets by itself when this fails.
			_ = Leave(context.WithoutCancel(ctx), w.Settings, time.Now())
		}
	}()
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	var announced time.Time
	for {
		if w.Keys != nil && time.Since(announced) >= Lease/3 {
			announced = time.Now()
			if err := Announce(ctx, w.Settings, announced); err != nil {
				return err
			}
		}
		if err := w.lookOnce(ctx); err != nil {
			return unlessDone(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case key, ok := <-w.Keys:
			if !ok {
				_ = Leave(ctx, w.Settings, time.Now())
				w.Keys = nil
				continue
			}
			if quit, err := w.answerKey(ctx, key); quit || err != nil {
				return unlessDone(ctx, err)
			}
		}
	}
}

// unlessDone returns no error when the context has ended.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lookOnce drops the shown call when it is decided, and shows the next one.
func (w *Watch) lookOnce(ctx context.Context) error {
	list, err := w.List(ctx)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	for i := range list {
		open[list[i].ID] = list[i].State == sallyport.ApprovalPending
	}
	if w.shown != nil && !open[w.shown.ID] {
		w.Tell(w.shown, "decided elsewhere, or over")
		w.shown = nil
	}
	for i := range list {
		a := &list[i]
		if w.shown != nil || !open[a.ID] || w.seen[a.ID] {
			continue
		}
		w.seen[a.ID] = true
		w.Show(a, w.Keys != nil)
		if w.Keys != nil {
			w.shown, w.since = a, time.Now()
		}
	}
	return nil
}

// answerKey takes a key for the call that is shown.
func (w *Watch) answerKey(ctx context.Context, key byte) (quit bool, err error) {
	const interrupt, end = 3, 4 // Ctrl-C and Ctrl-D, which a raw terminal hands over
	a := w.shown
	switch key {
	case 'q', interrupt, end:
		return true, nil
	case 'y', 'n', 's':
	default:
		return false, nil
	}
	if a == nil || time.Since(w.since) < settle {
		return false, nil
	}
	w.shown = nil
	if key == 's' {
		w.Tell(a, "left as it is")
		return false, nil
	}
	if err := w.Decide(ctx, a, key == 'y'); err != nil {
		// Another person may have been faster; the next call is shown.
		w.Tell(a, err.Error())
		return false, nil
	}
	if key == 'y' {
		w.Tell(a, "approved, for one run")
	} else {
		w.Tell(a, "denied")
	}
	return false, nil
}
