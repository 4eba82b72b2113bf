// Package shadow counts what a second configuration says of the calls of a server,
// beside the configuration in force.
//
// Start with [Queue], which holds the calls that are to be judged, and [Report], which
// counts what was found. [Add] keeps it in the state, where several servers add to the
// same counts. The package decides nothing: it is told both verdicts.
package shadow

import "sync"

// MaxWaiting bounds the calls that wait to be judged: some seconds of a busy server, in
// a few hundred kilobytes.
const MaxWaiting = 4096

// Queue holds the calls that were decided and are not judged yet, by their ids. A call
// for which there is no room is dropped and counted. Nothing waits for anything else
// than a map. It is safe for concurrent use.
type Queue struct {
	most int
	wake chan struct{}

	mu      sync.Mutex
	waiting map[string]waitingCall
	dropped map[string]int // by the configuration that decided
}

// waitingCall is a call of which the outcome is in the record, or about to be.
type waitingCall struct {
	config   string
	recorded bool
}

// NewQueue returns an empty queue of at most so many calls.
func NewQueue(most int) *Queue {
	return &Queue{most: most, wake: make(chan struct{}, 1), waiting: map[string]waitingCall{}, dropped: map[string]int{}}
}

// Add adds a call that was decided under the configuration with a fingerprint. Call it
// before the outcome is recorded, so that who reads the record finds the call here.
func (q *Queue) Add(id, config string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= q.most {
		q.dropped[config]++
		return
	}
	q.waiting[id] = waitingCall{config: config}
}

// Confirm says whether the outcome of a call is in the record. A call whose outcome is
// not there cannot be judged, and counts as dropped.
func (q *Queue) Confirm(id string, kept bool) {
	q.mu.Lock()
	if c, ok := q.waiting[id]; ok && kept {
		c.recorded = true
		q.waiting[id] = c
	} else if ok {
		q.drop(id, c)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Wake returns a channel that has a value when calls were added since it was read.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

// Has reports whether a call waits.
func (q *Queue) Has(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.waiting[id]
	return ok
}

// Take removes a call and returns the fingerprint of the configuration that decided it.
// ok is false when it does not wait.
func (q *Queue) Take(id string) (config string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c, ok := q.waiting[id]
	delete(q.waiting, id)
	return c.config, ok
}

// Recorded returns the calls whose outcomes are in the record by now.
func (q *Queue) Recorded() (ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, c := range q.waiting {
		if c.recorded {
			ids = append(ids, id)
		}
	}
	return ids
}

// Drop removes those of the calls that still wait: the record was read, and does not
// have them.
func (q *Queue) Drop(ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		if c, ok := q.waiting[id]; ok {
			q.drop(id, c)
		}
	}
}

func (q *Queue) drop(id string, c waitingCall) {
	delete(q.waiting, id)
	q.dropped[c.config]++
}

// DropAll drops everything that waits: nothing is judged any more.
func (q *Queue) DropAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, c := range q.waiting {
		q.drop(id, c)
	}
}

// TakeDropped returns how many calls were dropped since it was last called, by the
// fingerprints of the configurations that decided them.
func (q *Queue) TakeDropped() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.dropped
	q.dropped = map[string]int{}
	return n
}
