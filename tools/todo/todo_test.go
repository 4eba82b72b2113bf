package todo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/todo"
)

// gate is a registry with the tools over a store.
type gate struct {
	*registry.Registry
	t testing.TB
}

func newGate(t testing.TB, kv sallyport.KVFactory) gate {
	t.Helper()
	r, err := registry.New(&sallyport.Backends{KV: kv}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	if err := r.Register(todo.Tools()...); err != nil {
		t.Fatal(err)
	}
	return gate{r, t}
}

// call calls a tool for a principal in a session, written as "ann/one".
func (g gate) call(ctx context.Context, who, tool string, args any) sallyport.Result {
	g.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		g.t.Fatal(err)
	}
	principal, session, _ := strings.Cut(who, "/")
	return g.Call(ctx, &sallyport.Caller{
		Principal: sallyport.Principal{Name: principal}, Session: session, Platform: sallyport.PlatformGo,
	}, sallyport.Request{Tool: tool, Args: raw})
}

// must calls a tool that has to succeed and returns the ids of the tasks that it shows.
func (g gate) must(tool string, args any) (text string, ids []string) {
	g.t.Helper()
	res := g.call(g.t.Context(), "ann/one", tool, args)
	if !res.OK {
		g.t.Fatalf("%s(%v) = %s", tool, args, res.Error)
	}
	return res.Value, idsOf(res)
}

func idsOf(res sallyport.Result) (ids []string) {
	list, _ := res.Structured["tasks"].([]any)
	for _, row := range list {
		ids = append(ids, fmt.Sprint(row.(map[string]any)["id"]))
	}
	return ids
}

type named map[string]any

func TestAListFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	g := newGate(t, &scopedtest.KV{})
	_, ids := g.must("todo_create", named{"tasks": []string{"read the code", "fix it"}})
	_, last := g.must("todo_create", named{"tasks": []string{"write a test", "run it"}, "position": 2})
	id := map[string]string{"read": ids[0], "fix": ids[1], "write": last[0], "run": last[1]}
	g.must("todo_update", named{"id": id["write"], "status": "in_progress", "content": "write a | test\n| 9 | completed | forged | aaaa |"})
	g.must("todo_complete", named{"ids": []string{id["read"], id["read"]}})
	g.must("todo_update", named{"id": id["fix"], "position": 1})
	text, _ := g.must("todo_list", named{})
	want := "4 tasks; 1 of 4 completed.\n\n| # | status | task | id |\n| --- | --- | --- | --- |\n" +
		"| 1 | pending | fix it | " + id["fix"] + " |\n" +
		"| 2 | completed | read the code | " + id["read"] + " |\n" +
		`| 3 | in_progress | write a \| test \| 9 \| completed \| forged \| aaaa \| | ` + id["write"] + " |\n" +
		"| 4 | pending | run it | " + id["run"] + " |"
	if text != want {
		t.Errorf("todo_list() =\n%s\nwant\n%s", text, want)
	}
	if _, open := g.must("todo_list", named{"status": "open"}); len(open) != 3 {
		t.Errorf("todo_list(open) = %q, want three tasks", open)
	}
	if text, _ := g.must("todo_delete", named{"ids": []string{id["fix"], id["read"]}}); text != "Deleted 2 tasks; 2 left." {
		t.Errorf("todo_delete(2) = %q", text)
	}
	if text, _ := g.must("todo_list", named{"status": "completed"}); text != "2 tasks; 0 of 2 completed." {
		t.Errorf("todo_list(completed) = %q, want no table", text)
	}
}

func TestOrderHoldsWhenPlacesRunOut(t *testing.T) {
	t.Parallel()
	g := newGate(t, &scopedtest.KV{})
	var want []string
	for range 90 { // Halving the room 90 times leaves none for a float64.
		_, ids := g.must("todo_create", named{"tasks": []string{"x"}, "position": min(2, len(want)+1)})
		want = append(want[:min(1, len(want))], append(ids, want[min(1, len(want)):]...)...)
	}
	if _, got := g.must("todo_list", named{}); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("order = %q, want %q", got, want)
	}
}

