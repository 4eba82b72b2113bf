// Package conversation keeps what conversations were told and have read, for registries
// that follow each other: the tasks of their sessions, and the untrusted texts from which
// an argument may come.
package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/provenance"
)

const (
	// maxTasks bounds how often a session is narrowed.
	maxTasks = 16
	// maxSessions bounds the sessions whose tasks are kept in memory; others are read
	// from the store again.
	maxSessions = 10_000
)

// Memory is what conversations were told and have read. It is safe for concurrent use.
type Memory struct {
	// Reads holds what sessions read. It is in memory alone: a session that another
	// process has read for is known as such, and every value in it counts as untrusted.
	Reads provenance.Sessions
	// Unstored is what sessions have read and the state could not take.
	Unstored facts.Unstored

	store sallyport.KV // nil keeps tasks in memory alone

	narrowing sync.Mutex // one at a time, since each is on top of the one before

	mu   sync.Mutex
	kept map[string]keptTask // by session key
}

// keptTask is what a session was narrowed to, nil for nothing, when it was read.
type keptTask struct {
	*Task
	read time.Time
}

// fresh is how long a task is kept before the store is asked again, which other processes
// write, too.
const fresh = 250 * time.Millisecond

// New returns an empty memory. Tasks keeps what sessions were narrowed to; nil keeps it
// in memory.
func New(tasks sallyport.KV) *Memory { return &Memory{store: tasks} }

// Task is what a session was opened with, and narrowed to since.
type Task struct {
	// Words are the person's, of the first task.
	Words string `json:"words,omitempty"`
	// After is the call that had last brought untrusted content into another session of the
	// principal when the words came; empty for none. They may be copied from there.
	After string `json:"after,omitempty"`
	// Tasks lists every task that the session was narrowed to.
	Tasks []sallyport.Task `json:"tasks"`
	// Steps says for each of Tasks which call brought it, and when.
	Steps []Step `json:"steps,omitempty"`

	words Words
}

// Step is how a session was narrowed to one task.
type Step struct {
	// Call is the id of the call that brought the task.
	Call string `json:"call"`
	// Time is when the session was narrowed.
	Time time.Time `json:"time"`
}

// AsOf returns what the session was narrowed to for a call that began and ended at some
// times, nil for nothing. It is not sure when the session was narrowed while the call ran,
// or it is not known when. A nil t is none at any time.
func (t *Task) AsOf(call string, began, ended time.Time) (then *Task, sure bool) {
	if t == nil {
		return nil, true
	}
	if len(t.Steps) != len(t.Tasks) {
		return nil, false
	}
	n := 0
	for i, s := range t.Steps {
		switch {
		case s.Call == call, s.Time.Before(began):
			n = i + 1
		case !s.Time.After(ended):
			return nil, false
		}
	}
	if n == 0 {
		return nil, true
	}
	return &Task{Words: t.Words, After: t.After, Tasks: t.Tasks[:n], words: t.words}, true
}

// With returns the task narrowed once more, which is not kept. A nil t is none yet.
func (t *Task) With(more sallyport.Task) *Task {
	if t == nil {
		return &Task{Tasks: []sallyport.Task{more}}
	}
	return &Task{Words: t.Words, After: t.After, Tasks: append(slices.Clip(t.Tasks), more), Steps: t.Steps, words: t.words}
}

// Spoken returns the words of the person in the form that values are looked for in.
func (t *Task) Spoken() Words { return t.words }

// Task returns what a session was narrowed to, nil for nothing. The value is shared: read
// only.
func (b *Memory) Task(ctx context.Context, session string) (*Task, error) {
	b.mu.Lock()
	was, known := b.kept[session]
	b.mu.Unlock()
	if b.store == nil || known && time.Since(was.read) < fresh {
		return was.Task, nil
	}
	return b.readTask(ctx, session)
}

// keptStep is one task of a session as the store has it, under a key of its own: of two
// processes that narrow a session at the same moment, neither overwrites the other.
type keptStep struct {
	// Words are the person's, when they counted with this task.
	Words string         `json:"words,omitempty"`
	After string         `json:"after,omitempty"`
	Task  sallyport.Task `json:"task"`
	Step  Step           `json:"step"`
}

