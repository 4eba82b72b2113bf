package approvals

import (
	"context"
	"slices"
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
	// Decide approves or denies one of them. Waits says that it stays held, since another
	// person has to say yes, too.
	Decide func(ctx context.Context, a *sallyport.Approval, approve bool) (waits bool, err error)
	// Settings says to the processes on the state that a person watches.
	Settings Settings
	// Show shows a call, or several of which one answer is for all. It asks for a key
	// when the person can answer.
	Show func(batch []sallyport.Approval, ask bool)
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

	seen  map[string]bool      // calls that were shown and need no look any more
	shown []sallyport.Approval // that the next answer is for; nil for none
	wider *widerYes            // that the person is asked about instead; nil most of the time
	since time.Time            // when it was shown
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

// lookOnce drops the shown calls that are decided, and shows the next ones. One answer is
// for the calls that were shown together; what comes later is shown for itself.
func (w *Watch) lookOnce(ctx context.Context) error {
	list, err := w.List(ctx)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	var fresh []sallyport.Approval
	for i := range list {
		id := list[i].ID
		open[id] = list[i].State == sallyport.ApprovalPending
		if open[id] && !w.seen[id] {
			fresh = append(fresh, list[i])
		}
	}
	w.dropDecided(open)
	for _, batch := range JoinBatches(fresh) {
		if len(w.shown) > 0 {
			break
		}
		for i := range batch {
			w.seen[batch[i].ID] = true
		}
		w.Show(batch, w.Keys != nil)
		if w.Keys != nil {
			w.shown, w.since = batch, time.Now()
		}
	}
	return nil
}

// dropDecided drops the shown calls that are not open any more.
func (w *Watch) dropDecided(open map[string]bool) {
	w.shown = slices.DeleteFunc(w.shown, func(a sallyport.Approval) bool {
		if !open[a.ID] {
			w.Tell(&a, "decided elsewhere, or over")
		}
		return !open[a.ID]
	})
	if len(w.shown) == 0 {
		w.shown, w.wider = nil, nil
	}
}

// answerKey takes a key for the call that is shown.
func (w *Watch) answerKey(ctx context.Context, key byte) (quit bool, err error) {
	const interrupt, end = 3, 4 // Ctrl-C and Ctrl-D, which a raw terminal hands over
	switch key {
	case 'q', interrupt, end:
		return true, nil
	case 'y', 'n', 's', 'a', 'l':
	default:
		return false, nil
	}
	if len(w.shown) == 0 || time.Since(w.since) < settle {
		return false, nil
	}
	if key == 'a' || key == 'l' || w.wider != nil {
		w.answerWider(ctx, &w.shown[0], key)
		return false, nil
	}
	batch := w.shown
	w.shown = nil
	for i := range batch {
		w.answerShown(ctx, &batch[i], key)
	}
	return false, nil
}

// answerShown takes the answer for one of the calls that were shown.
func (w *Watch) answerShown(ctx context.Context, a *sallyport.Approval, key byte) {
	if key == 's' {
		w.Tell(a, "left as it is")
		return
	}
	waits, err := w.Decide(ctx, a, key == 'y')
	switch {
	case err != nil:
		// Another person may have been faster; the next call is shown.
		w.Tell(a, err.Error())
	case key == 'y' && waits:
		w.Tell(a, "your yes counts; another person has to say it, too")
	case key == 'y':
		w.Tell(a, "approved, for one run")
	default:
		w.Tell(a, "denied")
	}
}

// answerWider takes a key about a yes for more than one run: a shows the rule for the
// session, l what is given for always, y gives it, and n or s goes back to the call.
func (w *Watch) answerWider(ctx context.Context, a *sallyport.Approval, key byte) {
	switch {
	case len(w.shown) > 1:
		w.Tell(a, "a wider yes is for one call: approvals approve ID with --session or --always gives it")
	case w.wider == nil:
		w.proposeWider(a, key)
	case key == 'y':
		wider, shown := w.wider, *a
		a, w.shown, w.wider = &shown, nil, nil
		if err := wider.give(ctx); err != nil {
			w.Tell(a, err.Error())
			return
		}
		w.Tell(a, wider.done)
	case key != 'a' && key != 'l':
		w.wider, w.since = nil, time.Now()
		w.Show(w.shown, true)
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