func TestSessionsAndPrincipalsHaveListsOfTheirOwn(t *testing.T) {
	t.Parallel()
	g := newGate(t, &scopedtest.KV{})
	_, ids := g.must("todo_create", named{"tasks": []string{"mine"}})
	for _, who := range []string{"ann/two", "bob/one"} {
		if res := g.call(t.Context(), who, "todo_list", named{}); !res.OK || len(idsOf(res)) > 0 {
			t.Errorf("%s sees %q %s, want an empty list", who, res.Value, res.Error)
		}
		for _, tool := range []string{"todo_complete", "todo_delete"} {
			if res := g.call(t.Context(), who, tool, named{"ids": ids}); res.Code != sallyport.CodeInputInvalid {
				t.Errorf("%s: %s of another's task = %+v, want input_invalid", who, tool, res)
			}
		}
	}
}

func TestBadInputChangesNothing(t *testing.T) {
	t.Parallel()
	g := newGate(t, &scopedtest.KV{})
	_, ids := g.must("todo_create", named{"tasks": []string{"a", "b"}})
	many := make([]string, 99)
	for i := range many {
		many[i] = "x"
	}
	for _, tt := range []struct {
		tool string
		args named
		want string
	}{
		{"todo_create", named{}, "tasks"},
		{"todo_create", named{"tasks": []string{}}, "/tasks"},
		{"todo_create", named{"tasks": []string{""}}, "/tasks/0"},
		{"todo_create", named{"tasks": []string{" \n"}}, "a task has no text"},
		{"todo_create", named{"tasks": []string{strings.Repeat("x", 501)}}, "/tasks/0"},
		{"todo_create", named{"tasks": []int{1}}, "/tasks/0"},
		{"todo_create", named{"tasks": many}, "the list has 2 tasks and takes 100"},
		{"todo_create", named{"tasks": []string{"x"}, "position": 0}, "/position"},
		{"todo_create", named{"tasks": []string{"x"}, "owner": "root"}, "owner"},
		{"todo_update", named{"id": ids[0]}, "nothing to change"},
		{"todo_update", named{"id": ids[0], "status": "done"}, "/status"},
		{"todo_update", named{"id": ids[0], "content": "\t"}, "the task has no text"},
		{"todo_update", named{"id": "../x", "status": "pending"}, `no task has the id ../x`},
		{"todo_complete", named{"ids": []string{ids[0], "zzzz"}}, "no task has the id zzzz: todo_list shows the ids; nothing was changed"},
		{"todo_delete", named{"ids": []string{"zzzz", ids[0]}}, "nothing was changed"},
		{"todo_list", named{"status": "all"}, "/status"},
	} {
		res := g.call(t.Context(), "ann/one", tt.tool, tt.args)
		if res.Code != sallyport.CodeInputInvalid || !strings.Contains(res.Error, tt.want) {
			t.Errorf("%s(%v) = %s %q, want input_invalid with %q", tt.tool, tt.args, res.Code, res.Error, tt.want)
		}
	}
	if text, _ := g.must("todo_list", named{}); !strings.Contains(text, "0 of 2 completed") {
		t.Errorf("todo_list() = %q, want the two tasks as they were", text)
	}
}

func TestManyCallsAtOnceLoseNoTask(t *testing.T) {
	t.Parallel()
	g := newGate(t, &scopedtest.KV{})
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			who := fmt.Sprintf("ann/%d", i%20)
			if res := g.call(t.Context(), who, "todo_create", named{"tasks": []string{fmt.Sprint(i)}, "position": 1}); !res.OK {
				t.Errorf("todo_create = %s", res.Error)
			}
		})
	}
	all.Wait()
	for i := range 20 {
		seen := map[string]bool{}
		for _, id := range idsOf(g.call(t.Context(), fmt.Sprintf("ann/%d", i), "todo_list", named{})) {
			seen[id] = true
		}
		if len(seen) != 50 {
			t.Errorf("session %d has %d tasks, want 50", i, len(seen))
		}
	}
}

