package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/registry"
)

// jobs is a kit whose tools become tasks. It runs in a bubble of synctest, so a
// step of a task is over when no goroutine makes progress any more.
type jobs struct {
	*kit
	t     *testing.T
	known tokens
	still *standing
	mu    sync.Mutex
	locks map[string]chan struct{}
	ran   []string // nonces of jobs, as they begin
}

// standing says which principals were revoked and what was stopped.
type standing struct {
	mu      sync.Mutex
	revoked map[string]bool
	stopped map[string]bool
}

func (s *standing) Stands(_ context.Context, principal string, since time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !since.IsZero() && !s.revoked[principal], nil
}

func (s *standing) Stopped(_ context.Context, principal, session, tool string) (kind, why string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, what := range map[string]string{"principal": principal, "session": session, "tool": tool} {
		if s.stopped[what] {
			return kind, "it was stopped", nil
		}
	}
	return "", "", nil
}

// inJobs runs a test in a bubble and waits for the end of every task.
func inJobs(t *testing.T, test func(t *testing.T, j *jobs)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := newJobs(t)
		defer func() {
			if err := j.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		test(t, j)
	})
}

func newJobs(t *testing.T) *jobs {
	t.Helper()
	j := &jobs{
		t: t, locks: map[string]chan struct{}{}, still: &standing{revoked: map[string]bool{}, stopped: map[string]bool{}},
		known: tokens{
			"alice": {Name: "alice", Permissions: []string{"p"}}, "bob": {Name: "bob", Permissions: []string{"p"}},
			"less": {Name: "alice"}, "elsewhere": {Name: "alice", Permissions: []string{"p"}, Personalities: []string{"other"}},
		},
		kit: &kit{record: &record{}, started: make(chan string, 10), ended: make(chan error, 10)},
	}
	var err error
	j.registry, err = registry.New(&sallyport.Backends{}, &registry.Options{
		Recorder: j.record, Workspace: t.TempDir(), Standing: j.still, Switches: j.still,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.registry.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := j.registry.Register(j.tasked()...); err != nil {
		t.Fatal(err)
	}
	if j.Server, err = gateway.New(j.registry, &gateway.Options{Version: "v1.2.3"}); err != nil {
		t.Fatal(err)
	}
	return j
}

func (j *jobs) tasked() []sallyport.Tool {
	anything := json.RawMessage(`{"type":"object"}`)
	person := sallyport.Capabilities{Input: []sallyport.InputKind{sallyport.InputPerson, sallyport.InputModel}}
	return []sallyport.Tool{
		{Name: "job", Description: "Runs until it is let go.", Schema: anything, Tasks: sallyport.TaskOptional, Run: j.job},
		{Name: "must", Description: "Is a task.", Schema: anything, Tasks: sallyport.TaskRequired, Run: j.job},
		{Name: "plain", Description: "Is no task.", Schema: anything, Run: j.job},
		{Name: "inquiry", Description: "Asks as a task.", Schema: anything, Tasks: sallyport.TaskOptional, Capabilities: person, Run: inquire(true)},
		{Name: "rounds", Description: "Asks before it is a task.", Schema: anything, Tasks: sallyport.TaskOptional, Capabilities: person, Run: inquire(false)},
		{
			Name: "model", Description: "Asks a model as a task.", Schema: anything, Tasks: sallyport.TaskOptional, Capabilities: person,
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				c.Detach()
				_, err := c.Input.Ask(ctx, sallyport.Question{Name: "q", Kind: sallyport.InputModel, Message: "Say something"})
				return sallyport.Result{}, err
			},
		},
	}
}

// order tells a job what to do.
type order struct {
	Nonce string
	End   string // how it ends; "" with its nonce
	Size  int    // of its result
	Late  bool   // it ignores the cancellation
}

func (j *jobs) job(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	var o order
	if err := json.Unmarshal(c.Args, &o); err != nil {
		return sallyport.Result{}, err
	}
	j.mu.Lock()
	j.ran = append(j.ran, o.Nonce)
	j.mu.Unlock()
	if o.End == "at once" {
		return sallyport.OK("nonce " + o.Nonce), nil
	}
	c.Detach()
	c.Detach()
	c.Emit(sallyport.Progress{Message: "for the log"})
	c.Emit(sallyport.Progress{Message: "at work on " + o.Nonce, Audience: sallyport.AudienceUser})
	select {
	case <-j.lock(o.Nonce):
	case <-ctx.Done():
		if !o.Late {
			return sallyport.Result{}, ctx.Err()
		}
	}
	switch o.End {
	case "failure":
		return sallyport.Err("the job failed", ""), nil
	case "panic":
		panic("hunter2 " + o.Nonce)
	}
	if o.Size > 0 {
		part := sallyport.Part{Kind: sallyport.PartAudio, Data: make([]byte, o.Size), MediaType: "audio/wav"}
		return sallyport.Result{OK: true, Value: "nonce " + o.Nonce, Parts: []sallyport.Part{part}}, nil
	}
	return sallyport.OK("nonce " + o.Nonce), nil
}

// lock holds a job until it is closed.
func (j *jobs) lock(nonce string) chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.locks[nonce] == nil {
		j.locks[nonce] = make(chan struct{})
	}
	return j.locks[nonce]
}

