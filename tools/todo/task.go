package todo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// The statuses of a task. Open is no status: it stands for the first two in a filter.
const (
	statusPending    = "pending"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusOpen       = "open"
)

var statuses = []string{statusPending, statusInProgress, statusCompleted}

// keyPrefix begins the keys of tasks: other tools share the store of the session. Each
// task has a key of its own, so that two processes never lose each other's tasks.
const keyPrefix = "todo/"

// task is one task as it is stored.
type task struct {
	ID      string `json:"-"`
	Content string `json:"content"`
	Status  string `json:"status"`
	// Rank orders the tasks; 0 stands for one that has no place yet.
	Rank    float64 `json:"rank"`
	Created int64   `json:"created"`

	stored string // the value in the store
}

// loadTasks returns the tasks of the session in their order.
func loadTasks(ctx context.Context, kv sallyport.KV) ([]*task, error) {
	keys, err := kv.List(ctx, keyPrefix)
	if err != nil {
		return nil, err
	}
	var tasks []*task
	for _, key := range keys {
		value, ok, err := kv.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // It was deleted, or expired, since the list was read.
		}
		t := &task{ID: strings.TrimPrefix(key, keyPrefix), stored: value}
		if err := json.Unmarshal([]byte(value), t); err != nil || !slices.Contains(statuses, t.Status) {
			return nil, &sallyport.Error{
				Code: sallyport.CodeExecutionFailed, Resource: t.ID, Operation: "read",
				Detail: fmt.Sprintf("task %q cannot be read: todo_delete removes it", t.ID), Err: err,
			}
		}
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	return tasks, nil
}

// storeChanges ranks the tasks in the order of the list and stores those that differ
// from the store. Touched ones are stored in any case, which renews their lifetime.
func storeChanges(ctx context.Context, kv sallyport.KV, tasks []*task, touched ...string) error {
	rankTasks(tasks)
	values := map[*task]string{}
	for _, t := range tasks {
		value, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if string(value) != t.stored || slices.Contains(touched, t.ID) {
			values[t] = string(value)
		}
	}
	done := 0
	for _, t := range tasks {
		value, ok := values[t]
		if !ok {
			continue
		}
		if err := kv.Set(ctx, keyPrefix+t.ID, value, 0); err != nil {
			return newPartError("stored", done, len(values), err)
		}
		done++
	}
	return nil
}

// newPartError says how far a change came before the store failed.
func newPartError(what string, done, of int, err error) error {
	if done == 0 {
		return err
	}
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Operation: "write",
		Detail: fmt.Sprintf("%d of %d tasks were %s, then the store failed: todo_list shows what is there", done, of, what), Err: err,
	}
}

// rankStep is the distance between the ranks of neighbours.
const rankStep = 1024

// rankTasks gives a rank to each task that has none, between those of its neighbours.
// Where there is no room left, all get new ranks.
func rankTasks(tasks []*task) {
	before := 0.0
	for i, t := range tasks {
		if t.Rank == 0 {
			next := slices.IndexFunc(tasks[i:], func(t *task) bool { return t.Rank != 0 })
			t.Rank = before + rankStep
			if next > 0 {
				t.Rank = before + (tasks[i+next].Rank-before)/float64(next+1)
			}
		}
		if t.Rank <= before {
			for i, t := range tasks {
				t.Rank = float64(i+1) * rankStep
			}
			return
		}
		before = t.Rank
	}
}

// newListResult shows those of the tasks that are to be shown as a table, below a line
// that counts.
func newListResult(what string, tasks []*task, shown func(*task) bool) sallyport.Result {
	done, rows, list := 0, "", []map[string]any{}
	for i, t := range tasks {
		if t.Status == statusCompleted {
			done++
		}
		if shown(t) {
			rows += fmt.Sprintf("| %d | %s | %s | %s |\n", i+1, t.Status, escapeCell(t.Content), t.ID)
			list = append(list, map[string]any{"id": t.ID, "position": i + 1, "status": t.Status, "content": t.Content})
		}
	}
	shownText := fmt.Sprintf("%s; %d of %d completed.", what, done, len(tasks))
	if rows != "" {
		shownText += "\n\n| # | status | task | id |\n| --- | --- | --- | --- |\n" + rows
	}
	r := sallyport.OK(strings.TrimSuffix(shownText, "\n"))
	r.Structured = map[string]any{"tasks": list, "count": len(tasks), "completed": done}
	return r
}

// escapeCell writes a text on one line, so that it cannot pass for another row.
func escapeCell(s string) string {
	return strings.ReplaceAll(text.OneLine(s), "|", `\|`)
}

// listLocks let one call at a time change the list of a session. Sessions share a
// bounded number of locks.
type listLocks struct {
	seed  maphash.Seed
	locks [64]chan struct{}
}

func newListLocks() *listLocks {
	l := &listLocks{seed: maphash.MakeSeed()}
	for i := range l.locks {
		l.locks[i] = make(chan struct{}, 1)
	}
	return l
}

// lock waits for the list of a session, or for the end of the call.
func (l *listLocks) lock(ctx context.Context, session string) (unlock func(), err error) {
	one := l.locks[maphash.String(l.seed, session)%uint64(len(l.locks))]
	select {
	case one <- struct{}{}:
		return func() { <-one }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
