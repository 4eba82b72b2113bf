package gateway_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
