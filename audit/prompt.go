package audit

import "context"

// promptStore is a store whose Append waits for nothing, such as one in memory, so
// that records need no other goroutine to share a commit.
type promptStore interface{ AppendsAtOnce() }

// triedStore is a store that can be asked for a commit that waits for nothing.
type triedStore interface {
	// TryAppend is Append where nothing has to be waited for. Elsewhere it reports
	// false and has called nothing.
	TryAppend(seal func(Head) ([]Record, error)) (tried bool, err error)
}

// tryCommit commits p on the goroutine of its caller, where no other record waits and
// the store has to wait for nothing. Where it reports false, p is as it was.
func (l *Log) tryCommit(p *queuedRecord) (tried bool, err error) {
	if l.trier == nil || len(l.queue) > 0 || !l.turn.TryLock() {
		return false, nil
	}
	defer l.turn.Unlock()
	l.mu.RLock() // Close waits
	defer l.mu.RUnlock()
	if l.closed {
		return true, errClosed
	}
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

// commitAlone commits p on the goroutine of its caller, in a prompt store.
func (l *Log) commitAlone(p *queuedRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return notKeptError(errClosed)
	}
	l.batch = append(l.batch[:0], p)
	err := l.store.Append(context.Background(), l.sealing)
	clear(l.batch)
	clear(l.sealed)
	l.recycleRecord(p)
	if err != nil {
		return notKeptError(err)
	}
	l.trimStore()
	return nil
}
