package upstream_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// inRounds returns a script of the protocol generation that asks with results.
func inRounds(t *testing.T) *script {
	s := newScript(t, tool("asks"))
	s.lists["server/discover"] = object{
		"supportedVersions": []any{"2026-07-28"}, "capabilities": object{"tools": object{}}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
		"serverInfo": object{"name": "scripted", "version": "1"},
	}
	return s
}

// required returns a result with questions.
func required(requests, state any) object {
	return object{"resultType": "input_required", "inputRequests": requests, "requestState": state}
}

func whichN() object { return object{"method": "elicitation/create", "params": forPerson} }

// TestAServerAsksInRounds: the server's names of the questions and its state
// come back to it unchanged.
func TestAServerAsksInRounds(t *testing.T) {
	t.Parallel()
	s := inRounds(t)
	s.answer = func(_ *peer, q *question) any {
		if q.Params.State == "" {
			return required(object{
				"a b": whichN(), "question_1": object{"method": "sampling/createMessage", "params": forModel},
				"ü": object{"method": "roots/list"}, "name": whichN(),
			}, "theirs, as \u00fc is")
		}
		got, err := json.Marshal([]any{q.Params.Responses, q.Params.State, q.Params.Meta["io.modelcontextprotocol/clientCapabilities"]})
		if err != nil {
			t.Error(err)
		}
		return text(string(got))
	}
	ann := &caller{name: "Ann"}
	res := inquiring(t, s).from(t.Context(), ann, "test__asks")
	const want = `[{"a b":{"action":"accept","content":{"n":"Ann"}},"name":{"action":"accept","content":{"n":"Ann"}},` +
		`"question_1":{"content":{"text":"said Ann","type":"text"},"model":"unknown","role":"assistant","stopReason":"endTurn"},` +
		`"ü":{"roots":[{"name":"Ann","uri":"file:///Ann"}]}},"theirs, as ü is",{"elicitation":{"form":{}},"roots":{},"sampling":{}}]`
	if diff := cmp.Diff(want, inside(res)); diff != "" {
		t.Errorf("the server got (-want +got):\n%s%+v", diff, res)
	}
	var names []string
	for _, q := range ann.questions() {
		names = append(names, q.Name)
	}
	if got := strings.Join(names, " "); got != "question_2 name question_1 question_4" && got != "question_2 name question_1 question_5" {
		t.Errorf("the questions are %q, want names of their own", got)
	}
}

