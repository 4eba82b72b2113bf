package gateway

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// errUnknownTask is the answer to a caller that asks for a task that is not its
// own. It does not reveal whether another caller has such a task.
var errUnknownTask = wire.Invalid("there is no such task, or it is kept no longer")

// errNoTasks returns the answer to a request that needs a client with tasks.
func errNoTasks(what string) error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + wire.TasksExtension + `":{}}}}`),
		Message: what + " needs the extension " + wire.TasksExtension + ", which the client does not declare",
	}
}

// answerTask answers a request about a task.
func (c *core) answerTask(ctx context.Context, r *request, out []byte) ([]byte, error) {
	if !r.able.Tasks {
		return out, errNoTasks("a request about a task")
	}
	caller, err := c.callerOf(r, "")
	if err != nil {
		return out, err
	}
	id, err := r.In.Text("taskId")
	if err != nil {
		return out, err
	}
	t := c.taskOf(ctx, r.session, caller, id)
	if t == nil {
		return out, errUnknownTask
	}
	switch r.Method {
	case methodTaskGet:
		return c.appendTask(out, t.currentView())
	case methodTaskUpdate:
		responses, err := r.In.Object("inputResponses")
		if err == nil {
			err = t.takeAnswers(responses)
		}
		if err != nil {
			return out, err
		}
	default:
		t.cancelRun()
	}
	out, err = c.appendMeta(append(out, '{'), true, nil)
	return appendEnd(out, true), err
}

// appendTask appends a task as a client sees it.
func (c *core) appendTask(out []byte, view *taskResult) ([]byte, error) {
	text, err := wire.AppendJSON(nil, view)
	if err != nil {
		return out, err
	}
	out, err = c.appendMeta(append(out, '{'), true, nil)
	return append(append(out, ','), text[1:]...), err
}

// taskOf returns the task with an id if it belongs to this caller: the same
// principal in the same role over the same stream. It cancels the task and
// returns nil if the principal's rights have changed since the call, or if the
// call was revoked or stopped.
func (c *core) taskOf(ctx context.Context, stream *session, caller *sallyport.Caller, id string) *callTask {
	t := c.tasks.findTask(id)
	if t == nil || !isSameCaller(&t.caller.Principal, &caller.Principal) || t.caller.Personality != caller.Personality ||
		t.session != stream {
		return nil
	}
	if !samePrincipal(&t.caller.Principal, &caller.Principal) || !c.gate.Stands(ctx, t.caller, t.tool, t.made) {
		t.cancelRun()
		return nil
	}
	return t
}

// mayDetach reports whether the call of this client may become a task. It
// returns an error when the tool requires tasks and the client does not declare
// them.
func (c *askableClient) mayDetach() (bool, error) {
	if !c.rounds || c.q.Tool == "" {
		return false, nil
	}
	support := c.gate.Tasks(c.q.Tool)
	if support == sallyport.TaskNever {
		return false, nil
	}
	if !c.able.Tasks && support == sallyport.TaskRequired {
		// The gate refuses the call of a tool that is not listed.
		if _, listed := findDefinition(c.gate.Definitions(c.caller), c.q.Tool); listed {
			return false, errNoTasks("tool " + c.q.Tool)
		}
	}
	return c.able.Tasks, nil
}

// becomeTask turns a detached call into a task. It returns nil when there is no
// room; the request then keeps waiting.
func (p *suspendedCall) becomeTask(asks *inputRound) *clientQuestion {
	t := p.tasks.addTask(p)
	if t == nil {
		return nil
	}
	if asks != nil {
		t.addQuestions(asks)
	}
	p.mu.Lock()
	p.relay, p.task = nil, t
	t.setStatus(p.said)
	p.mu.Unlock()
	_, done, _ := p.set.Begin(context.Background(), "")
	go func() {
		defer done()
		t.followCall(p)
	}()
	return &clientQuestion{task: t}
}

// requestDetach asks for the current request, or the next one, to be answered with a
// task.
func (p *suspendedCall) requestDetach() {
	select {
	case p.wants <- struct{}{}:
	default:
	}
}

// hasDetached reports whether the tool has detached since the last check.
func (p *suspendedCall) hasDetached() bool {
	select {
	case <-p.wants:
		return true
	default:
		return false
	}
}
