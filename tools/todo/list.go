package todo

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

type createInput struct {
	Tasks    []string `json:"tasks" jsonschema:"Texts of the tasks: one step of the work each."`
	Position int      `json:"position,omitempty" jsonschema:"Place of the first new task, counted from 1. Leave out to add at the end."`
}

type showInput struct {
	Status string `json:"status,omitempty" jsonschema:"Only tasks with this status; open: those that are not completed. Leave out for all."`
}

type updateInput struct {
	ID       string `json:"id" jsonschema:"Id of the task, as todo_list shows it."`
	Content  string `json:"content,omitempty" jsonschema:"New text."`
	Status   string `json:"status,omitempty" jsonschema:"New status."`
	Position int    `json:"position,omitempty" jsonschema:"New place, counted from 1."`
}

type idsInput struct {
	IDs []string `json:"ids" jsonschema:"Ids of the tasks, as todo_list shows them."`
}

// createTasks runs a call of todo_create.
func (l *listLocks) createTasks(ctx context.Context, c *sallyport.Call, in createInput) (sallyport.Result, error) {
	for _, content := range in.Tasks {
		if strings.TrimSpace(content) == "" {
			return sallyport.Result{}, sallyport.InputInvalid("a task has no text")
		}
	}
	unlock, err := l.lock(ctx, c.SessionKey)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer unlock()
	tasks, err := loadTasks(ctx, c.KV)
	if err != nil {
		return sallyport.Result{}, err
	}
	if have := len(tasks); have+len(in.Tasks) > maxTasks {
		return sallyport.Result{}, sallyport.InputInvalid(fmt.Sprintf(
			"the list has %d tasks and takes %d: delete those that are done with todo_delete", have, maxTasks))
	}
	var ids []string
	for i, content := range in.Tasks {
		t := &task{ID: newID(tasks), Content: content, Status: statusPending, Created: time.Now().UnixNano()}
		at := len(tasks)
		if in.Position > 0 {
			at = min(in.Position-1+i, at)
		}
		tasks, ids = slices.Insert(tasks, at, t), append(ids, t.ID)
	}
	if err := storeChanges(ctx, c.KV, tasks, ids...); err != nil {
		return sallyport.Result{}, err
	}
	return newListResult("Created "+text.CountOf(len(ids), "task"), tasks, func(t *task) bool { return slices.Contains(ids, t.ID) }), nil
}

// listTasks runs a call of todo_list.
func (l *listLocks) listTasks(ctx context.Context, c *sallyport.Call, in showInput) (sallyport.Result, error) {
	tasks, err := loadTasks(ctx, c.KV)
	if err != nil {
		return sallyport.Result{}, err
	}
	return newListResult(text.CountOf(len(tasks), "task"), tasks, func(t *task) bool {
		return in.Status == "" || t.Status == in.Status || in.Status == statusOpen && t.Status != statusCompleted
	}), nil
}

// updateTask runs a call of todo_update.
func (l *listLocks) updateTask(ctx context.Context, c *sallyport.Call, in updateInput) (sallyport.Result, error) {
	switch {
	case in.Content == "" && in.Status == "" && in.Position == 0:
		return sallyport.Result{}, sallyport.InputInvalid("nothing to change: give content, status or position")
	case in.Content != "" && strings.TrimSpace(in.Content) == "":
		return sallyport.Result{}, sallyport.InputInvalid("the task has no text")
	}
	return l.changeTasks(ctx, c, "Updated", []string{in.ID}, func(tasks []*task, at int) []*task {
		t := tasks[at]
		if in.Content != "" {
			t.Content = in.Content
		}
		if in.Status != "" {
			t.Status = in.Status
		}
		if in.Position > 0 {
			rest := slices.Delete(tasks, at, at+1)
			t.Rank = 0
			return slices.Insert(rest, min(in.Position-1, len(rest)), t)
		}
		return tasks
	})
}

// completeTasks runs a call of todo_complete.
func (l *listLocks) completeTasks(ctx context.Context, c *sallyport.Call, in idsInput) (sallyport.Result, error) {
	return l.changeTasks(ctx, c, "Completed", in.IDs, func(tasks []*task, at int) []*task {
		tasks[at].Status = statusCompleted
		return tasks
	})
}

// changeTasks changes the tasks with the given ids: all of them, or none when one is
// unknown.
func (l *listLocks) changeTasks(
	ctx context.Context, c *sallyport.Call, what string, ids []string, change func(tasks []*task, at int) []*task,
) (sallyport.Result, error) {
	unlock, err := l.lock(ctx, c.SessionKey)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer unlock()
	tasks, err := loadTasks(ctx, c.KV)
	if err != nil {
		return sallyport.Result{}, err
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var unknown []string
	for _, id := range ids {
		at := slices.IndexFunc(tasks, func(t *task) bool { return t.ID == id })
		if at < 0 {
			unknown = append(unknown, id)
			continue
		}
		tasks = change(tasks, at)
	}
	if len(unknown) > 0 {
		return sallyport.Result{}, newUnknownError(unknown)
	}
	if err := storeChanges(ctx, c.KV, tasks, ids...); err != nil {
		return sallyport.Result{}, err
	}
	return newListResult(what+" "+text.CountOf(len(ids), "task"), tasks, func(t *task) bool { return slices.Contains(ids, t.ID) }), nil
}

// deleteTasks runs a call of todo_delete. It reads no task, so that one that cannot be
// read can be deleted.
func (l *listLocks) deleteTasks(ctx context.Context, c *sallyport.Call, in idsInput) (sallyport.Result, error) {
	unlock, err := l.lock(ctx, c.SessionKey)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer unlock()
	keys, err := c.KV.List(ctx, keyPrefix)
	if err != nil {
		return sallyport.Result{}, err
	}
	ids := slices.Compact(slices.Sorted(slices.Values(in.IDs)))
	unknown := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(keys, keyPrefix+id) })
	if len(unknown) > 0 {
		return sallyport.Result{}, newUnknownError(unknown)
	}
	for done, id := range ids {
		if err := c.KV.Delete(ctx, keyPrefix+id); err != nil {
			return sallyport.Result{}, newPartError("deleted", done, len(ids), err)
		}
	}
	r := sallyport.OK(fmt.Sprintf("Deleted %s; %d left.", text.CountOf(len(ids), "task"), len(keys)-len(ids)))
	r.Structured = map[string]any{"deleted": ids, "left": len(keys) - len(ids)}
	return r, nil
}

func newUnknownError(ids []string) error {
	return sallyport.InputInvalid("no task has the id " + strings.Join(ids, " or ") + ": todo_list shows the ids; nothing was changed")
}

// idAlphabet has no letters that are taken for others.
const idAlphabet = "abcdefghjkmnpqrstuvwxyz23456789"

// newID returns a random id that no task has. Processes that share the state thus never
// choose the same one, where a counter would.
func newID(tasks []*task) string {
	for {
		b := make([]byte, idChars)
		_, _ = rand.Read(b) // It never fails.
		for i := range b {
			b[i] = idAlphabet[int(b[i])%len(idAlphabet)]
		}
		if id := string(b); !slices.ContainsFunc(tasks, func(t *task) bool { return t.ID == id }) {
			return id
		}
	}
}
