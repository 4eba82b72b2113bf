package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/task"
	"github.com/sallyport/sallyport/internal/text"
)

// badTask says why a task of a client cannot hold. The text is of what the client sent,
// so that it may read it.
type badTask struct{ why string }

func (e *badTask) Error() string {
	return "the task cannot be used, and the session was not narrowed: " + e.why
}

// CheckTask says what is wrong with a task under which a caller is to make calls; nil when
// it can hold. The error is a [sallyport.Error] that the caller may read.
func (r *Registry) CheckTask(caller *sallyport.Caller, asked *sallyport.Task) error {
	judge := taskJudge{r, r.roleFor(caller.Personality), caller}
	if err := judge.checkAsked(nil, asked); err != nil {
		return sallyport.InputInvalid(err.why)
	}
	return nil
}

// taskJudge says of tasks whether they can hold for a caller in its role.
type taskJudge struct {
	r      *Registry
	role   *compiledRole
	caller *sallyport.Caller
}

// checkAsked says what is wrong with a task, before anything of it is kept: a session that
// it narrowed would refuse every later call. The session has the task known, nil for none.
// A tool of a server that is not there now may come.
func (j *taskJudge) checkAsked(known *conversation.Task, asked *sallyport.Task) *badTask {
	if text, err := json.Marshal(asked); err != nil || len(text) > task.MaxBytes {
		return &badTask{fmt.Sprintf("it has more than %d bytes", task.MaxBytes)}
	}
	there, waits := j.listNames(), false
	for i, item := range asked.Tools {
		why := j.refuseName(there, item)
		if why != "" {
			return &badTask{fmt.Sprintf("tools/%d: %s", i, why)}
		}
		waits = waits || !there[item]
	}
	for _, key := range slices.Sorted(maps.Keys(asked.Arguments)) {
		if why := j.refuseName(there, key); why != "" {
			return &badTask{"arguments: " + why}
		}
	}
	shown := func(e *toolEntry) bool { return j.r.showsTool(j.role, e) }
	if faults := j.r.taskFaultsOf(asked.Arguments, shown); len(faults) > 0 {
		return &badTask{faults[0].Key + ": " + faults[0].Message}
	}
	if len(asked.Tools) > 0 && !waits && j.countLeft(known, nil) > 0 && j.countLeft(known, asked) == 0 {
		return &badTask{"no tool is left that this session may use"}
	}
	return nil
}

// listNames returns what lists of tools may name: tools, labels and servers that are there.
func (j *taskJudge) listNames() map[string]bool {
	names := map[string]bool{group.Everything: true}
	j.r.listEntries(func(e *toolEntry) bool {
		names[e.tool.Name], names["@"+e.tool.Toolset] = true, true
		if server := e.tool.Server(); server != "" {
			names["mcp__"+server+"__*"] = true
		}
		return false
	})
	return names
}

// refuseName says why a name of a task can stand for nothing; empty when it does, or may
// once its server is there.
func (j *taskJudge) refuseName(there map[string]bool, name string) (why string) {
	if there[name] || j.r.o.MayCome != nil && j.r.o.MayCome(name) {
		return ""
	}
	why = text.Clip(fmt.Sprintf("%q", name), 100) + " is no tool"
	if near := j.r.suggestName(j.caller, name); near != "" {
		why += "; did you mean " + near + "?"
	}
	return why
}

// countLeft returns how many tools of the role all tasks leave, with one more.
func (j *taskJudge) countLeft(known *conversation.Task, more *sallyport.Task) (n int) {
	for _, e := range j.r.listRole(j.role, sallyport.FormTool) {
		left := permitsTool(more, &e.tool) && permitsTool(j.caller.Principal.Task, &e.tool)
		for i := 0; known != nil && left && i < len(known.Tasks); i++ {
			left = permitsTool(&known.Tasks[i], &e.tool)
		}
		if left {
			n++
		}
	}
	return n
}
