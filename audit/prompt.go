package audit

import "context"

// promptStore is a store whose Append waits for nothing, such as one in memory, so
// that records need no other goroutine to share a commit.
type promptStore interface{ AppendsAtOnce() }

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
