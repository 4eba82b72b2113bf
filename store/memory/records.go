package memory

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store"
)

// Append implements audit.Store.
func (s *Store) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	if err := s.lockOpen(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	head := s.chain.newestHead()
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
		s.chain.appendRecord(keptRecord{Record: r, added: now})
	}
	return nil
}

// TryAppend is [Store.Append], which waits for nothing here: an [audit.Log] commits a
// record on the goroutine that brings it.
func (s *Store) TryAppend(seal func(audit.Head) ([]audit.Record, error)) (tried bool, err error) {
	return true, s.Append(context.Background(), seal)
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

// Overflow implements audit.Bounded. What has to go is an eighth more than the
// bound asks, so that few records cost a pruning.
func (s *Store) Overflow() (newest audit.Record, ok bool) {
	const slack = 8
	s.mu.RLock()
	defer s.mu.RUnlock()
	oldest := s.now().Add(-s.recordAge)
	over := s.chain.bytes > s.recordBytes
	if s.closed {
		return newest, false
	}
	left := s.chain.bytes
	for r := range s.chain.oldestFirst() {
		if r.Kind == audit.KindCheckpoint { // of the last pruning, before all others
			continue
		}
		if !ok && !over && !r.added.Before(oldest.Add(-s.recordAge/slack)) {
			break
		}
		tooMany := over && left > s.recordBytes-s.recordBytes/slack
		if !tooMany && !r.added.Before(oldest) {
			break
		}
		newest, ok, left = r.Record, true, left-r.countBytes()
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
			chain.skipOlder(&q)
		}
		for r := range chain.oldestFirst() {
			if !q.Match(&r.Record) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(audit.Record{}, err)
				return
			}
			if !yield(r.Record, nil) {
				return
			}
		}
	}
}

// chainSnapshot returns the chain as it is now.
func (s *Store) chainSnapshot(ctx context.Context) (recordChain, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return recordChain{}, &store.Error{Reason: store.ErrClosed}
	}
	return recordChain{blocks: slices.Clone(s.chain.blocks)}, ctx.Err()
}

// Prune implements audit.Pruner.
func (s *Store) Prune(ctx context.Context, checkpoint audit.Record) error {
	if err := s.lockOpen(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	block, at, ok := s.chain.findRecord(checkpoint.Seq)
	if !ok || s.chain.blocks[block][at].Hash != checkpoint.Hash {
		return fmt.Errorf("memory: record %d is not the one to cut at", checkpoint.Seq)
	}
	checkpoint.Body = bytes.Clone(checkpoint.Body)
	s.chain.replaceTo(block, at, keptRecord{Record: checkpoint})
	return nil
}