// readTask reads what a session was narrowed to from the store.
func (b *Memory) readTask(ctx context.Context, session string) (*Task, error) {
	keys, err := b.store.List(ctx, taskKey(session))
	if err != nil {
		return nil, err
	}
	if len(keys) > 2*maxTasks {
		return nil, ErrNarrowedTooOften
	}
	var steps []keptStep
	for _, key := range keys {
		text, ok, err := b.store.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // it has just expired
		}
		var s keptStep
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return nil, fmt.Errorf("a kept task: %w", err)
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return b.keep(session, nil), nil
	}
	// The keys, which are sorted, decide between those of one moment.
	slices.SortStableFunc(steps, func(x, y keptStep) int { return x.Step.Time.Compare(y.Step.Time) })
	t := &Task{Words: steps[0].Words, After: steps[0].After, words: newWords(steps[0].Words)}
	for i := range steps {
		t.Tasks, t.Steps = append(t.Tasks, steps[i].Task), append(t.Steps, steps[i].Step)
	}
	return b.keep(session, t), nil
}

// writeTask writes all tasks of a session, so that none expires before another one.
func (b *Memory) writeTask(ctx context.Context, session string, t *Task) error {
	for i := range t.Tasks {
		s := keptStep{Task: t.Tasks[i], Step: t.Steps[i]}
		if i == 0 {
			s.Words, s.After = t.Words, t.After
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := b.store.Set(ctx, taskKey(session)+nameTask(&t.Tasks[i]), string(text), sallyport.SessionFactAge); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps a task and returns what the session is narrowed to: a task that the store
// has lost, since it was not used for long, still counts here.
func (b *Memory) keep(session string, t *Task) *Task {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil || b.store != nil && len(b.kept) >= maxSessions {
		b.kept = map[string]keptTask{}
	}
	if was := b.kept[session].Task; was != nil && (t == nil || len(t.Tasks) < len(was.Tasks)) {
		t = was
	}
	b.kept[session] = keptTask{t, time.Now()}
	return t
}

// taskKey begins the keys of a session's tasks in the store.
func taskKey(session string) string { return digest.Text(session) + "/" }

// nameTask returns the name of a task among those of its session.
func nameTask(t *sallyport.Task) string {
	text, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return digest.Text(text)
}

// ErrNarrowedTooOften is the error of a session that has as many tasks as it may.
var ErrNarrowedTooOften = fmt.Errorf("the session was narrowed too often: %d times is the most", maxTasks)

// Narrow narrows a session further, with a call. The words of the first task count when
// nothing untrusted was read in the session before it, which readNothing reports; after is
// the call that had brought some into another session of the principal, empty for none.
func (b *Memory) Narrow(ctx context.Context, session, call string, asked sallyport.Task, readNothing func() (is bool, after string, err error)) (*Task, error) {
	was, err := b.Task(ctx, session)
	if err != nil || was.Has(&asked) {
		return was, err
	}
	b.narrowing.Lock()
	defer b.narrowing.Unlock()
	if b.store == nil {
		was, err = b.Task(ctx, session)
	} else {
		was, err = b.readTask(ctx, session)
	}
	if err != nil || was.Has(&asked) {
		return was, err
	}
	next := &Task{}
	if was != nil {
		next.Words, next.After, next.Tasks, next.Steps = was.Words, was.After, slices.Clone(was.Tasks), slices.Clone(was.Steps)
	} else if asked.Words != "" {
		untouched, after, err := readNothing()
		if err != nil {
			return nil, err
		}
		if untouched {
			next.Words, next.After = asked.Words, after
		}
	}
	if b.store == nil && was == nil && b.isFull() {
		return nil, errors.New("too many sessions were narrowed")
	}
	if len(next.Tasks) == maxTasks {
		return nil, ErrNarrowedTooOften
	}
	next.Tasks, next.words = append(next.Tasks, asked), newWords(next.Words)
	next.Steps = append(next.Steps, Step{call, time.Now().UTC()})
	if b.store != nil {
		if err := b.writeTask(ctx, session, next); err != nil {
			return nil, err
		}
		return b.readTask(ctx, session) // another process may have narrowed it, too
	}
	return b.keep(session, next), nil
}

// isFull reports whether the memory holds the tasks of as many sessions as it may.
func (b *Memory) isFull() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.kept) >= maxSessions
}

// Has reports whether the session was narrowed to a task. A nil t was to none.
func (t *Task) Has(asked *sallyport.Task) bool {
	return t != nil && slices.ContainsFunc(t.Tasks, func(own sallyport.Task) bool { return sameTask(&own, asked) })
}

func sameTask(a, b *sallyport.Task) bool {
	name := nameTask(a)
	return name != "" && name == nameTask(b)
}