// letGo ends a job, and waits until no goroutine makes progress any more.
func (j *jobs) letGo(nonce string) {
	close(j.lock(nonce))
	synctest.Wait()
}

// inquire asks two questions at once and then repeats one of them. It detaches
// before the first questions if first is set, else after them.
func inquire(first bool) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
	return func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		form := json.RawMessage(`{"type":"object","properties":{"v":{"type":"string"}},"required":["v"]}`)
		ask := func(names ...string) (all string, err error) {
			var questions []sallyport.Question
			for _, name := range names {
				questions = append(questions, sallyport.Question{Name: name, Kind: sallyport.InputPerson, Message: "What is " + name + "?", Schema: form})
			}
			answers, err := c.Input.Ask(ctx, questions...)
			for _, a := range answers {
				all += fmt.Sprintf("%s %v;", a.Action, a.Values["v"])
			}
			return all, err
		}
		if first {
			c.Detach()
		}
		before, err := ask("a", "b")
		if err != nil {
			return sallyport.Result{}, err
		}
		c.Detach()
		after, err := ask("a")
		return sallyport.OK(before + after), err
	}
}

// agent is a client of the protocol without sessions that makes its requests by
// hand.
type agent struct {
	*jobs
	as   string // its token
	able string // what it declares
	h    http.Handler
}

// knows is the abilities of a client that knows tasks.
const knows = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func (j *jobs) agent(as, able string) *agent {
	j.t.Helper()
	g, err := auth.NewGuard("127.0.0.1:80", j.known, nil)
	if err != nil {
		j.t.Fatal(err)
	}
	return &agent{j, as, able, g.Protect(j.Handler())}
}

// reply is the answer to one request.
type reply struct {
	status int
	text   string
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		CreatedAt, LastUpdatedAt                  string
		TTLMs, PollIntervalMs                     int64
		RequestState                              string
		InputRequests                             map[string]json.RawMessage
		IsError                                   bool
		Content                                   []struct{ Text string }
		Result                                    struct {
			IsError bool
			Content []struct{ Text string }
			Meta    map[string]any `json:"_meta"`
		}
		Error *wireFault
	}
	Error *wireFault
}

type wireFault struct {
	Code    int64
	Message string
	Data    json.RawMessage
}

// code returns the code of a protocol error, or 0 for none.
func (r *reply) code() int64 {
	if r.Error == nil {
		return 0
	}
	return r.Error.Code
}

// said returns the text of the result with which a task ended.
func (r *reply) said() string {
	if len(r.Result.Result.Content) == 0 {
		return ""
	}
	return r.Result.Result.Content[0].Text
}

// do makes a request; its parameters are members of an object.
func (a *agent) do(method, name, params string) reply {
	return a.ask(a.t.Context(), method, name, params)
}

func (a *agent) ask(ctx context.Context, method, name, params string) reply {
	a.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":%s}}}`, method, params, a.able)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	for key, value := range map[string]string{
		"Authorization": "Bearer " + a.as, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(key, value)
	}
	w := httptest.NewRecorder()
	a.h.ServeHTTP(w, r)
	out := reply{status: w.Code, text: w.Body.String()}
	text := out.text
	if _, data, ok := strings.Cut(text, "data: "); ok {
		text = data
	}
	if ctx.Err() == nil {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			a.t.Fatalf("%v in %d %.500s", err, w.Code, out.text)
		}
	}
	return out
}

func (a *agent) call(tool, args string) reply {
	return a.do("tools/call", tool, `"name":"`+tool+`","arguments":`+args)
}

// begin makes a call that has to become a task.
func (a *agent) begin(tool, args string) (id string) {
	a.t.Helper()
	r := a.call(tool, args)
	if r.Result.ResultType != "task" || r.Result.TaskID == "" {
		a.t.Fatalf("%s was answered with %s, want a task", tool, r.text)
	}
	synctest.Wait()
	return r.Result.TaskID
}

func (a *agent) get(id string) reply    { return a.about("tasks/get", id, "") }
func (a *agent) cancel(id string) reply { return a.about("tasks/cancel", id, "") }
func (a *agent) update(id, responses string) reply {
	return a.about("tasks/update", id, `,"inputResponses":`+responses)
}

func (a *agent) about(method, id, more string) reply {
	a.t.Helper()
	defer synctest.Wait()
	return a.do(method, id, fmt.Sprintf(`"taskId":%q%s`, id, more))
}

func nonce(n string) string { return `{"nonce":"` + n + `"}` }
