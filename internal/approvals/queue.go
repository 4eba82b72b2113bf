// Package approvals keeps held calls in the memory of a process: for the store
// that does, and for a gate to which no store was given. It also keeps the rules
// that people give for the session of a held call, and shows held calls to a
// person who watches.
package approvals

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// maxApprovals bounds what is kept for the list of everything.
const maxApprovals = 2000

// Queue keeps held calls in the memory of the process. It implements
// sallyport.ApprovalStore and is safe for concurrent use.
type Queue struct {
	now     func() time.Time
	changed Signal

	mu  sync.Mutex
	all []sallyport.Approval // the oldest first
}

// New returns an empty queue. The clock may be nil, which means
// time.Now.
func New(now func() time.Time) *Queue {
	if now == nil {
		now = time.Now
	}
	return &Queue{now: now}
}

// lockUnlessDone locks the queue unless ctx is done.
func (s *Queue) lockUnlessDone(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// findByID returns the request of an id, nil when there is none.
func (s *Queue) findByID(id string) *sallyport.Approval {
	for i := range s.all {
		if s.all[i].ID == id {
			return &s.all[i]
		}
	}
	return nil
}

// findNewest returns the newest request of a digest, nil when there is none.
func (s *Queue) findNewest(digest string) *sallyport.Approval {
	for i := len(s.all) - 1; i >= 0; i-- {
		if s.all[i].Digest == digest {
			return &s.all[i]
		}
	}
	return nil
}

// Ask implements sallyport.ApprovalQueue.
func (s *Queue) Ask(ctx context.Context, a sallyport.Approval) (sallyport.Approval, error) {
	if err := a.Check(); err != nil {
		return a, err
	}
	unlock, err := s.lockUnlessDone(ctx)
	if err != nil {
		return a, err
	}
	defer unlock()
	now, last := s.now(), s.findNewest(a.Digest)
	expired, fresh := sallyport.NextApproval(last, now)
	if expired {
		last.State = sallyport.ApprovalExpired
	}
	if !fresh {
		return *last, nil
	}
	own, total := s.countPending(a.Principal, now)
	if own >= sallyport.MaxPendingApprovals || total >= sallyport.MaxPendingApprovalsTotal {
		return a, sallyport.ErrApprovalsFull
	}
	a.State = sallyport.ApprovalPending
	s.all = append(s.all, a)
	s.dropOldest(now)
	return a, nil
}

// countPending counts the pending requests of a principal and of all.
func (s *Queue) countPending(principal string, now time.Time) (own, total int) {
	for i := range s.all {
		if s.all[i].StateAt(now) != sallyport.ApprovalPending {
			continue
		}
		total++
		if s.all[i].Principal == principal {
			own++
		}
	}
	return own, total
}

// dropOldest drops the oldest requests that are over when there are too many.
func (s *Queue) dropOldest(now time.Time) {
	over := len(s.all) - maxApprovals
	if over <= 0 {
		return
	}
	s.all = slices.DeleteFunc(s.all, func(a sallyport.Approval) bool {
		if over <= 0 || now.Before(a.Expires) {
			return false
		}
		over--
		return true
	})
}

// Wait implements sallyport.ApprovalQueue.
func (s *Queue) Wait(ctx context.Context, id string) (sallyport.Approval, error) {
	return Await(ctx, &s.changed, 0, s.now, func(context.Context) (sallyport.Approval, error) {
		return s.findCopy(id)
	})
}

// Use implements sallyport.ApprovalQueue.
func (s *Queue) Use(ctx context.Context, id string) (ok bool, err error) {
	unlock, err := s.lockUnlessDone(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	a := s.findByID(id)
	ok = a != nil && a.Use(s.now())
	if ok {
		s.changed.Send()
	}
	return ok, nil
}

// LatestDecided implements sallyport.ApprovalStore.
func (s *Queue) LatestDecided(ctx context.Context, digest string) (a sallyport.Approval, ok bool, err error) {
	unlock, err := s.lockUnlessDone(ctx)
	if err != nil {
		return a, false, err
	}
	defer unlock()
	for i := len(s.all) - 1; i >= 0; i-- {
		if s.all[i].Digest == digest && s.all[i].DecidedBy != "" {
			return s.all[i], true, nil
		}
	}
	return a, false, nil
}

// List implements sallyport.ApprovalDesk.
func (s *Queue) List(ctx context.Context, all bool) ([]sallyport.Approval, error) {
	unlock, err := s.lockUnlessDone(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var out []sallyport.Approval
	for _, a := range s.all {
		a.State = a.StateAt(s.now())
		if all || a.State == sallyport.ApprovalPending || a.State == sallyport.ApprovalApproved {
			out = append(out, a)
		}
	}
	return out, nil
}

// Get implements sallyport.ApprovalDesk.
func (s *Queue) Get(ctx context.Context, id string) (sallyport.Approval, error) {
	if err := ctx.Err(); err != nil {
		return sallyport.Approval{}, err
	}
	return s.findCopy(id)
}

// findCopy returns a copy of a request, with its state now.
func (s *Queue) findCopy(id string) (sallyport.Approval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.findByID(id)
	if a == nil {
		return sallyport.Approval{}, sallyport.ErrApprovalUnknown
	}
	out := *a
	out.State = a.StateAt(s.now())
	return out, nil
}

// Decide implements sallyport.ApprovalDesk.
func (s *Queue) Decide(ctx context.Context, id, by string, approve bool, reason string) error {
	return s.change(ctx, id, func(a *sallyport.Approval) error { return a.Decide(s.now(), by, approve, reason) })
}

// YieldToRule implements sallyport.ApprovalStore.
func (s *Queue) YieldToRule(ctx context.Context, id, by, rule, reason string) error {
	return s.change(ctx, id, func(a *sallyport.Approval) error { return a.YieldToRule(s.now(), by, rule, reason) })
}

// change changes a held call and wakes those who wait for it.
func (s *Queue) change(ctx context.Context, id string, do func(*sallyport.Approval) error) error {
	unlock, err := s.lockUnlessDone(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	a := s.findByID(id)
	if a == nil {
		return sallyport.ErrApprovalUnknown
	}
	if err := do(a); err != nil {
		return err
	}
	s.changed.Send()
	return nil
}
