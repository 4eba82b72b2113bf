package audit

import (
	"context"
	"runtime"
	"time"

	"github.com/sallyport/sallyport/internal/deadline"
)

// commitRecord commits p and returns the number of its commit: on this goroutine where
// no other one commits and no record waits, else by the committer.
func (l *Log) commitRecord(ctx context.Context, p *queuedRecord) (commit uint64, err error) {
	tried, err := l.tryCommit(p)
	if !tried {
		if err := l.enqueueRecord(ctx, p); err != nil {
			return 0, err
		}
		select {
		case err = <-p.result:
		case <-ctx.Done():
			// The committer still holds p, so it is not used again.
			return 0, ctx.Err()
		}
	}
	commit = p.commit
	l.recycleRecord(p)
	return commit, err
}

// recordDurably commits p and returns when it is on the disk.
func (l *Log) recordDurably(ctx context.Context, p *queuedRecord) error {
	held, err := l.holdRecord(p)
	if err != nil {
		return err
	}
	if !held {
		commit, err := l.commitRecord(ctx, p)
		if err == nil {
			err = l.disk.waitForCommit(ctx, commit)
		}
		return err
	}
	select {
	case err := <-p.result:
		l.recycleRecord(p)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// holdRecord gives p to the next sync while one is under way.
func (l *Log) holdRecord(p *queuedRecord) (bool, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return false, errClosed
	}
	return l.disk.holdRecord(p), nil
}

// commitHeld is [diskSyncer].commit.
func (l *Log) commitHeld(held []*queuedRecord) (kept []*queuedRecord) {
	l.turn.Lock()
	defer l.turn.Unlock()
	for len(held) > 0 {
		n := min(len(held), l.o.Batch)
		l.batch = append(l.batch[:0], held[:n]...)
		err := l.appendBatch()
		clear(l.batch)
		if err != nil {
			for _, p := range held {
				p.result <- err
			}
			l.failWaiting(err)
			return kept
		}
		l.countCommit()
		kept, held = append(kept, held[:n]...), held[n:]
		l.trimStore()
	}
	return kept
}

// triedStore is a store that can be asked for a commit that waits for nothing.
type triedStore interface {
	// TryAppend is Append where nothing has to be waited for. Elsewhere it reports
	// false and has called nothing.
	TryAppend(seal func(Head) ([]Record, error)) (tried bool, err error)
}

// tryCommit commits p on the goroutine of its caller, where no other record waits and
// the store has to wait for nothing. Where it reports false, p is as it was.
func (l *Log) tryCommit(p *queuedRecord) (tried bool, err error) {
	if l.trier == nil {
		return false, nil
	}
	// Close waits for it. It is acquired before the turn: who waits for Close behind a
	// full queue waits for the committer, too.
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return true, errClosed
	}
	if len(l.queue) > 0 || !l.turn.TryLock() {
		return false, nil
	}
	defer l.turn.Unlock()
	l.batch = append(l.batch[:0], p)
	tried, err = l.trier.TryAppend(l.sealing)
	clear(l.batch)
	clear(l.sealed)
	if tried && err == nil {
		p.commit = l.countCommit()
		l.trimStore()
	}
	return tried, err
}

// commitAll is the committer: it takes what waits and commits it at once.
func (l *Log) commitAll() {
	defer close(l.done)
	defer l.disk.awaitEnd()
	defer l.syncCommits()
	defer l.settlers.Wait()
	defer l.settle.Stop()
	for p := range l.queue {
		l.commitBatch(p)
	}
}

// commitBatch commits p and what waits behind it.
func (l *Log) commitBatch(p *queuedRecord) {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.batch = append(l.batch[:0], p)
	l.collectBatch()
	err := l.appendBatch()
	n := uint64(0)
	if err == nil {
		n = l.countCommit()
	}
	for _, p := range l.batch {
		p.commit = n
		p.result <- err
	}
	if err != nil {
		l.failWaiting(err)
	} else {
		l.trimStore()
	}
	clear(l.batch)
}

// countCommit counts a commit, which the disk may lack, and returns its number.
func (l *Log) countCommit() uint64 {
	n := l.disk.countCommit()
	if l.settling.CompareAndSwap(false, true) {
		l.settle.Reset(l.o.Settle)
	}
	return n
}

// settleCommits is the work of the timer, for which Close waits.
func (l *Log) settleCommits() {
	l.mu.RLock()
	closed := l.closed
	if !closed {
		l.settlers.Add(1)
	}
	l.mu.RUnlock()
	if closed {
		return
	}
	defer l.settlers.Done()
	l.settling.Store(false) // before the look at what there is
	l.syncCommits()
}

// trimStore removes what a bounded store may not keep. A store that fails to is
// asked again after the next commit.
func (l *Log) trimStore() {
	s, ok := l.store.(Bounded)
	if !ok {
		return
	}
	cut, ok := s.Overflow()
	if !ok {
		return
	}
	// Records are numbered from 1 without gaps, so that their number is how many
	// there were.
	checkpoint, err := newCheckpoint(l.sealer, l.keyID, &cut, cut.Seq)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.o.Timeout)
	defer cancel()
	_ = s.Prune(ctx, checkpoint)
}

// syncCommits brings to the disk what it may lack. When that fails, the next
// sync or durable record tries it again, and the latter reports it.
func (l *Log) syncCommits() { _ = l.disk.waitForCommit(context.Background(), l.disk.newestCommit()) }

// collectBatch fills the batch with what already waits. It yields once to
// callers that the last commit has just woken, without which a full batch and
// one of one record would take turns; it never waits.
func (l *Log) collectBatch() {
	for yielded := false; len(l.batch) < l.o.Batch; {
		select {
		case p, ok := <-l.queue:
			if !ok {
				return
			}
			l.batch = append(l.batch, p)
		default:
			if yielded {
				return
			}
			yielded = true
			runtime.Gosched()
		}
	}
}

func (l *Log) appendBatch() error {
	ctx := new(deadline.Context)
	ctx.Start(context.Background(), time.Now().Add(l.o.Timeout))
	defer ctx.Cancel()
	// Waiters reuse their buffers once they hear the result.
	defer func() { clear(l.sealed) }()
	return l.store.Append(ctx, l.sealing)
}

// sealBatch seals the batch behind head.
func (l *Log) sealBatch(head Head) ([]Record, error) {
	l.sealed = l.sealed[:0]
	for _, p := range l.batch {
		r := p.rec
		r.Seq = head.Seq + 1
		r.Hash = l.sealer.sealRecord(head.Hash, &r)
		head = r.Head()
		l.sealed = append(l.sealed, r)
	}
	return l.sealed, nil
}

// failWaiting gives the error of a commit to all who wait for the next one,
// so that a store that hangs costs each record one timeout and not one per
// batch.
func (l *Log) failWaiting(err error) {
	for n := len(l.queue); n > 0; n-- {
		select {
		case p, ok := <-l.queue:
			if !ok {
				return
			}
			p.result <- err
		default:
			return // the committer took what was left
		}
	}
}
