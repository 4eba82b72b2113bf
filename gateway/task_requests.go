package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// tasksExtension names the protocol extension that defines tasks. Protocols
// with sessions do not have it.
const tasksExtension = "io.modelcontextprotocol/tasks"

// The requests about tasks.
const (
	methodTaskGet    = "tasks/get"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
)

// aboutTask reports whether a request is about a task.
func aboutTask(method string) bool {
	switch method {
	case methodTaskGet, methodTaskUpdate, methodTaskCancel:
		return true
	default:
		return false
	}
}

// taskParams are the parameters of a request about a task.
type taskParams struct {
	mcp.ParamsBase
	ID        string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
}

type taskRequest = mcp.ServerRequest[*taskParams]

// taskDone is the answer to a request about a task that returns no data.
type taskDone struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// registerTasks registers the requests about tasks with the library.
// [Server.receive] answers them.
func registerTasks(l *mcp.Server) error {
	for _, method := range []string{methodTaskGet, methodTaskUpdate, methodTaskCancel} {
		if err := mcp.AddReceivingCustomMethod(l, method, func(context.Context, *mcp.ServerSession, *taskParams) (*taskDone, error) {
			return nil, errUnknownTask
		}); err != nil {
			return err
		}
	}
	return nil
}

// errUnknownTask is the answer to a caller that asks for a task that is not its
// own. It does not reveal whether another caller has such a task.
var errUnknownTask = refusalError("there is no such task, or it is kept no longer")

// knowsTasks reports whether a client declares the tasks extension.
func knowsTasks(able *mcp.ClientCapabilities) bool {
	if able == nil {
		return false
	}
	_, ok := able.Extensions[tasksExtension].(map[string]any)
	return ok
}

// errNoTasks returns the answer to a request that needs a client with tasks.
func errNoTasks(what string) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
		Message: what + " needs the extension " + tasksExtension + ", which the client does not declare",
	}
}

// listensInVain returns the error for a client that subscribes to tasks without
// declaring the tasks extension, else nil. A client that does declare it learns
// from the acknowledgement that there are no notifications about tasks.
func (e *messageEnvelope) listensInVain() *jsonrpc.Error {
	if e.method != methodListen || !e.isStateless() {
		return nil
	}
	wants, err := appendMembers(nil, valueOf(e.in, "notifications"))
	if err != nil || valueOf(wants, "taskIds") == nil {
		return nil // the library reports the error
	}
	var able capabilities
	if said := valueOf(e.meta, mcp.MetaKeyClientCapabilities); said != nil && fitsType(said, &able) && knowsTasks(&able.ClientCapabilities) {
		return nil
	}
	return errNoTasks(e.method + " with taskIds")
}

// answerTask answers a request about a task.
func (s *Server) answerTask(ctx context.Context, method string, r *taskRequest) (mcp.Result, error) {
	if r.ProtocolVersion() < statelessSince {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "a protocol with sessions has no tasks"}
	}
	if !knowsTasks(r.ClientCapabilities()) {
		return nil, errNoTasks("a request about a task")
	}
	caller, err := s.callerOf(ctx, r)
	if err != nil {
		return nil, err
	}
	t := s.taskOf(ctx, caller, r.Params)
	if t == nil {
		return nil, errUnknownTask
	}
	switch method {
	case methodTaskGet:
		return t.currentView(), nil
	case methodTaskUpdate:
		err = t.takeAnswers(r.Params.Responses)
	default:
		t.cancelRun()
	}
	return &taskDone{ResultType: "complete"}, err
}

// taskOf returns the task with an id if it belongs to this caller: the same
// principal in the same role over the same stream. It cancels the task and
// returns nil if the principal's rights have changed since the call, or if the
// call was revoked or stopped.
func (s *Server) taskOf(ctx context.Context, caller *sallyport.Caller, p *taskParams) *callTask {
	if p == nil {
		return nil
	}
	t := s.tasks.findTask(p.ID)
	if t == nil || t.caller.Principal.Name != caller.Principal.Name || t.caller.Personality != caller.Personality ||
		t.stream != connectionFrom(ctx) {
		return nil
	}
	if !samePrincipal(&t.caller.Principal, &caller.Principal) || !s.gate.Stands(ctx, t.caller, t.tool, t.made) {
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
	knows := knowsTasks(c.able)
	if !knows && support == sallyport.TaskRequired && c.isListed(c.q.Tool) {
		return false, errNoTasks("tool " + c.q.Tool)
	}
	return knows, nil
}

// isListed reports whether a tool is listed for the caller. The gate refuses the
// call of a tool that is not.
func (c *askableClient) isListed(tool string) bool {
	_, ok := slices.BinarySearchFunc(c.gate.Definitions(c.caller), tool, func(d registry.Definition, name string) int {
		return strings.Compare(d.Name, name)
	})
	return ok
}

// handleKey is the context key under which [Server.receive] finds the handle of
// the task that a call became. The library's answer to a call has no field for
// it.
type handleKey struct{}

// becomeTask turns a detached call into a task. It returns nil when there is no
// room; the request then keeps waiting.
func (p *suspendedCall) becomeTask(asks *inputRound) *clientQuestion {
	t := p.tasks.addTask(p, p.stream)
	if t == nil {
		return nil
	}
	if asks != nil {
		t.addQuestions(asks)
	}
	p.mu.Lock()
	p.request, p.relay, p.task = context.Background(), nil, t
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

// withoutTasks removes the tasks extension from what a server declares to
// clients of a protocol with sessions.
func withoutTasks(res mcp.Result) {
	if r, ok := res.(*mcp.InitializeResult); ok && r != nil && r.Capabilities != nil {
		own := *r.Capabilities
		own.Extensions = nil
		r.Capabilities = &own
	}
}
