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
	"time"

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
		{"failure", "completed", "the job failed", true},
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
			if r.Result.Status != tt.status || r.said() != tt.said || r.Result.Result.IsError != tt.isError ||
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

// TestATaskIsCancelled while it works and while it asks, repeatedly: an ended
// task does not change.
func TestATaskIsCancelled(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		works, asks, ignores, ended := a.begin("job", nonce("a")), a.begin("inquiry", `{}`), a.begin("job", `{"nonce":"b","late":true}`), a.begin("job", nonce("c"))
		j.letGo("c")
		for id, want := range map[string]string{works: "cancelled", asks: "cancelled", ignores: "completed", ended: "completed"} {
			for range 2 {
				if r := a.cancel(id); r.Result.ResultType != "complete" || r.Result.Status != "" || r.Result.TaskID != "" {
					t.Errorf("cancel is answered %s", r.text)
				}
			}
			r := a.get(id)
			if r.Result.Status != want || r.Result.InputRequests != nil || want == "cancelled" && r.said() != "" {
				t.Errorf("after it %s, want %s", r.text, want)
			}
			a.update(id, `{"a":{"action":"accept","content":{"v":"1"}},"b":{"action":"accept","content":{"v":"1"}}}`)
			if r := a.get(id); r.Result.Status != want {
				t.Errorf("after an answer %s, want %s", r.text, want)
			}
		}
		if got := j.record.outcomes(""); len(got) != 4 {
			t.Errorf("recorded %d calls, want 4", len(got))
		}
	})
}

// TestA6_ATaskEndsWithItsCaller while it works and while it asks. The task of
// another principal goes on.
func TestA6_ATaskEndsWithItsCaller(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a, b := j.agent("alice", knows), j.agent("bob", knows)
		works, asks := a.begin("job", nonce("a")), a.begin("inquiry", `{}`)
		goes := b.begin("job", nonce("b"))
		j.still.mu.Lock()
		j.still.revoked["alice"] = true
		j.still.mu.Unlock()
		time.Sleep(500 * time.Millisecond) // Twice the pause of the registry.
		synctest.Wait()
		if got := j.record.outcomes(""); len(got) != 2 {
			t.Errorf("recorded %d ends, want those of the tasks of alice", len(got))
		}
		j.still.mu.Lock()
		j.still.revoked["alice"] = false // so that the outcome can be requested
		j.still.mu.Unlock()
		for _, id := range []string{works, asks} {
			if r := a.get(id); r.Result.Status != "completed" || !r.Result.Result.IsError || !strings.Contains(r.said(), "was ended") {
				t.Errorf("a task of who was revoked = %s, want it ended", r.text)
			}
		}
		j.letGo("b")
		if r := b.get(goes); r.Result.Status != "completed" || r.Result.Result.IsError {
			t.Errorf("the task of another = %s", r.text)
		}
	})
}

// TestAQuestionOfATaskEnds when it is not answered in time.
func TestAQuestionOfATaskEnds(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		id := a.begin("inquiry", `{}`)
		time.Sleep(5*time.Minute - time.Nanosecond)
		if r := a.get(id); r.Result.Status != "input_required" {
			t.Errorf("before its time is up it is %s", r.text)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if r := a.get(id); r.Result.Status != "completed" || !r.Result.Result.IsError || !strings.Contains(r.said(), "no answer came in time") {
			t.Errorf("after that it is %s", r.text)
		}
	})
}

// TestATaskIsKept for a quarter of an hour after its end, as it says.
func TestATaskIsKept(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		id := a.begin("job", nonce("a"))
		time.Sleep(20 * time.Second)
		if r := a.get(id); r.Result.Status != "working" || r.Result.TTLMs != 920_000 {
			t.Errorf("after 20 seconds %s", r.text)
		}
		j.letGo("a")
		time.Sleep(15*time.Minute - time.Nanosecond)
		r := a.get(id)
		if r.said() != "nonce a" || r.Result.TTLMs != 920_000 {
			t.Errorf("just before the end of its time: %s", r.text)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := a.get(id); got.code() != -32602 {
			t.Errorf("after its time: %s", got.text)
		}
	})
}

// TestARequestThatIsCancelled cancels its call unless that is a task.
func TestARequestThatIsCancelled(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		ctx, cancel := context.WithCancel(t.Context())
		r := a.ask(ctx, "tools/call", "job", `"name":"job","arguments":`+nonce("a"))
		cancel()
		synctest.Wait()
		if got := a.get(r.Result.TaskID); got.Result.Status != "working" {
			t.Errorf("the end of its request made a task %s", got.text)
		}
		ctx, cancel = context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			j.agent("alice", `{}`).ask(ctx, "tools/call", "job", `"name":"job","arguments":`+nonce("b"))
		}()
		synctest.Wait()
		cancel()
		<-done
		synctest.Wait()
		if got := j.record.outcomes("job"); len(got) != 1 {
			t.Errorf("%d calls are over, want that without a task", len(got))
		}
	})
}

// TestTheEndOfAServerEndsTasks at once, over HTTP and over a stream.
func TestTheEndOfAServerEndsTasks(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		ids := []string{a.begin("job", nonce("a")), a.begin("inquiry", `{}`), a.begin("job", nonce("c"))}
		j.letGo("c")
		begun := time.Now()
		if err := j.Shutdown(context.Background()); err != nil || time.Since(begun) != 0 {
			t.Errorf("Shutdown() = %v after %v, want nil at once", err, time.Since(begun))
		}
		for _, id := range ids {
			if r := a.get(id); r.code() != -32602 {
				t.Errorf("after the end %s", r.text)
			}
		}
		if got := j.record.outcomes(""); len(got) != 3 {
			t.Errorf("recorded %d calls, want 3", len(got))
		}
	})
	inJobs(t, func(t *testing.T, j *jobs) {
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + knows + `}`
		s, _ := j.stdio(t)
		go func() {
			_, _ = io.WriteString(s.in, `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{`+meta+"}}\n"+
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"job","arguments":{"nonce":"a"},`+meta+"}}\n")
			s.in.Close()
		}()
		begun := time.Now()
		text, err := io.ReadAll(s.out)
		if ended := <-s.done; err != nil || ended != nil || !strings.Contains(string(text), `"resultType":"task"`) || time.Since(begun) != 0 {
			t.Errorf("the stream ended with %v and %v after %v: %s", err, ended, time.Since(begun), text)
		}
		if got := j.record.outcomes("job"); len(got) != 1 || got[0].OK {
			t.Errorf("recorded %+v, want one call that was cancelled", got)
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
