package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// The states of a task.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// callTask is a call whose request was answered with a handle. The call is decided,
// confined and recorded like any other. A task is only another way to wait for
// its result.
type callTask struct {
	id      string
	caller  *sallyport.Caller // made the call
	tool    string
	session *session  // the stream that it came over; nil over HTTP
	made    time.Time // when the call was made and decided
	created time.Time
	expire  *time.Timer // set at the end; guarded by the table
	bytes   int         // bytes that it keeps; guarded by the table

	mu        sync.Mutex
	call      *suspendedCall // nil after the end
	changed   time.Time
	message   string      // what the tool last told the user
	asks      *inputRound // the latest round of questions
	answers   []*sallyport.Answer
	rounds    int
	cancelled bool

	state         string          // the final state; empty before the end
	result, fault json.RawMessage // one is set at the end, unless cancelled
}

func newTask(p *suspendedCall, id string) *callTask {
	now := time.Now()
	caller := &sallyport.Caller{ // a copy: the call's own state ends with it
		Principal: p.caller.Principal, Session: p.caller.Session, Personality: p.caller.Personality, Platform: p.caller.Platform,
	}
	return &callTask{
		id: id, caller: caller, tool: p.q.Tool, session: p.session, made: p.made, created: now, changed: now, call: p,
		bytes: len(p.q.Args),
	}
}

func (t *callTask) followCall(p *suspendedCall) {
	for {
		select {
		case asks := <-p.asked:
			t.addQuestions(asks)
		case res := <-p.done:
			t.storeOutcome(p, res)
			return
		}
	}
}

// addQuestions stores questions for the client to fetch.
func (t *callTask) addQuestions(asks *inputRound) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asks, t.answers = asks, make([]*sallyport.Answer, len(asks.questions))
	t.rounds++
	t.changed = time.Now()
}

func (t *callTask) setStatus(e sallyport.Progress) {
	if e.VisibleTo() != sallyport.AudienceUser || e.Message == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.message, t.changed = e.Message, time.Now()
}

func (t *callTask) isWaiting() bool { return t.call != nil && !t.cancelled && t.asks.hasToWait() }

// questionKey names a question uniquely among all questions of the task. The name of a
// question contains no dot.
func (t *callTask) questionKey(i int) string {
	name := t.asks.questions[i].Name
	if t.rounds == 1 {
		return name
	}
	return fmt.Sprintf("%s.%d", name, t.rounds)
}

// takeAnswers accepts answers. It ignores answers to questions that are not open. If
// one answer does not fit, it accepts none, and the client may send all of them
// again. The run goes on when every question has an answer.
func (t *callTask) takeAnswers(responses wire.Members) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isWaiting() {
		return nil
	}
	taken := slices.Clone(t.answers)
	for i := range taken {
		text := responses.Value(t.questionKey(i))
		if taken[i] == nil && text != nil {
			a, err := readAnswer(&t.asks.questions[i], text)
			if err != nil {
				return wire.Invalid("inputResponses." + t.questionKey(i) + ": " + err.Error())
			}
			taken[i] = &a
		}
	}
	t.answers, t.changed = taken, time.Now()
	if slices.Contains(taken, nil) {
		return nil
	}
	all := make([]sallyport.Answer, len(taken))
	for i, a := range taken {
		all[i] = *a
	}
	t.asks.answers <- all
	t.asks, t.answers = nil, nil
	return nil
}

// cancelRun ends the run. A run that has ended already keeps its state.
func (t *callTask) cancelRun() {
	t.mu.Lock()
	p := t.call
	if p != nil && !t.cancelled {
		t.cancelled, t.changed = true, time.Now()
	}
	t.mu.Unlock()
	if p != nil {
		p.cancel()
	}
}

// storeOutcome stores how the call ended, if there is room for the result. A run that
// finished its work before it noticed the cancellation has completed.
func (t *callTask) storeOutcome(p *suspendedCall, res sallyport.Result) {
	t.mu.Lock()
	cancelled := t.cancelled
	t.mu.Unlock()
	state, text := outcomeOf(p, res, cancelled)
	if !p.tasks.storeResult(t, len(text)) {
		state, text = outcomeOf(p, droppedResult(&res, len(text)), cancelled)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.call, t.asks, t.answers, t.changed = state, nil, nil, nil, time.Now()
	if state == taskFailed {
		t.fault = text
	} else {
		t.result = text
	}
}

// outcomeOf returns the final state of a task, and the text of its result or
// error.
func outcomeOf(p *suspendedCall, res sallyport.Result, cancelled bool) (state string, text json.RawMessage) {
	res, _, err := p.finalResult(res)
	switch {
	case cancelled && !res.OK:
		return taskCancelled, nil
	case err != nil:
	case res.Crashed:
		err = failureError(&res, 0)
	default:
		if text, err = p.appendToolResult(nil, false, &res); err == nil {
			return taskCompleted, text
		}
	}
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call failed"}
	}
	// An error of the protocol always marshals.
	text, _ = json.Marshal(e)
	return taskFailed, text
}

// droppedResult returns the result that replaces one for which there is no room.
func droppedResult(res *sallyport.Result, length int) sallyport.Result {
	if !res.OK && len(res.Parts) == 0 && res.Structured == nil {
		return *res
	}
	short := sallyport.Err(fmt.Sprintf("The call ended, but its result of %d bytes is not kept: too much waits to be fetched", length), sallyport.CodeNotAvailable)
	short.CallID, short.CostUSD = res.CallID, res.CostUSD
	return short
}

// taskResult is a task as a client sees it: the answer to the call that became
// a task, and to a request about it.
type taskResult struct {
	ResultType string              `json:"resultType"`
	ID         string              `json:"taskId"`
	Status     string              `json:"status"`
	Message    string              `json:"statusMessage,omitempty"`
	Created    string              `json:"createdAt"`
	Changed    string              `json:"lastUpdatedAt"`
	TTL        int64               `json:"ttlMs"`
	Poll       int64               `json:"pollIntervalMs"`
	Asks       mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result     json.RawMessage     `json:"result,omitempty"`
	Error      json.RawMessage     `json:"error,omitempty"`
}

func (t *callTask) currentView() *taskResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := &taskResult{
		ResultType: "complete", ID: t.id, Status: cmp.Or(t.state, taskWorking), Message: t.message,
		Created: formatTime(t.created), Changed: formatTime(t.changed), Poll: taskPoll.Milliseconds(),
		Result: t.result, Error: t.fault,
	}
	// The task is kept for taskKeep after its end, which may still be to come.
	until := time.Now()
	if t.state != "" {
		until = t.changed
	}
	v.TTL = (until.Sub(t.created) + taskKeep).Milliseconds()
	if t.isWaiting() {
		v.Status, v.Asks = taskAsks, mcp.InputRequestMap{}
		for i := range t.asks.questions {
			if t.answers[i] == nil {
				v.Asks[t.questionKey(i)] = t.call.requestOf(&t.asks.questions[i])
			}
		}
	}
	return v
}

// newHandle returns the answer to the call that became a task: the task in its
// initial state.
func (t *callTask) newHandle() *taskResult {
	v := t.currentView()
	v.ResultType, v.Status, v.Asks, v.Result, v.Error = "task", taskWorking, nil, nil, nil
	return v
}

func formatTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
