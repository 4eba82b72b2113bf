package gateway_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sallyport/sallyport"
)

// TestACallBecomesATask when its tool detaches: it is decided and recorded
// once, and its result waits for its client.
func TestACallBecomesATask(t *testing.T) {
	for _, tt := range []struct {
		end, status, said string
		isError           bool
	}{
		{"", "completed", "nonce n", false},
		{"failure", "completed", "the job failed\nCall ID: ", true},
		{"panic", "failed", "", false},
	} {
		inJobs(t, func(t *testing.T, j *jobs) {
			a := j.agent("alice", knows)
			id := a.begin("job", `{"nonce":"n","end":"`+tt.end+`"}`)
			if r := a.get(id); r.Result.Status != "working" || r.Result.ResultType != "complete" || r.Result.StatusMessage != "at work on n" ||
				r.Result.TTLMs != 900_000 || r.Result.PollIntervalMs != 1000 || len(j.record.outcomes("")) != 0 {
				t.Errorf("while it runs, %s", r.text)
			}
			j.letGo("n")
			r := a.get(id)
			if r.Result.Status != tt.status || !strings.HasPrefix(r.said(), tt.said) || r.Result.Result.IsError != tt.isError ||
				(r.Result.Error != nil) != (tt.status == "failed") {
				t.Errorf("a job that ends with %q is %s, want %s", tt.end, r.text, tt.status)
			}
			if tt.status == "failed" && (r.Result.Error.Code != -32603 || strings.Contains(r.text, "hunter2") || strings.Contains(r.text, `"result":{"content`)) {
				t.Errorf("a panic is told as %s", r.text)
			}
			if got := j.record.outcomes("job"); len(got) != 1 || len(j.record.outcomes("")) != 1 || len(j.ran) != 1 {
				t.Errorf("recorded %d calls that ran %d times, want 1", len(got), len(j.ran))
			}
		})
	}
}

// TestNoTask where the client, the protocol or the tool has none: Detach does
// nothing, and the request waits for the result.
func TestNoTask(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		for name, tt := range map[string]struct{ tool, args, able string }{
			"a client without tasks":    {"job", nonce("a"), `{"elicitation":{}}`},
			"null for an extension":     {"job", nonce("a"), `{"extensions":{"io.modelcontextprotocol/tasks":null}}`},
			"another extension":         {"job", nonce("a"), `{"extensions":{"io.modelcontextprotocol/task":{}}}`},
			"a tool without tasks":      {"plain", nonce("a"), knows},
			"a result that comes first": {"job", `{"nonce":"a","end":"at once"}`, knows},
		} {
			answered := make(chan reply, 1)
			go func() { answered <- j.agent("alice", tt.able).call(tt.tool, tt.args) }()
			synctest.Wait()
			if !strings.Contains(tt.args, "at once") {
				select {
				case r := <-answered:
					t.Fatalf("%s: answered while it runs: %s", name, r.text)
				default:
				}
				j.letGo("a")
				j.mu.Lock()
				delete(j.locks, "a")
				j.mu.Unlock()
			}
			if r := <-answered; r.Result.ResultType != "complete" || r.Result.TaskID != "" || len(r.Result.Content) != 1 || r.Result.Content[0].Text != "nonce a" {
				t.Errorf("%s: %s, want the result", name, r.text)
			}
		}
	})
}

// TestATaskThatIsRequired: a client without tasks is refused before anything
// runs. On a surface without tasks the request waits for the result.
func TestATaskThatIsRequired(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		r := j.agent("alice", `{}`).call("must", nonce("a"))
		if r.code() != -32021 || r.status != 400 || string(r.Error.Data) != `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}` {
			t.Errorf("a client without tasks hears %d %s", r.status, r.text)
		}
		if len(j.ran) != 0 || len(j.record.outcomes("")) != 0 {
			t.Errorf("%v ran and %d calls are recorded, want none", j.ran, len(j.record.outcomes("")))
		}
		close(j.lock("b"))
		res := j.registry.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "local"}}, sallyport.Request{Tool: "must", Args: []byte(nonce("b"))})
		if !res.OK || res.Value != "nonce b" {
			t.Errorf("through the library: %+v, want the result", res)
		}
		s, _ := j.stdio(t)
		go func() {
			_, _ = io.WriteString(s.in, hello+callLine(1, "must", nonce("b"))+`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"x"}}`+"\n")
			s.in.Close()
		}()
		text, err := io.ReadAll(s.out)
		if err != nil || !strings.Contains(string(text), `"text":"nonce b"`) || !strings.Contains(string(text), `"id":2,"error":{"code":-32601`) || strings.Contains(string(text), "/tasks") {
			t.Errorf("in a session: %s, %v", text, err)
		}
		<-s.done
	})
}

// TestARequiredTaskIsNotGivenAway: a refusal does not reveal a hidden tool.
func TestARequiredTaskIsNotGivenAway(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		if err := j.registry.Register(sallyport.Tool{
			Name: "hidden", Description: "Is not for everybody.", Tasks: sallyport.TaskRequired, Permissions: []string{"other"}, Run: j.job,
			IsAvailable: func() bool { return false },
		}); err != nil {
			t.Fatal(err)
		}
		hidden, unknown := j.agent("alice", `{}`).call("hidden", `{}`), j.agent("alice", `{}`).call("unknown", `{}`)
		if hidden.Error != nil || unknown.Error != nil || !hidden.Result.IsError {
			t.Errorf("a tool that is not seen is answered %s, and none %s", hidden.text, unknown.text)
		}
	})
}

