package memory

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"unsafe"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store"
)

// Append implements audit.Store.
func (s *Store) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	if err := s.lockOpen(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	var head audit.Head
	if n := len(s.chain); n > 0 {
		head = s.chain[n-1].Head()
	}
	records, err := seal(head)
	if err != nil {
		return err
	}
	for i := range records {
		if records[i].Seq != head.Seq+1+int64(i) {
			return fmt.Errorf("memory: record %d does not follow record %d", records[i].Seq, head.Seq+int64(i))
		}
	}
	now := s.now()
	for _, r := range records {
		r.Body = s.keepBody(r.Body)
		s.chain, s.added = append(s.chain, r), append(s.added, now)
		s.chainBytes += sizeOf(&r)
	}
	return nil
}

// keepBody returns a copy of the body of a record. Short ones share memory, which
// comes back when the last of them goes.
func (s *Store) keepBody(body []byte) []byte {
	const shared, short = 64 << 10, 8 << 10
	if len(body) > short {
		return bytes.Clone(body)
	}
	if len(s.bodies)+len(body) > cap(s.bodies) {
		s.bodies = make([]byte, 0, shared)
	}
	begin := len(s.bodies)
	s.bodies = append(s.bodies, body...)
	return s.bodies[begin:len(s.bodies):len(s.bodies)]
}

// sizeOf returns about what a record takes.
func sizeOf(r *audit.Record) int {
	return int(unsafe.Sizeof(*r)) + len(r.Call) + len(r.Tool) + len(r.Principal) + len(r.Body)
}

// AppendsAtOnce has an [audit.Log] commit each record on the goroutine that brings
// it: Append waits for nothing.
func (s *Store) AppendsAtOnce() {}

// Overflow implements audit.Bounded. What has to go is an eighth more than the
// bound asks, so that few records cost a pruning.
func (s *Store) Overflow() (newest audit.Record, ok bool) {
	const slack = 8
	s.mu.RLock()
	defer s.mu.RUnlock()
	oldest := s.now().Add(-s.recordAge)
	over := s.chainBytes > s.recordBytes
	first := slices.IndexFunc(s.chain, func(r audit.Record) bool { return r.Kind != audit.KindCheckpoint })
	if s.closed || first < 0 || !over && !s.added[first].Before(oldest.Add(-s.recordAge/slack)) {
		return newest, false
	}
	left := s.chainBytes
	for i := first; i < len(s.chain); i++ {
		r := &s.chain[i]
		tooMany := over && left > s.recordBytes-s.recordBytes/slack
		if !tooMany && !s.added[i].Before(oldest) {
			break
		}
		newest, ok, left = *r, true, left-sizeOf(r)
	}
	return newest, ok
}

// Sync implements audit.Store. There is no disk to wait for.
func (s *Store) Sync(ctx context.Context) error {
	err := s.lockOpen(ctx)
	if err == nil {
		s.mu.Unlock()
	}
	return err
}

// Read implements audit.Reader. It yields the records as they were when it
// began.
func (s *Store) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		chain, err := s.chainSnapshot(ctx)
		if err != nil {
			yield(audit.Record{}, err)
			return
		}
		if q.Last > 0 {
			chain = newestMatches(chain, &q)
		}
		for i := range chain {
			if !q.Match(&chain[i]) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(audit.Record{}, err)
				return
			}
			if !yield(chain[i], nil) {
				return
			}
		}
	}
}

// chainSnapshot returns the chain. Records are never changed in place, so that
// the slice header is enough.
func (s *Store) chainSnapshot(ctx context.Context) ([]audit.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, &store.Error{Reason: store.ErrClosed}
	}
	return s.chain, ctx.Err()
}

// newestMatches returns the shortest end of chain with q.Last matches.
func newestMatches(chain []audit.Record, q *audit.Query) []audit.Record {
	left := q.Last
	for i := len(chain) - 1; i >= 0; i-- {
		if !q.Match(&chain[i]) {
			continue
		}
		if left--; left == 0 {
			return chain[i:]
		}
	}
	return chain
}

// Prune implements audit.Pruner.
func (s *Store) Prune(ctx context.Context, checkpoint audit.Record) error {
	if err := s.lockOpen(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	i, ok := sort.Find(len(s.chain), func(i int) int { return int(checkpoint.Seq - s.chain[i].Seq) })
	if !ok || s.chain[i].Hash != checkpoint.Hash {
		return fmt.Errorf("memory: record %d is not the one to cut at", checkpoint.Seq)
	}
	checkpoint.Body = bytes.Clone(checkpoint.Body)
	s.chain, s.added = append([]audit.Record{checkpoint}, s.chain[i+1:]...), slices.Clone(s.added[i:])
	s.chainBytes = 0
	for i := range s.chain {
		s.chainBytes += sizeOf(&s.chain[i])
	}
	return nil
}
