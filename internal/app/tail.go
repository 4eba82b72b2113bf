package app

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
)

const (
	// tailPause is the pause between two looks for new records.
	tailPause = 300 * time.Millisecond
	// tailExtra is how many more records are read than asked for, as some are
	// left out.
	tailExtra = 500
)

// Tail passes the newest records to show, and with follow those that come until
// the context ends. Unless all is true it leaves out what the gate asked servers
// by itself and got answered.
func (rt *Runtime) Tail(ctx context.Context, q audit.Query, all, follow bool, show func(*audit.Event) error) error {
	all = all || q.Tool != ""
	events, last, err := rt.readTail(ctx, q, all)
	if err != nil {
		return err
	}
	for i := range events {
		if err := show(&events[i]); err != nil {
			return err
		}
	}
	tick := time.NewTicker(tailPause)
	defer tick.Stop()
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		q.Last, q.After = 0, last
		events, next, err := rt.readTail(ctx, q, all)
		if err != nil {
			return endedOr(ctx, err)
		}
		last = max(last, next)
		for i := range events {
			if err := show(&events[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// endedOr returns no error when the context has ended.
func endedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// readTail reads records and the number of the newest one that was read.
func (rt *Runtime) readTail(ctx context.Context, q audit.Query, all bool) (events []audit.Event, last int64, err error) {
	most := q.Last
	if !all && most > 0 {
		q.Last += tailExtra
	}
	last = q.After
	for e, err := range audit.Events(ctx, rt.State, q) {
		if err != nil {
			return nil, last, err
		}
		last = max(last, e.Seq)
		if all || !rt.isAnsweredDiscovery(&e) {
			events = append(events, e)
		}
	}
	if most > 0 && len(events) > most {
		events = events[len(events)-most:]
	}
	return events, last, nil
}

// isAnsweredDiscovery reports whether a record is of a question of the gate to a
// server, which went well so far. Where an action has the name of such a question,
// none is left out.
func (rt *Runtime) isAnsweredDiscovery(e *audit.Event) bool {
	server, ok := strings.CutPrefix(string(e.Tool), upstream.DiscoveryName(""))
	if !ok || e.Kind == audit.KindOutcome && !e.OK || e.Kind == audit.KindChange {
		return false
	}
	return slices.ContainsFunc(rt.InForce().Config.Servers, func(p config.Part) bool { return p.ID == server }) &&
		!slices.ContainsFunc(rt.InForce().Config.Actions, func(p config.Part) bool { return p.ID == string(e.Tool) })
}
