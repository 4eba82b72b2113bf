package gateway

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	// taskKeep is how long a task is kept after its end. It gives a client that
	// lost its connection time to come back.
	taskKeep = 15 * time.Minute
	// taskPoll is the interval at which clients are told to poll a task.
	taskPoll = time.Second
	// maxTasks bounds the tasks that run or are kept, and maxOwnTasks those of
	// one principal. Beyond that a call does not become a task: its request
	// waits for the result.
	maxTasks, maxOwnTasks = 1000, 100
	// maxTaskBytes bounds the arguments and results that tasks keep, and
	// maxOwnTaskBytes those of one principal. Half of the latter is reserved
	// for the results of running tasks.
	maxTaskBytes, maxOwnTaskBytes = 64 << 20, 16 << 20
)

// taskSet is the table of tasks that run or are kept. Each has an id of 130
// random bits.
type taskSet struct {
	most, each           int // bounds on their number: in all, and of one principal
	mostBytes, eachBytes int
	mu                   sync.Mutex
	byID                 map[string]*callTask
	own                  map[string]*taskShare // by principal
	bytes                int
	stopped              bool
}

func newTasks() taskSet {
	return taskSet{
		most: maxTasks, each: maxOwnTasks, mostBytes: maxTaskBytes, eachBytes: maxOwnTaskBytes,
		byID: map[string]*callTask{}, own: map[string]*taskShare{},
	}
}

// taskShare is what the tasks of one principal occupy.
type taskShare struct{ tasks, bytes int }

// addTask adds a call as a task. It returns nil when there is no room or the
// arguments are long: the space for a long message is released with its
// request.
func (ts *taskSet) addTask(p *suspendedCall) *callTask {
	t := newTask(p, rand.Text())
	ts.mu.Lock()
	defer ts.mu.Unlock()
	own := ts.own[t.caller.Principal.Name]
	if own == nil {
		own = &taskShare{}
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

func (ts *taskSet) findTask(id string) *callTask {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.byID[id]
}

// storeResult replaces the arguments of a task that ends with its result and starts
// the task's expiry. It reports whether there is room for the result.
func (ts *taskSet) storeResult(t *callTask, bytes int) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byID[t.id] != t {
		return true // the task was dropped: its client will not ask for it
	}
	own := ts.own[t.caller.Principal.Name]
	ok := ts.bytes-t.bytes+bytes <= ts.mostBytes && own.bytes-t.bytes+bytes <= ts.eachBytes
	if !ok {
		bytes = 0 // a short text replaces the result
	}
	ts.bytes += bytes - t.bytes
	own.bytes += bytes - t.bytes
	t.bytes = bytes
	t.expire = time.AfterFunc(taskKeep, func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.dropTask(t)
	})
	return ok
}

func (ts *taskSet) dropTask(t *callTask) {
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

// stopAll removes every task, cancels those that run, and accepts no more.
func (ts *taskSet) stopAll() {
	ts.mu.Lock()
	ts.stopped = true
	ts.mu.Unlock()
	ts.removeWhere(func(*callTask) bool { return true })
}

// removeOfStream removes the tasks of a stream that has ended, and cancels those that
// run.
func (ts *taskSet) removeOfStream(stream *session) {
	ts.removeWhere(func(t *callTask) bool { return t.session == stream })
}

func (ts *taskSet) removeWhere(which func(*callTask) bool) {
	var gone []*callTask
	ts.mu.Lock()
	for _, t := range ts.byID {
		if which(t) {
			gone = append(gone, t)
			ts.dropTask(t)
		}
	}
	ts.mu.Unlock()
	for _, t := range gone {
		t.cancelRun()
	}
}
