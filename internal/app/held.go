package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	overtaken := q.findOvertaken(ctx, &a)
	if overtaken != "" {
		a.Why += "; " + overtaken
	}
	held, err := q.ApprovalQueue.Ask(ctx, a)
	if now := time.Now(); err == nil && held.StateAt(now) == sallyport.ApprovalPending && q.isNew(&held, now) {
		if overtaken != "" {
			overtaken = text.PrintableLine(overtaken) + "; "
		}
		fmt.Fprintf(q.g.Env.Stderr, "sallyport: held until %s: %s by %s; %s%s\n", held.Expires.Local().Format(time.TimeOnly),
			text.PrintableLine(held.Tool), text.PrintableLine(held.Principal), overtaken, q.g.CommandLine("approvals approve "+held.ID))
		if s := q.g.notices.Load(); s != nil {
			s.Announce(&held)
		}
	}
	return held, err
}

// Claim consumes an approval as approvals.Claimer says it, where the queue is one.
func (q *announcingQueue) Claim(ctx context.Context, id string) (settle func(recorded bool) error, ok bool, err error) {
	if c, is := q.ApprovalQueue.(approvals.Claimer); is {
		return c.Claim(ctx, id)
	}
	ok, err = q.Use(ctx, id)
	return func(bool) error { return nil }, ok, err
}

// findOvertaken says that an approval of the same call does not count, since more holds the
// call than what the approver was told; empty when there is none.
func (q *announcingQueue) findOvertaken(ctx context.Context, a *sallyport.Approval) string {
	desk, ok := q.ApprovalQueue.(sallyport.ApprovalDesk)
	if !ok {
		return ""
	}
	list, err := desk.List(ctx, false)
	if err != nil {
		return "" // the answer of the queue says what is wrong
	}
	for i := range list {
		old := &list[i]
		same := old.Tool == a.Tool && old.Args == a.Args && old.Hidden == a.Hidden && old.Principal == a.Principal && old.Personality == a.Personality
		// The queue may have added such a sentence to what held the call then.
		was, _, _ := strings.Cut(old.Why, "; "+overtakenStart)
		if old.State != sallyport.ApprovalApproved || old.Digest == a.Digest || !same || was == a.Why || !strings.Contains(a.Why, was) {
			continue
		}
		more := strings.Trim(strings.Replace(a.Why, was, "", 1), "; ")
		return overtakenStart + old.ID + " of the same call does not count, which was given before this held it, too: " + more
	}
	return ""
}

// overtakenStart begins the sentence about an approval that does not count.
const overtakenStart = "approval "

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
