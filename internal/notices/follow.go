package notices

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
)

const (
	// lookPause is the pause between two looks at held calls.
	lookPause = time.Second
	// maxLooks bounds the held calls of one look: a flood of them costs the state little.
	maxLooks = 50
)

// followCalls looks at the announced calls until they are decided or over, in this or
// another process.
func (s *Sender) followCalls() {
	tick := time.NewTicker(s.o.pauses.look)
	defer tick.Stop()
	record := time.NewTicker(s.o.pauses.record)
	defer record.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-record.C:
			s.recordLosses()
		case <-tick.C:
			for _, id := range s.nextFollowed() {
				s.lookAt(id)
			}
			if s.hasRoomAgain() {
				s.AnnounceWaiting(s.ctx)
			}
		}
	}
}

// hasRoomAgain reports whether a receiver can be told of calls for which it had no room.
func (s *Sender) hasRoomAgain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.receivers {
		if r.hasRoomAgain() {
			return true
		}
	}
	return false
}

// recordLosses records what was lost, at most once a minute for each receiver.
func (s *Sender) recordLosses() {
	s.mu.Lock()
	receivers := slices.Collect(maps.Values(s.receivers))
	s.mu.Unlock()
	for _, r := range receivers {
		r.recordLoss()
	}
}

// nextFollowed returns the calls of one look, and puts them behind the others.
func (s *Sender) nextFollowed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.followed), maxLooks)
	next := slices.Clone(s.followed[:n])
	s.followed = append(slices.Clone(s.followed[n:]), next...)
	return next
}

// lookAt looks at a held call, and tells the receivers when it waits no more. What cannot
// be read is looked at again.
func (s *Sender) lookAt(id string) {
	a, err := s.o.Get(s.ctx, id)
	unknown := errors.Is(err, sallyport.ErrApprovalUnknown)
	if err != nil && !unknown || err == nil && a.State == sallyport.ApprovalPending {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.known[id] {
		return
	}
	delete(s.known, id)
	s.followed = slices.DeleteFunc(s.followed, func(have string) bool { return have == id })
	switch {
	case unknown: // it was pruned, and nothing is known of its end
	case a.DecidedBy == "":
		s.queueEvent(config.NoticeExpired, &a)
	default:
		s.queueEvent(config.NoticeDecided, &a)
	}
}
