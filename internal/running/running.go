// Package running keeps track of what runs on a surface, so that the end of a
// server can wait for it and cancel it.
package running

import (
	"context"
	"sync"
)

// Set is the calls or requests that run. It is safe for concurrent use.
type Set struct {
	most, each int  // bounds: of all, and of one owner's; 0 is none
	yields     bool // those of whom most run make room

	mu      sync.Mutex
	next    int
	entries map[int]*runningEntry
	// byOwner is how many by owner, counted how many of all, without those that
	// made room.
	byOwner map[string]int
	counted int
	idle    chan struct{} // closed while there is none
	stopped bool
}

// runningEntry is one of what runs.
type runningEntry struct {
	owner  string
	cancel context.CancelFunc
	left   bool // it made room, and ends
}

// New returns an empty set that holds at most so many, and at most so many of
// each owner; 0 means no bound. With both bounds it is shared: an owner has no
// more than are free, so that however many some have, there is a place for
// another.
func New(most, each int) *Set {
	s := &Set{most: most, each: each, entries: map[int]*runningEntry{}, byOwner: map[string]int{}, idle: make(chan struct{})}
	close(s.idle)
	return s
}

// NewYielding returns a set like [New] in which the oldest of the owner of whom
// most run is cancelled when another owner with fewer finds no place.
func NewYielding(most, each int) *Set {
	s := New(most, each)
	s.yields = true
	return s
}

// Begin adds one of an owner and gives it its context. Call done when it is
// over; ok is false when too many run. After Stop, the context is cancelled
// from the start: a call is decided and recorded then, and its tool ends at
// once.
func (s *Set) Begin(ctx context.Context, owner string) (_ context.Context, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each > 0 && s.byOwner[owner] >= s.each || !s.hasRoomFor(owner) && !s.makeRoom(owner) {
		return ctx, func() {}, false
	}
	ctx, cancel := context.WithCancel(ctx)
	if s.stopped {
		cancel()
	}
	if len(s.entries) == 0 {
		s.idle = make(chan struct{})
	}
	id := s.next
	s.next++
	s.entries[id] = &runningEntry{owner: owner, cancel: cancel}
	s.counted++
	s.byOwner[owner]++
	return ctx, func() {
		cancel()
		s.endEntry(id)
	}, true
}

// hasRoomFor reports whether there is room for one more of an owner. The
// caller holds the lock.
func (s *Set) hasRoomFor(owner string) bool {
	free := s.most - s.counted
	return s.most == 0 || free > 0 && (s.each == 0 || s.byOwner[owner] < free)
}

// makeRoom cancels the oldest of the owner of whom most run, when that has more
// than the one who comes will have. The caller holds the lock.
func (s *Set) makeRoom(comes string) bool {
	if !s.yields {
		return false
	}
	most := ""
	for owner, n := range s.byOwner {
		if n > s.byOwner[most] {
			most = owner
		}
	}
	if s.byOwner[most] <= s.byOwner[comes]+1 {
		return false
	}
	oldest := -1
	for id, o := range s.entries {
		if o.owner == most && !o.left && (oldest < 0 || id < oldest) {
			oldest = id
		}
	}
	o := s.entries[oldest]
	o.left = true
	s.releaseRoom(o)
	o.cancel()
	return true
}

// releaseRoom gives the room of an entry back. The caller holds the lock.
func (s *Set) releaseRoom(o *runningEntry) {
	s.counted--
	if s.byOwner[o.owner]--; s.byOwner[o.owner] == 0 {
		delete(s.byOwner, o.owner)
	}
}

// endEntry removes an entry that has ended.
func (s *Set) endEntry(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.entries[id]
	if o == nil {
		return
	}
	if !o.left {
		s.releaseRoom(o)
	}
	if delete(s.entries, id); len(s.entries) == 0 {
		close(s.idle)
	}
}

// Len is how many run.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// Stop cancels those that run and those that come.
func (s *Set) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, o := range s.entries {
		o.cancel()
	}
}

// Stopped reports whether Stop was called.
func (s *Set) Stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// Wait returns when none runs, or with the context's error when that ends.
func (s *Set) Wait(ctx context.Context) error {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
