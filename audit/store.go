package audit

import (
	"context"
	"iter"
	"time"
)

// Reader gives the records of a chain. It must be safe for concurrent use.
type Reader interface {
	// Read yields the records that q asks for, by ascending number. The
	// sequence ends after an error. A record may be kept. Read must not
	// block writers for as long as the consumer takes; when records are
	// pruned during the read it may end with an error.
	Read(ctx context.Context, q Query) iter.Seq2[Record, error]
}

// Store keeps a chain. It must be safe for concurrent use, also by several
// processes where the store is shared.
type Store interface {
	Reader
	// Append calls seal inside a write transaction with the newest record's
	// head and keeps what seal returns: records with consecutive numbers
	// from head.Seq+1. When it returns nil they survive the death of the
	// process. After an error none of them is kept. It may not call seal
	// twice, nor keep a Body after it returned: it copies.
	Append(ctx context.Context, seal func(head Head) ([]Record, error)) error
	// Sync returns when everything that was appended before, by anybody,
	// survives a loss of power. Others may append at the same time. After an error
	// it is not known what does, and no later Sync may report success: what
	// a system could not write it may forget.
	Sync(ctx context.Context) error
}

// Pruner is the ability of a store to forget its oldest records.
type Pruner interface {
	// Prune replaces every record up to and including checkpoint.Seq by the
	// checkpoint, in one transaction. It fails and changes nothing when the
	// record of that number does not have the checkpoint's hash.
	Prune(ctx context.Context, checkpoint Record) error
}

// Bounded is the ability of a store to hold no more than some of the newest
// records.
type Bounded interface {
	Pruner
	// Overflow returns the newest record that has to go, so that the others keep
	// within the bound; ok is false when all do. A [Log] prunes up to it after it
	// has added records.
	Overflow() (newest Record, ok bool)
}

// Query selects records. The zero Query selects all of them; set fields
// narrow the selection together.
type Query struct {
	// Call, Tool and Principal are compared exactly; empty means any.
	Call, Tool, Principal string
	// Denied selects outcomes of refused calls only.
	Denied bool
	// Since is the earliest time; the zero time means any.
	Since time.Time
	// After selects records with greater numbers; 0 means all.
	After int64
	// Last selects the newest N of what matches; 0 means all.
	Last int
}

// Match reports whether r is selected, Last aside. Stores that filter in
// memory use it.
func (q *Query) Match(r *Record) bool {
	return (q.After == 0 || r.Seq > q.After) &&
		(q.Call == "" || q.Call == r.Call) &&
		(q.Tool == "" || q.Tool == r.Tool) &&
		(q.Principal == "" || q.Principal == r.Principal) &&
		(!q.Denied || r.Denied) &&
		(q.Since.IsZero() || r.Time >= q.Since.UnixNano())
}

// Newest returns the head of a chain, the zero Head of an empty one.
func Newest(ctx context.Context, r Reader) (Head, error) {
	var h Head
	for rec, err := range r.Read(ctx, Query{Last: 1}) {
		if err != nil {
			return Head{}, err
		}
		h = rec.Head()
	}
	return h, nil
}

// Settled returns the head of a chain once everything up to it is on the
// disk: what is kept elsewhere must not know more than the chain itself after
// a loss of power.
func Settled(ctx context.Context, s Store) (Head, error) {
	var h Head
	err := s.Append(ctx, func(newest Head) ([]Record, error) {
		h = newest
		return nil, nil
	})
	if err != nil {
		return h, err
	}
	return h, s.Sync(ctx)
}

// Events yields the events that q asks for, by ascending number, and leaves
// checkpoints out. The sequence ends after an error.
func Events(ctx context.Context, r Reader, q Query) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for rec, err := range r.Read(ctx, q) {
			if err == nil && rec.Kind == KindCheckpoint {
				continue
			}
			var e Event
			if err == nil {
				e, err = rec.Event()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Unfinished returns the intents among events that have no outcome: calls
// whose process died, or that still run. What they did is unknown.
func Unfinished(events []Event) []Event {
	done := make(map[string]bool, len(events))
	for i := range events {
		if events[i].Kind == KindOutcome {
			done[events[i].CallID] = true
		}
	}
	var open []Event
	for i := range events {
		if events[i].Kind == KindIntent && !done[events[i].CallID] {
			open = append(open, events[i])
		}
	}
	return open
}
