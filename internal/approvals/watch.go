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
	// ShowRule shows what a rule for the session of the shown call would allow,
	// and asks for a key.
	ShowRule func(r *Rule)
	// Give gives that rule.
	Give func(ctx context.Context, a *sallyport.Approval, r *Rule) error
	// ShowAlways shows what a yes for always about the shown call would give, asks
	// for a key, and returns what gives it.
	ShowAlways func(a *sallyport.Approval) (give func(ctx context.Context) error)
	// Tell says what became of a call that was shown.
	Tell func(a *sallyport.Approval, what string)
	// Keys brings the person's keys: y, n, s, a, l and q. It is closed when no more
	// come; nil means that the person only looks and gives no answers.
	Keys <-chan byte

	seen  map[string]bool // calls that were shown and need no look any more
	shown *sallyport.Approval
	wider *widerYes // that the person is asked about instead; nil most of the time
	since time.Time // when it was shown
}

// widerYes is a yes for more than one run of the shown call.
type widerYes struct {
	give func(ctx context.Context) error
	done string // what is said once it is given
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
		w.shown, w.wider = nil, nil
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
	case 'y', 'n', 's', 'a', 'l':
	default:
		return false, nil
	}
	if a == nil || time.Since(w.since) < settle {
		return false, nil
	}
	if key == 'a' || key == 'l' || w.wider != nil {
		w.answerWider(ctx, a, key)
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

// answerWider takes a key about a yes for more than one run: a shows the rule for the
// session, l what is given for always, y gives it, and n or s goes back to the call.
func (w *Watch) answerWider(ctx context.Context, a *sallyport.Approval, key byte) {
	switch {
	case w.wider == nil:
		w.proposeWider(a, key)
	case key == 'y':
		wider := w.wider
		w.shown, w.wider = nil, nil
		if err := wider.give(ctx); err != nil {
			w.Tell(a, err.Error())
			return
		}
		w.Tell(a, wider.done)
	case key != 'a' && key != 'l':
		w.wider, w.since = nil, time.Now()
		w.Show(a, true)
	}
}

// proposeWider shows what a key would give.
func (w *Watch) proposeWider(a *sallyport.Approval, key byte) {
	if key == 'l' {
		give := w.ShowAlways(a)
		w.wider, w.since = &widerYes{give, "allowed for always"}, time.Now()
		return
	}
	r, err := ProposeRule(a, nil)
	if err != nil {
		w.Tell(a, err.Error())
		return
	}
	give := func(ctx context.Context) error { return w.Give(ctx, a, r) }
	w.wider, w.since = &widerYes{give, "allowed for the session"}, time.Now()
	w.ShowRule(r)
}