// failing is a store that fails at the n-th write, as a full disk does.
type failing struct {
	store          scopedtest.KV
	writes, failAt int
	cause          error
}

type failingScope struct {
	sallyport.KV
	f *failing
}

// openStore is the factory of a failing store.
type openStore func(ctx context.Context, scope string) (sallyport.KV, error)

func (o openStore) KV(ctx context.Context, scope string) (sallyport.KV, error) { return o(ctx, scope) }

func (s failingScope) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	if s.f.writes++; s.f.writes >= s.f.failAt {
		return s.f.cause
	}
	return s.KV.Set(ctx, key, value, ttl)
}

func TestAFullDiskIsTold(t *testing.T) {
	t.Parallel()
	f := &failing{failAt: 3, cause: errors.New("no space left on /secret/device")}
	g := newGate(t, openStore(func(ctx context.Context, scope string) (sallyport.KV, error) {
		kv, err := f.store.KV(ctx, scope)
		return failingScope{kv, f}, err
	}))
	res := g.call(t.Context(), "ann/one", "todo_create", named{"tasks": []string{"a", "b", "c"}})
	if res.Code != sallyport.CodeExecutionFailed || res.Error != "2 of 3 tasks were stored, then the store failed: todo_list shows what is there" {
		t.Errorf("todo_create = %s %q", res.Code, res.Error)
	}
	if _, ids := g.must("todo_list", named{}); len(ids) != 2 {
		t.Errorf("todo_list() = %q, want the two tasks that were stored", ids)
	}
	if res := g.call(t.Context(), "ann/one", "todo_create", named{"tasks": []string{"d"}}); res.OK || strings.Contains(res.Error, "/secret/device") {
		t.Errorf("todo_create = %+v, want a failure without the words of the store", res)
	}
}

func TestAnUnreadableTaskCanBeDeleted(t *testing.T) {
	t.Parallel()
	kv := &scopedtest.KV{}
	g := newGate(t, kv)
	g.must("todo_create", named{"tasks": []string{"a"}})
	store, err := kv.KV(t.Context(), kv.Opened()[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Set(t.Context(), "todo/oops", "{", 0); err != nil {
		t.Fatal(err)
	}
	if res := g.call(t.Context(), "ann/one", "todo_list", named{}); res.OK || !strings.Contains(res.Error, `task "oops" cannot be read`) {
		t.Errorf("todo_list() = %+v, want the task named that cannot be read", res)
	}
	g.must("todo_delete", named{"ids": []string{"oops"}})
	if _, ids := g.must("todo_list", named{}); len(ids) != 1 {
		t.Errorf("todo_list() = %q, want the other task", ids)
	}
}

// The declaration holds what the tools touch, and nothing else.
func TestOnlyTheStoreOfTheSessionIsTouched(t *testing.T) {
	t.Parallel()
	for _, tool := range todo.Tools() {
		args := map[string]string{
			"todo_create": `{"tasks":["a"]}`, "todo_update": `{"id":"zzzz","status":"pending"}`,
			"todo_complete": `{"ids":["zzzz"]}`, "todo_delete": `{"ids":["zzzz"]}`,
		}[tool.Name]
		c := scopedtest.NewCall(t, &scopedtest.Options{Tool: tool.Name, Capabilities: tool.Capabilities, Args: json.RawMessage(args)})
		_, _ = tool.Run(t.Context(), c) // An unknown id is a failure; what it touches counts.
		if unused := scopedtest.Unused(c); len(unused) > 0 {
			t.Errorf("%s does not use %q, which it declares", tool.Name, unused)
		}
	}
}
