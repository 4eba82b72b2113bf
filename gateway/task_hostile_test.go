package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
)

// TestCVE_2026_25536_TasksOfOthers: a task does not exist for another
// principal, for one that guesses ids, in another role, for one with fewer
// rights than before, or for one that was revoked or stopped. All of them get
// the same answer.
func TestCVE_2026_25536_TasksOfOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		as     string
		id     func(string) string
		before func(*standing)
		ends   bool // the task ends, too
	}{
		"another principal":  {as: "bob"},
		"another role":       {as: "elsewhere"},
		"less permission":    {as: "less", ends: true},
		"a guess":            {as: "alice", id: func(string) string { return strings.Repeat("A", 26) }},
		"in another case":    {as: "alice", id: strings.ToLower},
		"a part of it":       {as: "alice", id: func(id string) string { return id[:25] }},
		"nothing":            {as: "alice", id: func(string) string { return "" }},
		"much":               {as: "alice", id: func(id string) string { return strings.Repeat(id, 1000) }},
		"revoked":            {as: "alice", before: func(s *standing) { s.revoked["alice"] = true }, ends: true},
		"a stopped caller":   {as: "alice", before: func(s *standing) { s.stopped["alice"] = true }, ends: true},
		"a stopped tool":     {as: "alice", before: func(s *standing) { s.stopped["inquiry"] = true }, ends: true},
		"what is not broken": {},
	} {
		inJobs(t, func(t *testing.T, j *jobs) {
			alice := j.agent("alice", knows)
			id := alice.begin("inquiry", `{}`)
			tried := id
			if tt.id != nil {
				tried = tt.id(id)
			}
			if tt.before != nil {
				j.still.mu.Lock()
				tt.before(j.still)
				j.still.mu.Unlock()
			}
			if tt.as != "" {
				a := j.agent(tt.as, knows)
				for _, r := range []reply{a.get(tried), a.update(tried, `{"a":{"action":"accept","content":{"v":"evil"}}}`), a.cancel(tried)} {
					if r.status != 400 || r.code() != -32602 || r.Error.Message != "there is no such task, or it is kept no longer" || r.Error.Data != nil {
						t.Errorf("%s: answered %d %s", name, r.status, r.text)
					}
				}
			}
			if ended := len(j.record.outcomes("inquiry")) == 1; ended != tt.ends {
				t.Errorf("%s: the task has ended = %v, want %v", name, ended, tt.ends)
			}
			if tt.ends {
				return
			}
			if got := alice.get(id); got.Result.Status != "input_required" || len(got.Result.InputRequests) != 2 {
				t.Errorf("%s: then the task is %s", name, got.text)
			}
		})
	}
}