// TestATaskAsks in its own answers: keys are never reused, answers may come one
// by one, and answers to other questions are ignored.
func TestATaskAsks(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		id := a.begin("inquiry", `{}`)
		accept := func(key, v string) string {
			return fmt.Sprintf(`{%q:{"action":"accept","content":{"v":%q}}}`, key, v)
		}
		for i, step := range []struct {
			responses string
			code      int64
			status    string
			keys      string
		}{
			{`{}`, 0, "input_required", "a b"},
			{`{"other":{"action":"accept"},"x":7}`, 0, "input_required", "a b"},
			{`{"a":{"action":"accept","content":{"v":7}}}`, -32602, "input_required", "a b"},
			{`{"a":7}`, -32602, "input_required", "a b"},
			{`{"a":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}}`, -32602, "input_required", "a b"},
			{accept("a", "1"), 0, "input_required", "b"},
			{accept("a", "2"), 0, "input_required", "b"},
			{`{"b":{"action":"decline"}}`, 0, "input_required", "a.2"},
			{accept("a", "3"), 0, "input_required", "a.2"},
			{accept("a.2", "4"), 0, "completed", ""},
			{accept("a.2", "5"), 0, "completed", ""},
		} {
			up := a.update(id, step.responses)
			got := a.get(id)
			keys := strings.Join(slices.Sorted(maps.Keys(got.Result.InputRequests)), " ")
			if up.code() != step.code || up.code() == 0 && (up.Result.ResultType != "complete" || up.Result.Status != "") || got.Result.Status != step.status || keys != step.keys {
				t.Errorf("step %d: %s and then %s, want code %d, %s, %s", i, up.text, got.text, step.code, step.status, step.keys)
			}
			if strings.Contains(got.text, "requestState") {
				t.Errorf("step %d: %s tells a state", i, got.text)
			}
		}
		if got := a.get(id); got.said() != "accept 1;decline <nil>;accept 4;" {
			t.Errorf("the tool heard %s", got.text)
		}
	})
}

// TestRoundsBeforeATask: questions before the tool detaches are asked by the
// request, and the answer to the last round is the task.
func TestRoundsBeforeATask(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		r := a.call("rounds", `{}`)
		if r.Result.ResultType != "input_required" || r.Result.TaskID != "" || r.Result.RequestState == "" {
			t.Fatalf("the first round: %s", r.text)
		}
		r = a.do("tools/call", "rounds", `"name":"rounds","arguments":{},"requestState":"`+r.Result.RequestState+
			`","inputResponses":{"a":{"action":"accept","content":{"v":"1"}},"b":{"action":"accept","content":{"v":"2"}}}`)
		if r.Result.ResultType != "task" || r.Result.RequestState != "" || r.Result.InputRequests != nil {
			t.Fatalf("the second round: %s", r.text)
		}
		synctest.Wait()
		a.update(r.Result.TaskID, `{"a":{"action":"accept","content":{"v":"3"}}}`)
		if got := a.get(r.Result.TaskID); got.said() != "accept 1;accept 2;accept 3;" || len(j.record.outcomes("rounds")) != 1 {
			t.Errorf("in the end %s, recorded %d times", got.text, len(j.record.outcomes("rounds")))
		}
	})
}

// TestATaskAsksWhatItsClientLacks: it fails with the protocol's error.
func TestATaskAsksWhatItsClientLacks(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		r := a.call("model", `{}`)
		if r.Error == nil { // the run may end before it becomes a task
			synctest.Wait()
			r = a.get(r.Result.TaskID)
			r.Error = r.Result.Error
		}
		if r.code() != -32021 || !strings.Contains(string(r.Error.Data), `"sampling"`) {
			t.Errorf("answered %s, want that sampling is missing", r.text)
		}
	})
}

// TestAHeldCallIsAskedAboutBeforeItIsATask, and runs once.
func TestAHeldCallIsAskedAboutBeforeItIsATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, func(a *sallyport.Approvals) { a.Require = append(a.Require, "long") })
		j := &jobs{kit: d.kit, t: t, known: tokens{"alice": {Name: "alice", Person: true}}, locks: map[string]chan struct{}{}}
		defer func() {
			if err := j.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		if err := d.registry.Register(sallyport.Tool{
			Name: "long", Description: "Is held and becomes a task.", Tasks: sallyport.TaskOptional, Run: j.job,
			Schema: []byte(`{"type":"object"}`),
		}); err != nil {
			t.Fatal(err)
		}
		a := j.agent("alice", knows)
		r := a.call("long", nonce("a"))
		if r.Result.ResultType != "input_required" || r.Result.TaskID != "" || len(j.ran) != 0 {
			t.Fatalf("a held call is answered %s", r.text)
		}
		r = a.do("tools/call", "long", `"name":"long",`+yes(nonce("a"), r.Result.RequestState))
		if r.Result.ResultType != "task" || r.Result.RequestState != "" {
			t.Fatalf("after the approval it is answered %s", r.text)
		}
		j.letGo("a")
		if got := a.get(r.Result.TaskID); got.said() != "nonce a" || len(j.ran) != 1 || len(d.decisions()) != 1 {
			t.Errorf("in the end %s after %d runs", got.text, len(j.ran))
		}
	})
}
