package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// floodBurst is how many lines with one message are written at once, floodEvery
	// the time until there is room for another one.
	floodBurst, floodEvery = 20, 200 * time.Millisecond
	// maxMessages bounds the messages that are counted. Messages are constants of the
	// program; one more than that is not limited.
	maxMessages = 1024
)

// flood is a handler that writes few lines with the same message, from warnings on,
// and says in the next one how many it left out. It names the request of a line. It is
// safe for concurrent use.
type flood struct {
	slog.Handler
	s *floodState
}

type floodState struct {
	mu      sync.Mutex
	buckets map[string]*floodBucket
}

// floodBucket is how much of one message is admitted.
type floodBucket struct {
	room float64
	at   time.Time
	left int64 // lines left out since the last one that was written
}

func newFlood(h slog.Handler) *flood {
	return &flood{h, &floodState{buckets: map[string]*floodBucket{}}}
}

// Handle writes a record, or counts it.
func (f *flood) Handle(ctx context.Context, r slog.Record) error {
	if because := RequestFrom(ctx); because != nil {
		r = r.Clone()
		r.AddAttrs(slog.String("request", because.ID))
	}
	if r.Level < slog.LevelWarn {
		return f.Handler.Handle(ctx, r)
	}
	left, ok := f.s.admitRecord(r.Message, r.Time)
	if !ok {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int64("left_out", left))
	}
	return f.Handler.Handle(ctx, r)
}

// WithAttrs keeps the count of messages.
func (f *flood) WithAttrs(a []slog.Attr) slog.Handler { return &flood{f.Handler.WithAttrs(a), f.s} }

// WithGroup keeps the count of messages.
func (f *flood) WithGroup(name string) slog.Handler { return &flood{f.Handler.WithGroup(name), f.s} }

// admitRecord reports whether a line may be written, and how many were left out before it.
func (s *floodState) admitRecord(message string, now time.Time) (left int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[message]
	if b == nil {
		if len(s.buckets) >= maxMessages {
			return 0, true
		}
		b = &floodBucket{room: floodBurst, at: now}
		s.buckets[message] = b
	}
	if gone := now.Sub(b.at); gone > 0 {
		b.room = min(floodBurst, b.room+float64(gone)/float64(floodEvery))
		b.at = now
	}
	if b.room < 1 {
		b.left++
		return 0, false
	}
	b.room--
	left, b.left = b.left, 0
	return left, true
}
