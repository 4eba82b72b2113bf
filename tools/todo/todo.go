// Package todo holds the tools of a task list: todo_create, todo_list, todo_update,
// todo_complete and todo_delete. [Tools] returns them for a registry.
//
// Each session has a list of its own, in the session's key-value store: an agent plans
// long work in it, and a person reads in one table what is done. A task has a text, a
// status and a place in the order. The list is bounded, and a task that stays untouched
// for 30 days is removed.
package todo

import (
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

const (
	// toolset is the label of the tools.
	toolset = "todo"
	// maxTasks bounds a list, finished tasks included: what is longer is no plan that a
	// model or a person reads.
	maxTasks = 100
	// maxTaskChars bounds the text of a task.
	maxTaskChars = 500
	// idChars is the length of an id.
	idChars = 4
)

// lifetime is how long a task is kept after its last change: as long as a session is
// expected to go on.
const lifetime = 30 * 24 * time.Hour

// Tools returns the five tools. The caller owns the slice; the tools may be used by many
// calls at once.
func Tools() []sallyport.Tool {
	l := newListLocks()
	return []sallyport.Tool{
		schema.MustTool(declare(sallyport.Tool{
			Name: "todo_create", Title: "Create Tasks",
			Description: "Add tasks to the task list of this session, in the given order. Use it to plan work of several steps.",
			Schema: args.Schema[createInput](func(get func(string) args.Property) {
				get("tasks").Items(1, maxTasks).EachLength(1, maxTaskChars)
				get("position").Between(1, maxTasks)
			}),
		}), l.createTasks),
		schema.MustTool(declare(sallyport.Tool{
			Name: "todo_list", Title: "List Tasks",
			Description: "Show the task list of this session as a table: place, status, text and id of each task.",
			Schema: args.Schema[showInput](func(get func(string) args.Property) {
				get("status").OneOf(append([]string{statusOpen}, statuses...)...)
			}),
			ReadOnly: true, Idempotent: true,
		}), l.listTasks),
		schema.MustTool(declare(sallyport.Tool{
			Name: "todo_update", Title: "Update Task",
			Description: "Change the text, the status or the place of one task. Set in_progress when you begin with it.",
			Schema: args.Schema[updateInput](func(get func(string) args.Property) {
				get("id").Length(idChars, idChars)
				get("content").Length(1, maxTaskChars)
				get("status").OneOf(statuses...)
				get("position").Between(1, maxTasks)
			}),
			Idempotent: true,
		}), l.updateTask),
		schema.MustTool(declare(sallyport.Tool{
			Name: "todo_complete", Title: "Complete Tasks",
			Description: "Mark tasks as completed, by their ids. Do so as soon as each is done.",
			Schema:      idsSchema(), Idempotent: true,
		}), l.completeTasks),
		schema.MustTool(declare(sallyport.Tool{
			Name: "todo_delete", Title: "Delete Tasks",
			Description: "Remove tasks from the list, by their ids. It makes room for new ones and cannot be undone.",
			Schema:      idsSchema(),
		}), l.deleteTasks),
	}
}

// declare adds what the tools have in common.
func declare(t sallyport.Tool) sallyport.Tool {
	t.Toolset = toolset
	t.Capabilities = sallyport.Capabilities{Storage: &sallyport.StorageCapability{
		Scope: sallyport.ScopeSession, Kind: "kv", TTLSecondsDefault: int64(lifetime / time.Second),
	}}
	return t
}

func idsSchema() []byte {
	return args.Schema[idsInput](func(get func(string) args.Property) {
		get("ids").Items(1, maxTasks).EachLength(idChars, idChars)
	})
}
