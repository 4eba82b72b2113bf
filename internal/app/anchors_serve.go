package app

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/anchor"
	"github.com/sallyport/sallyport/internal/metrics"
)

const (
	// maxOutwardPause bounds the pause after failures.
	maxOutwardPause = 5 * time.Minute
	// lastAnchorWait bounds how long a server that ends waits for its last heads.
	lastAnchorWait = 5 * time.Second
)

// anchorWorker keeps heads of the record of a server at the places of the configuration.
// No call waits for it.
type anchorWorker struct {
	rt     *Runtime
	out    *outside
	every  time.Duration
	places []AnchorPlace

	mu    sync.Mutex
	known map[AnchorPlace]metrics.Anchored
}

// StartAnchors begins to keep heads of the record at the places of the configuration. The
// function that it returns keeps the last ones; call it when nothing is recorded any more.
// Without places nothing is done.
func (rt *Runtime) StartAnchors(ctx context.Context) (stop func(), err error) {
	c := rt.InForce().Config.Audit
	if len(c.Anchors) == 0 {
		return func() {}, nil
	}
	out, err := rt.openOutside()
	if err != nil {
		return nil, err
	}
	w := &anchorWorker{rt: rt, out: out, every: c.Every, places: rt.AnchorPlaces(), known: map[AnchorPlace]metrics.Anchored{}}
	rt.anchors.Store(w)
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var workers sync.WaitGroup
	for _, p := range w.places {
		workers.Go(func() { w.keepAnchoring(working, p) })
	}
	return func() {
		cancel()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnchorWait)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			workers.Wait()
			for _, p := range w.places {
				workers.Go(func() { _ = w.anchorGrowth(last, p) })
			}
			workers.Wait()
			out.Close()
		}()
		select {
		case <-ended:
		case <-last.Done(): // a file system that does not answer must not hold up the end
			rt.Logger.Warn("the head of the record is not anchored at the end: a place does not answer")
		}
	}, nil
}

// keepAnchoring keeps heads at a place until the context ends.
func (w *anchorWorker) keepAnchoring(ctx context.Context, p AnchorPlace) {
	first := w.rt.Env.Intervals.withDefaults().Outward
	pause := first
	for {
		wait := w.untilDue(ctx, p)
		if wait <= 0 {
			if wait = w.every; w.anchorGrowth(ctx, p) == nil {
				pause = first
			} else {
				wait, pause = min(pause, w.every), min(2*pause, maxOutwardPause)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// untilDue returns how long it is until the place is due, by what any process on this state
// kept there.
func (w *anchorWorker) untilDue(ctx context.Context, p AnchorPlace) time.Duration {
	return time.Until(w.lastAt(ctx, p).Time.Add(w.every))
}

// lastAt returns what was last kept at a place; the zero entry when it is not known.
func (w *anchorWorker) lastAt(ctx context.Context, p AnchorPlace) (e anchor.Entry) {
	text, ok, err := w.rt.Settings.Get(ctx, p.settingName())
	if err != nil || !ok || json.Unmarshal([]byte(text), &e) != nil || e.Time.After(time.Now()) {
		return anchor.Entry{}
	}
	return e
}

// anchorGrowth keeps the head at a place unless it has it.
func (w *anchorWorker) anchorGrowth(ctx context.Context, p AnchorPlace) error {
	last := w.lastAt(ctx, p)
	head, err := audit.Newest(ctx, w.rt.State)
	if err == nil && (head.Seq == 0 || head == last.Head()) {
		w.noteKept(p, &last)
		return nil
	}
	var e AnchoredHead
	if err == nil {
		e, err = w.rt.anchorAt(ctx, w.out, p, w.rt.ConfiguredSeals())
	}
	if err == nil {
		var text []byte
		if text, err = json.Marshal(e.Entry); err == nil {
			err = w.rt.Settings.Put(ctx, p.settingName(), string(text))
		}
		w.noteKept(p, &e.Entry)
	}
	if err != nil && ctx.Err() != context.Canceled {
		w.noteFailure(p)
		w.rt.Logger.Warn("the head of the record is not anchored", "place", p.String(), "error", err, "last_seq", last.Seq, "last_time", last.Time)
	}
	return err
}

func (w *anchorWorker) noteKept(p AnchorPlace, e *anchor.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.known[p]
	a.Seq, a.Time = e.Seq, e.Time
	w.known[p] = a
}

func (w *anchorWorker) noteFailure(p AnchorPlace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.known[p]
	a.Failed++
	w.known[p] = a
}

// countAnchors returns what each place has, for the metrics. Places with one name are one.
func (w *anchorWorker) countAnchors() map[string]metrics.Anchored {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]metrics.Anchored{}
	for p, a := range w.known {
		if other, ok := all[p.String()]; ok {
			a.Failed += other.Failed
			if other.Seq < a.Seq {
				a.Seq, a.Time = other.Seq, other.Time
			}
		}
		all[p.String()] = a
	}
	return all
}
