package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/text"
)

// announcingQueue tells the operator on standard error of each call that is held, once
// in this process, with the command that decides, and the receivers of notices.
type announcingQueue struct {
	sallyport.ApprovalQueue
	g *Runtime

	mu   sync.Mutex
	told map[string]time.Time // held calls, and when they expire
}

// Ask holds a call and announces it, also when another process held it before.
func (q *announcingQueue) Ask(ctx context.Context, a sallyport.Approval) (sallyport.Approval, error) {
	held, err := q.ApprovalQueue.Ask(ctx, a)
	if now := time.Now(); err == nil && held.StateAt(now) == sallyport.ApprovalPending && q.isNew(&held, now) {
		fmt.Fprintf(q.g.Env.Stderr, "sallyport: held until %s: %s by %s; %s\n", held.Expires.Local().Format(time.TimeOnly),
			text.PrintableLine(held.Tool), text.PrintableLine(held.Principal), q.g.CommandLine("approvals approve "+held.ID))
		if s := q.g.notices.Load(); s != nil {
			s.Announce(&held)
		}
	}
	return held, err
}

// isNew reports whether this process has not announced a held call yet.
func (q *announcingQueue) isNew(held *sallyport.Approval, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.told, func(_ string, expires time.Time) bool { return !now.Before(expires) })
	_, told := q.told[held.ID]
	if q.told == nil {
		q.told = map[string]time.Time{}
	}
	q.told[held.ID] = held.Expires
	return !told
}

// ListHeld returns the calls that wait for a person, the one that expires first at the
// beginning.
func (rt *Runtime) ListHeld(ctx context.Context) ([]sallyport.Approval, error) {
	list, err := rt.Approvals.List(ctx, false)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(a sallyport.Approval) bool { return a.State != sallyport.ApprovalPending })
	slices.SortStableFunc(list, func(a, b sallyport.Approval) int { return a.Expires.Compare(b.Expires) })
	return list, nil
}

// personConnected reports whether a person watches the held calls. When the
// state does not say, the answer is no: the call is answered at once.
func (rt *Runtime) personConnected(ctx context.Context) bool {
	watched, err := approvals.Watched(ctx, rt.Settings, time.Now())
	if err != nil && rt.Logger != nil {
		rt.Logger.Warn("whether a person watches held calls is not known", "error", err)
	}
	return watched
}