// TestRoundsThatLie end their call, and ask no one.
func TestRoundsThatLie(t *testing.T) {
	t.Parallel()
	many := object{}
	for i := range 1000 {
		many[fmt.Sprint("k", i)] = whichN()
	}
	for name, tt := range map[string]struct {
		answer any
		why    string
	}{
		"no questions":           {required(object{}, "s"), "without 1 to 8 questions"},
		"a thousand questions":   {required(many, "s"), "without 1 to 8 questions"},
		"a list":                 {required([]any{whichN()}, "s"), "without 1 to 8 questions"},
		"a state of megabytes":   {required(object{"a": whichN()}, strings.Repeat("x", 2<<20)), "a state"},
		"a name of megabytes":    {required(object{strings.Repeat("x", 2<<20): whichN()}, "s"), "a state"},
		"a state that is a tree": {required(object{"a": whichN()}, object{"a": 1}), "a state"},
		"another method":         {required(object{"a": object{"method": "tools/call"}}, "s"), "not offered"},
		"half a question":        {required(object{"a": whichN(), "b": object{"method": "elicitation/create"}}, "s"), ""},
		"a secret as a name":     {required(object{"s3cr3t-value": whichN()}, "s"), ""},
		"a key twice":            {rawJSON(`{"resultType":"input_required","inputRequests":{"a":{},"a":{}}}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := inRounds(t)
			s.answer = func(*peer, *question) any { return tt.answer }
			g := newGateWith(t, &sallyport.Backends{Process: s, Secrets: secrets{"a": "s3cr3t-value"}}, nil, inquirer())
			ann := &caller{name: "Ann"}
			res := g.from(t.Context(), ann, "test__asks")
			if res.OK || !strings.Contains(res.Error, tt.why) || len(ann.questions()) != 0 {
				t.Errorf("the call = %+v, asked %v", res, ann.questions())
			}
			if strings.Contains(res.Error, "s3cr3t") {
				t.Errorf("the call = %+v", res)
			}
		})
	}
}

// TestRoundsWithoutEnd end.
func TestRoundsWithoutEnd(t *testing.T) {
	t.Parallel()
	s := inRounds(t)
	s.answer = func(*peer, *question) any { return required(object{"a": whichN()}, "s") }
	ann := &caller{name: "Ann"}
	if res := inquiring(t, s).from(t.Context(), ann, "test__asks"); res.OK || len(ann.questions()) != sallyport.MaxAsks {
		t.Errorf("the call = %+v after %d questions", res, len(ann.questions()))
	}
}

// TestACallerThatCannotBeAsked: the server learns that, and its refusal becomes
// a refusal of the call.
func TestACallerThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	s := inRounds(t)
	s.answer = func(_ *peer, q *question) any {
		able, _ := q.Params.Meta["io.modelcontextprotocol/clientCapabilities"].(map[string]any)
		if len(able) != 0 {
			t.Errorf("the server is told %v", able)
		}
		return broken{"code": -32021, "message": "no", "data": object{"requiredCapabilities": object{"elicitation": object{}}}}
	}
	ann := &caller{cannot: true}
	res := inquiring(t, s).from(t.Context(), ann, "test__asks")
	if res.Code != sallyport.CodeNotAvailable || !strings.Contains(res.Error, "cannot be asked") || len(ann.questions()) != 0 {
		t.Errorf("the call = %+v, asked %v", res, ann.questions())
	}
}

// TestSharedServersAskNobody, because the question could reach another
// principal. Such a declaration is refused when it is read, and again when it
// is mounted.
func TestSharedServersAskNobody(t *testing.T) {
	t.Parallel()
	_, err := upstream.Decode("test", json.RawMessage(`{"command": ["node"], "shared": true, "capabilities": {"input": ["person"]}}`), nil)
	if err == nil || !strings.Contains(err.Error(), "/capabilities/input: a question of a shared process") {
		t.Errorf("the declaration = %v, want that both exclude each other", err)
	}
	d := inquirer()
	d.Shared = true
	if _, err := upstream.New([]upstream.Server{d}, nil); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("the mount = %v, want that both exclude each other", err)
	}
}

// TestQuestionsStayWithTheirRole: a process of another role or principal asks
// the caller of its own call.
func TestQuestionsStayWithTheirRole(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("asks"))
	works, turn := make(chan *peer, 2), make(chan struct{}, 2)
	s.answer = func(p *peer, _ *question) any {
		works <- p
		<-turn
		return text(string(p.askClient("elicitation/create", forPerson).Result))
	}
	g := inquiring(t, s)
	ann, bob := &caller{name: "Ann"}, &caller{name: "Bob"}
	done := make(chan sallyport.Result, 2)
	go func() { done <- g.from(t.Context(), ann, "test__asks") }()
	first := <-works
	go func() {
		done <- g.Registry.Call(t.Context(), &sallyport.Caller{
			Principal: sallyport.Principal{Name: "bob"}, Session: "s", Personality: "reads", Platform: sallyport.PlatformGo, Workspace: g.workspace, Input: bob,
		}, sallyport.Request{Tool: "mcp__test__asks", Args: json.RawMessage("{}")})
	}()
	if second := <-works; first == second {
		t.Fatal("two roles have one process")
	}
	turn <- struct{}{}
	turn <- struct{}{}
	if a, b := inside(<-done), inside(<-done); a == b || len(ann.questions()) != 1 || len(bob.questions()) != 1 {
		t.Errorf("the servers heard %q and %q, asked %v and %v", a, b, ann.questions(), bob.questions())
	}
}
