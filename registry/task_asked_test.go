package registry_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/registry"
)

// A task that cannot hold is refused with the call that brings it, says why to the client
// and the operator, and leaves the session as it was.
func TestATaskThatCannotHoldIsRefused(t *testing.T) {
	t.Parallel()
	ceiling := func(tool, text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{tool: json.RawMessage(text)}
	}
	for _, c := range []struct {
		name   string
		before *sallyport.Task
		task   sallyport.Task
		want   string
	}{
		{"an unknown tool", nil, sallyport.Task{Tools: []string{"send", "sennd"}}, `tools/1: "sennd" is no tool; did you mean send?`},
		{"an unknown label", nil, sallyport.Task{Tools: []string{"@nothing"}}, `tools/0: "@nothing" is no tool`},
		{"a server that is not there", nil, sallyport.Task{Tools: []string{"mcp__none__*"}}, `tools/0: "mcp__none__*" is no tool`},
		{"an unknown tool under arguments", nil, sallyport.Task{Arguments: ceiling("sennd", `{}`)}, `arguments: "sennd" is no tool; did you mean send?`},
		{"an unknown argument", nil, sallyport.Task{Arguments: ceiling("send", `{"m":{"maximum":1}}`)}, "arguments.send.m: "},
		{"an unknown word", nil, sallyport.Task{Arguments: ceiling("send", `{"n":{"maxmum":1}}`)}, "arguments.send.n"},
		{"an unknown set", nil, sallyport.Task{Arguments: ceiling("send", `{"n":{"known":"friends"}}`)}, "friends"},
		{"a fragment of another type", nil, sallyport.Task{Arguments: ceiling("send", `{"n":{"type":"integer"}}`)}, "arguments.send"},
		{"no tool of the role", nil, sallyport.Task{Tools: []string{"hidden"}}, "no tool is left that this session may use"},
		{"no tool that the task before leaves", &sallyport.Task{Tools: []string{"send"}}, sallyport.Task{Tools: []string{"read_file"}}, "no tool is left that this session may use"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newNarrowed(t, nil, "payees")
			if c.before != nil {
				if res := f.send("s", c.before); !res.OK {
					t.Fatalf("before: %+v", res)
				}
			}
			res := f.send("s", &c.task)
			if res.Code != sallyport.CodeInputInvalid || !strings.Contains(res.Error, c.want) || !strings.HasPrefix(res.Error, "the task cannot be used, and the session was not narrowed: ") {
				t.Errorf("with the task: %s %q, want %q", res.Code, res.Error, c.want)
			}
			e := f.last()
			if d := e.Decisions[len(e.Decisions)-1]; e.Kind != audit.KindOutcome || !strings.Contains(d.Why, c.want) || d.Fix == "" {
				t.Errorf("the operator reads %+v, want %q and what to do", d, c.want)
			}
			if res := f.send("s", nil); !res.OK {
				t.Errorf("afterwards: %+v, want the session as it was", res)
			}
		})
	}
}

// A task that closes everything on purpose holds, and so does one that names a tool of a
// server that is not there now.
func TestATaskMayNameWhatMayCome(t *testing.T) {
	t.Parallel()
	f := newNarrowed(t, nil, "payees")
	for session, task := range map[string]*sallyport.Task{
		"closed": {Tools: []string{}}, "late": {Tools: []string{"mcp__late__pay"}}, "both": {Tools: []string{"mcp__late__*", "read_file"}},
	} {
		for range 2 {
			if res := f.send(session, task); res.Code != sallyport.CodeNotAvailable {
				t.Errorf("%s: %+v, want the task to hold", session, res)
			}
			task = nil
		}
	}
}

// What a kept task names may go: the operator reads which call brought it, and what to do.
func TestATaskThatNoLongerFitsIsExplained(t *testing.T) {
	t.Parallel()
	sessions := conversation.New(nil)
	f := newNarrowed(t, sessions, "payees")
	first := f.send("s", &sallyport.Task{Arguments: map[string]json.RawMessage{"send": json.RawMessage(`{"n":{"known":"payees"}}`)}})
	if first.Code != sallyport.CodePermissionDenied {
		t.Fatalf("a value that is in no set: %+v", first)
	}
	f = newNarrowed(t, sessions)
	if res := f.send("s", nil); res.Code != sallyport.CodeNotAvailable {
		t.Errorf("without its set: %+v", res)
	}
	e := f.last()
	if d := e.Decisions[len(e.Decisions)-1]; !strings.Contains(d.Fix, "begin another session") || !strings.Contains(d.Fix, first.CallID) || d.Source != "" {
		t.Errorf("the operator reads %+v, want which call narrowed the session", d)
	}
}

// narrowed is a registry with a tool that a role may use, and one that it may not.
type narrowed struct {
	*registry.Registry
	recorder
	t    testing.TB
	sets []string
}

func newNarrowed(t testing.TB, sessions *conversation.Memory, sets ...string) *narrowed {
	t.Helper()
	f := &narrowed{t: t, sets: sets}
	p := &sallyport.Personality{Name: "role", Toolset: []string{"send", "read_file"}}
	var err error
	f.Registry, err = registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{
		Recorder: &f.recorder, Known: f, Conversations: sessions,
		MayCome: func(name string) bool { return strings.HasPrefix(name, "mcp__late__") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"string"}}}`)
	for _, name := range []string{"send", "read_file", "hidden"} {
		if err := f.Register(sallyport.Tool{Name: name, Schema: schema, Run: echo}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *narrowed) send(session string, task *sallyport.Task) sallyport.Result {
	return f.Call(f.t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: session, Personality: "role", Task: task},
		sallyport.Request{Tool: "send", Args: json.RawMessage(`{"n":"x"}`)})
}

func (f *narrowed) Kind(set string) (sallyport.ValueKind, bool) {
	return "", slices.Contains(f.sets, set)
}

func (f *narrowed) Has(context.Context, string, string) (bool, error) { return false, nil }

func (f *narrowed) Holds(context.Context, sallyport.ValueKind, string) (bool, error) {
	return false, nil
}