// TestTasksOfAStream: a task of a stream is visible only there, not even to the
// same principal over HTTP or over another stream.
func TestTasksOfAStream(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		j.known["local"] = sallyport.Principal{Name: sallyport.LocalPrincipal, Person: true}
		over := func(in io.Writer, out *bufio.Reader, params string) string {
			t.Helper()
			method := "tasks/get"
			if strings.Contains(params, `"name"`) {
				method = "tools/call"
			}
			send(t, in, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+
				`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+knows+"}}}\n")
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return line
		}
		one, _ := j.stdio(t)
		two, _ := j.stdio(t)
		first, second := bufio.NewReader(one.out), bufio.NewReader(two.out)
		made := taskIDs.FindStringSubmatch(over(one.in, first, `"name":"job","arguments":{"nonce":"a"}`))
		if made == nil {
			t.Fatal("there is no task")
		}
		if got := over(one.in, first, `"taskId":"`+made[1]+`"`); !strings.Contains(got, `"status":"working"`) {
			t.Errorf("over its stream the task is %s", got)
		}
		if got := over(two.in, second, `"taskId":"`+made[1]+`"`); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("over another stream it is %s", got)
		}
		if r := j.agent("local", knows).get(made[1]); r.code() != -32602 {
			t.Errorf("over HTTP it is %s", r.text)
		}
		for _, s := range []*stream{one, two} {
			s.in.Close()
			<-s.done
		}
		if n := j.KeptTasks(); n != 0 {
			t.Errorf("%d tasks of streams that are over are kept", n)
		}
	})
}

// TestAThousandTasks at once, all with the same JSON-RPC id: each returns what
// its client asked for.
func TestAThousandTasks(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		const principals, each = 20, 50
		for p := range principals {
			name := fmt.Sprintf("p%d", p)
			j.known[name] = sallyport.Principal{Name: name, Person: true}
		}
		var ids [principals * each]string
		var all sync.WaitGroup
		posts := make(chan struct{}, 300) // a server reads no more than 500 at once
		for i := range ids {
			a := j.agent(fmt.Sprintf("p%d", i%principals), knows)
			all.Go(func() {
				posts <- struct{}{}
				defer func() { <-posts }()
				r := a.call("job", nonce(fmt.Sprint("n", i)))
				if ids[i] = r.Result.TaskID; ids[i] == "" {
					t.Errorf("task %d: %s", i, r.text)
				}
			})
		}
		all.Wait()
		seen := map[string]bool{}
		for i, id := range ids {
			seen[id] = true
			close(j.lock(fmt.Sprint("n", i)))
		}
		synctest.Wait()
		for i := range ids {
			a := j.agent(fmt.Sprintf("p%d", i%principals), knows)
			all.Go(func() {
				posts <- struct{}{}
				defer func() { <-posts }()
				own := a.do("tasks/get", ids[i], `"taskId":"`+ids[i]+`"`)
				other := a.do("tasks/get", ids[(i+1)%len(ids)], `"taskId":"`+ids[(i+1)%len(ids)]+`"`)
				if own.said() != fmt.Sprint("nonce n", i) || other.code() != -32602 {
					t.Errorf("task %d is %s, and another one %s", i, own.text, other.text)
				}
			})
		}
		all.Wait()
		if got := j.record.outcomes("job"); len(seen) != len(ids) || len(got) != len(ids) {
			t.Errorf("%d ids and %d recorded calls, want %d", len(seen), len(got), len(ids))
		}
	})
}

// TestTasksAreBounded for each principal and for all: the request of a call
// beyond the bound waits, and when a task expires there is room again.
func TestTasksAreBounded(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		if got := j.TaskBounds(); got != [4]int{1000, 100, 64 << 20, 16 << 20} {
			t.Errorf("the bounds are %v", got)
		}
		close(j.lock("long"))
		if r := j.agent("alice", knows).call("job", fmt.Sprintf(`{"nonce":"long","more":%q}`, strings.Repeat("x", 256<<10))); r.Result.ResultType != "complete" {
			t.Errorf("long arguments: %.300s, want the result", r.text)
		}
		j.BoundTasks(10, 5, 1<<20, 1<<20)
		for _, name := range []string{"p0", "p1", "p10"} {
			j.known[name] = sallyport.Principal{Name: name, Person: true}
		}
		first := ""
		for p := range 2 {
			a := j.agent(fmt.Sprintf("p%d", p), knows)
			for n := range 5 {
				id := a.begin("job", nonce("all"))
				if p == 0 && n == 0 {
					first = id
				}
			}
		}
		waits := func(as string) {
			t.Helper()
			answered := make(chan reply, 1)
			go func() { answered <- j.agent(as, knows).call("job", nonce(as)) }()
			synctest.Wait()
			select {
			case r := <-answered:
				t.Errorf("%s is answered %s, want that it waits", as, r.text)
			default:
				j.letGo(as)
				if r := <-answered; r.Result.ResultType != "complete" || r.Result.Content[0].Text != "nonce "+as {
					t.Errorf("%s is answered %s, want the result", as, r.text)
				}
			}
		}
		waits("p10") // bound of all
		a := j.agent("p0", knows)
		a.cancel(first)
		waits("p0") // an ended task is kept
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		a.begin("job", nonce("all"))
	})
}

// TestWhatTasksKeepIsBounded: a call with large arguments does not become a
// task, and a result for which there is no room is replaced by a text that says
// so.
func TestWhatTasksKeepIsBounded(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		j.BoundTasks(10, 10, 60_000, 40_000)
		a, b := j.agent("alice", knows), j.agent("bob", knows)
		large := fmt.Sprintf(`{"nonce":"large","more":%q}`, strings.Repeat("x", 20_000))
		close(j.lock("large"))
		var ids []string
		for _, n := range []string{"small", "big", "next"} {
			size := 21_000 // 28,000 characters in base64
			if n == "small" {
				size = 0
			}
			ids = append(ids, a.begin("job", fmt.Sprintf(`{"nonce":%q,"size":%d}`, n, size)))
		}
		if r := a.call("job", large); r.Result.ResultType != "complete" {
			t.Errorf("large arguments beside others: %.300s, want the result", r.text)
		}
		others := b.begin("job", `{"nonce":"other","size":21000}`)
		last := b.begin("job", `{"nonce":"last","size":6000}`)
		for _, n := range []string{"big", "next", "small", "other", "last"} {
			j.letGo(n)
		}
		const gone = "not_available: The call ended, but its result of"
		for _, tt := range []struct {
			a         *agent
			id, begin string
			length    int
			isError   bool
		}{
			{a, ids[0], "nonce small", 0, false},
			{a, ids[1], "nonce big", 28_000, false},
			{a, ids[2], gone, 0, true}, // of this principal
			{b, others, "nonce other", 28_000, false},
			{b, last, gone, 0, true}, // of all
		} {
			r := tt.a.get(tt.id)
			if r.Result.Status != "completed" || !strings.HasPrefix(r.said(), tt.begin) || len(r.text) < tt.length || r.Result.Result.IsError != tt.isError {
				t.Errorf("%.500s, want %s", r.text, tt.begin)
			}
		}
		if r := a.call("job", nonce("small")); r.Result.ResultType != "complete" {
			t.Errorf("while much is kept, %.300s, want the result", r.text)
		}
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		a.begin("job", nonce("later"))
	})
}

// TestRequestsAboutTasksAreHeldToTheProtocol: the client, the method and the
// parameters must be right.
func TestRequestsAboutTasksAreHeldToTheProtocol(t *testing.T) {
	inJobs(t, func(t *testing.T, j *jobs) {
		a := j.agent("alice", knows)
		id := a.begin("job", nonce("a"))
		bare := j.agent("alice", `{"elicitation":{}}`)
		for _, tt := range []struct {
			a                    *agent
			method, name, params string
			status               int
			code                 int64
		}{
			{bare, "tasks/get", id, `"taskId":"` + id + `"`, 400, -32021},
			{bare, "tasks/update", id, `"taskId":"` + id + `","inputResponses":{}`, 400, -32021},
			{bare, "tasks/cancel", id, `"taskId":"` + id + `"`, 400, -32021},
			{bare, "tasks/get", "x", `"taskId":"x"`, 400, -32021},
			{bare, "subscriptions/listen", "", `"notifications":{"taskIds":["` + id + `"]}`, 400, -32021},
			{a, "tasks/list", "x", `"x":1`, 404, -32601},
			{a, "tasks/result", id, `"taskId":"` + id + `"`, 404, -32601},
			{a, "tasks/get", "other", `"taskId":"` + id + `"`, 400, -32020},
			{a, "tasks/cancel", "", `"taskId":"` + id + `"`, 400, -32020},
			{a, "tasks/update", strings.ToLower(id), `"taskId":"` + id + `","inputResponses":{}`, 400, -32020},
			{a, "tasks/get", id, `"x":1`, 400, -32600},
			{a, "tasks/get", "7", `"taskId":7`, 400, -32600},
			{a, "tasks/get", id, `"taskId":"x","taskId":"` + id + `"`, 400, -32600},
			{a, "tasks/get", id, `"taskId":"x","task\u0049d":"` + id + `"`, 400, -32600},
			{a, "tasks/get", "x", `"taskId":"x","TASKID":"` + id + `"`, 400, -32602},
			{a, "tasks/update", id, `"taskId":"` + id + `","inputResponses":{"a":{"action":"accept"},"a":{"action":"decline"}}`, 400, -32600},
			{a, "tasks/update", id, `"taskId":"` + id + `","inputResponses":{"a":{"action":"accept","Action":"decline"}}`, 400, -32600},
			{a, "tasks/update", id, `"taskId":"` + id + `","inputResponses":7`, 400, -32602},
			{a, "tasks/update", id, `"taskId":"` + id + `","inputResponses":{"a":{"x":"` + strings.Repeat("x", 70_000) + `"}}`, 400, -32600},
			{a, "tasks/get", "=?base64?eA==?=", `"taskId":"x"`, 400, -32602},
		} {
			if r := tt.a.do(tt.method, tt.name, tt.params); r.status != tt.status || r.code() != tt.code {
				t.Errorf("%s %s %.100s: %d %.300s, want %d and %d", tt.method, tt.name, tt.params, r.status, r.text, tt.status, tt.code)
			}
		}
		if r := a.get(id); r.Result.Status != "working" {
			t.Errorf("after all that the task is %s", r.text)
		}
	})
}

// TestAnswersThatRace: of many simultaneous updates and a cancellation, each
// answer counts once, whichever comes first.
func TestAnswersThatRace(t *testing.T) {
	for range 5 {
		inJobs(t, func(t *testing.T, j *jobs) {
			a := j.agent("alice", knows)
			id := a.begin("inquiry", `{}`)
			about := func(method, more string) reply { return a.do(method, id, `"taskId":"`+id+`"`+more) }
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					v := fmt.Sprintf(`{"action":"accept","content":{"v":"%d"}}`, i)
					for _, responses := range []string{`{"a":` + v + `}`, `{"b":` + v + `,"a":` + v + `}`, `{"a.2":` + v + `}`} {
						if r := about("tasks/update", `,"inputResponses":`+responses); r.Error != nil {
							t.Errorf("an update is answered %s", r.text)
						}
					}
					about("tasks/get", "")
				})
			}
			all.Go(func() { about("tasks/cancel", "") })
			all.Wait()
			synctest.Wait()
			if r := a.get(id); r.Result.Status != "cancelled" && strings.Count(r.said(), "accept") != 3 {
				t.Errorf("in the end %s", r.text)
			}
			if got := j.record.outcomes("inquiry"); len(got) != 1 {
				t.Errorf("recorded %d calls, want 1", len(got))
			}
		})
	}
}
