package gateway

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	// taskKeep is how long a task is kept after its end: long enough for a
	// client that lost its connection to come back.
	taskKeep = 15 * time.Minute
	// taskPoll is how often a client is to ask for a task.
	taskPoll = time.Second
	// maxTasks bounds the tasks that run or are kept, and maxOwnTasks those of
	// one principal. A call beyond them is waited for like any other.
	maxTasks, maxOwnTasks = 1000, 100
	// maxTaskBytes bounds the arguments and results that tasks keep, and
	// maxOwnTaskBytes those of one principal. Half of the latter is for the
	// results of tasks that run already.
	maxTaskBytes, maxOwnTaskBytes = 64 << 20, 16 << 20
)

// tasks is the tasks that run or are kept, each under an id of 130 random bits.
type tasks struct {
	most, each           int // bounds of their number: of all, and of a principal's
	mostBytes, eachBytes int
	mu                   sync.Mutex
	byID                 map[string]*task
	own                  map[string]*share // by principal
	bytes                int
	stopped              bool
}

func newTasks() tasks {
	return tasks{
		most: maxTasks, each: maxOwnTasks, mostBytes: maxTaskBytes, eachBytes: maxOwnTaskBytes,
		byID: map[string]*task{}, own: map[string]*share{},
	}
}

// share is what the tasks of a principal take.
type share struct{ tasks, bytes int }

// put adds a call as a task; nil when there is no room, or when its arguments are
// long: their turn ends with the request.
func (ts *tasks) put(p *parked, stream *connection) *task {
	t := newTask(p, rand.Text(), stream)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	own := ts.own[t.caller.Principal.Name]
	if own == nil {
		own = &share{}
	}
	if ts.stopped || t.bytes >= smallBytes || len(ts.byID) >= ts.most || own.tasks >= ts.each ||
		ts.bytes+t.bytes > ts.mostBytes || own.bytes+t.bytes > ts.eachBytes/2 {
		return nil
	}
	ts.byID[t.id], ts.own[t.caller.Principal.Name] = t, own
	own.tasks++
	own.bytes += t.bytes
	ts.bytes += t.bytes
	return t
}

func (ts *tasks) get(id string) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.byID[id]
}

// settle has a task that ends keep a result instead of its arguments, for a
// while. It reports whether there is room for that much.
func (ts *tasks) settle(t *task, bytes int) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byID[t.id] != t {
		return true // nobody comes for it any more
	}
	own := ts.own[t.caller.Principal.Name]
	ok := ts.bytes-t.bytes+bytes <= ts.mostBytes && own.bytes-t.bytes+bytes <= ts.eachBytes
	if !ok {
		bytes = 0 // a short text stands for it
	}
	ts.bytes += bytes - t.bytes
	own.bytes += bytes - t.bytes
	t.bytes = bytes
	t.expire = time.AfterFunc(taskKeep, func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.drop(t)
	})
	return ok
}

// drop forgets a task.
func (ts *tasks) drop(t *task) {
	if ts.byID[t.id] != t {
		return
	}
	if t.expire != nil {
		t.expire.Stop()
	}
	delete(ts.byID, t.id)
	name := t.caller.Principal.Name
	own := ts.own[name]
	own.tasks--
	own.bytes -= t.bytes
	ts.bytes -= t.bytes
	if own.tasks == 0 {
		delete(ts.own, name)
	}
}

// stop forgets every task, cancels those that run, and takes no more.
func (ts *tasks) stop() {
	ts.mu.Lock()
	ts.stopped = true
	ts.mu.Unlock()
	ts.forget(func(*task) bool { return true })
}

// leave forgets the tasks of a stream that is over, and cancels those that run.
func (ts *tasks) leave(stream *connection) {
	ts.forget(func(t *task) bool { return t.stream == stream })
}

func (ts *tasks) forget(which func(*task) bool) {
	var gone []*task
	ts.mu.Lock()
	for _, t := range ts.byID {
		if which(t) {
			gone = append(gone, t)
			ts.drop(t)
		}
	}
	ts.mu.Unlock()
	for _, t := range gone {
		t.cancel()
	}
}
