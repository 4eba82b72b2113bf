package scopedtest

import (
	"sync"
)

// lockedState serialises what goroutines of a tool do to a record.
type lockedState struct{ mu sync.Mutex }

func (g *lockedState) runLocked(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}
