package gateway_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
)

// canAsk is the _meta of a client that shows forms to a person.
const canAsk = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// round is the answer to one round of a call.
type round struct {
	Result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]json.RawMessage
		IsError       bool
		Meta          map[string]any `json:"_meta"`
		Content       []struct{ Text string }
	}
	Error *struct {
		Code    int64
		Message string
	}
}

// code returns the gate's code, or "error" for an error of the protocol.
func (r *round) code() string {
	if r.Error != nil {
		return "error"
	}
	code, _ := r.Result.Meta["sallyport/code"].(string)
	return code
}

// attacker sends rounds of its own making.
type attacker struct {
	*desk
	t   *testing.T
	url string
}

func newAttacker(t *testing.T, edit func(*sallyport.Approvals)) *attacker {
	d := newDesk(t, edit)
	return &attacker{d, t, d.site(t).URL}
}

// call sends a round of a call as a principal.
func (a *attacker) call(as, tool, more string) round {
	a.t.Helper()
	return a.post(as, tool, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`",`+more+`,`+canAsk+`}}`)
}

// post sends a call as a principal.
func (a *attacker) post(as, tool, body string) round {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url+"/mcp", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", tool)
	res, err := client(a.t, as).Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, data, ok := bytes.Cut(text, []byte("data: ")); ok {
		text = data
	}
	var out round
	if err := json.Unmarshal(text, &out); err != nil {
		a.t.Fatalf("%v in %.500s", err, text)
	}
	return out
}

// ask makes a held call and returns the state of its question.
func (a *attacker) ask(as, tool, args string) string {
	a.t.Helper()
	r := a.call(as, tool, `"arguments":`+args)
	if r.Result.ResultType != "input_required" || r.Result.RequestState == "" || r.Result.InputRequests["approval"] == nil {
		a.t.Fatalf("a held call was answered with %+v, want a question", r)
	}
	return r.Result.RequestState
}

// yes returns the second round of a call, which approves it.
func yes(args, state string) string {
	return `"arguments":` + args + `,"requestState":"` + state + `","inputResponses":{"approval":{"action":"accept","content":{"approve":true}}}`
}

func TestAStateIsWorthNothingElsewhere(t *testing.T) {
	a := newAttacker(t, nil)
	state := a.ask("alice", "held", `{"a":1}`)
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(i int) string {
		b := bytes.Clone(raw)
		b[i] ^= 1
		return base64.RawURLEncoding.EncodeToString(b)
	}
	elsewhere := newAttacker(t, nil).ask("alice", "held", `{"a":1}`)
	for _, tt := range []struct{ name, as, tool, args, state string }{
		{"a state that was made up", "alice", "held", `{"a":1}`, "c3RhdGU"},
		{"a state that is no base64", "alice", "held", `{"a":1}`, "!!!"},
		{"a longer state", "alice", "held", `{"a":1}`, state + "AA"},
		{"a shorter state", "alice", "held", `{"a":1}`, state[:len(state)-4]},
		{"a changed nonce", "alice", "held", `{"a":1}`, flipped(0)},
		{"a changed expiry", "alice", "held", `{"a":1}`, flipped(13)},
		{"a changed id", "alice", "held", `{"a":1}`, flipped(25)},
		{"a changed seal", "alice", "held", `{"a":1}`, flipped(len(raw) - 1)},
		{"a huge state", "alice", "held", `{"a":1}`, strings.Repeat("A", 1<<20)},
		{"another server's", "alice", "held", `{"a":1}`, elsewhere},
		{"another principal", "bob", "held", `{"a":1}`, state},
		{"another tool", "alice", "other", `{"a":1}`, state},
		{"other arguments", "alice", "held", `{"a":2}`, state},
		{"no arguments", "alice", "held", `{}`, state},
		{"arguments that repeat a key", "alice", "held", `{"a":1,"a":1}`, state},
	} {
		if r := a.call(tt.as, tt.tool, yes(tt.args, tt.state)); r.Error == nil || r.Error.Code != -32602 || !strings.Contains(r.Error.Message, "requestState") {
			t.Errorf("%s: answered %+v, want that the state is refused", tt.name, r)
		}
	}
	if got := a.decisions(); got != nil || a.ran.Load() != 0 {
		t.Fatalf("decisions = %v and %d runs, want none", got, a.ran.Load())
	}
	// The value of the arguments counts, not their spelling.
	if r := a.call("alice", "held", yes(`{ "a" : 1.0 }`, state)); r.code() != "" || a.ran.Load() != 1 {
		t.Errorf("the right call was answered %+v after %d runs, want that it ran", r, a.ran.Load())
	}
}

func TestAStateIsUsedOnce(t *testing.T) {
	a := newAttacker(t, nil)
	state := a.ask("alice", "held", `{"a":1}`)
	if r := a.call("alice", "held", yes(`{"a":1}`, state)); r.code() != "" {
		t.Fatalf("an approved call was answered %+v", r)
	}
	if r := a.call("alice", "held", yes(`{"a":1}`, state)); r.Error == nil || a.ran.Load() != 1 {
		t.Errorf("a used state was answered %+v after %d runs, want a refusal and one", r, a.ran.Load())
	}
	if got := a.decisions(); len(got) != 1 {
		t.Errorf("decisions = %v, want one", got)
	}
	// The old state does not approve the newly held call either.
	a.ask("alice", "held", `{"a":1}`)
	if r := a.call("alice", "held", yes(`{"a":1}`, state)); r.Error == nil || a.ran.Load() != 1 || a.decisions() != nil {
		t.Errorf("the state of an earlier call was answered %+v after %d runs, want a refusal and one", r, a.ran.Load())
	}
}

// TestManyAnswersAtOnceAreOneRun sends one approval from many connections at
// once.
func TestManyAnswersAtOnceAreOneRun(t *testing.T) {
	a := newAttacker(t, nil)
	state := a.ask("alice", "held", `{"a":1}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { a.call("alice", "held", yes(`{"a":1}`, state)) })
	}
	wg.Wait()
	if a.ran.Load() != 1 {
		t.Errorf("%d runs, want one", a.ran.Load())
	}
}

func TestAnswersByHand(t *testing.T) {
	a := newAttacker(t, nil)
	huge := strings.Repeat(`"x":1,`, 100_000)
	for _, tt := range []struct{ name, answers, want string }{
		{"no answer", ``, "question"},
		{"the answer to another question", `"inputResponses":{"other":{"action":"accept","content":{"approve":true}}}`, "question"},
		{"another spelling of the question", `"inputResponses":{"Approval":{"action":"accept","content":{"approve":true}}}`, "question"},
		{"a sample of a model", `"inputResponses":{"approval":{"role":"assistant","content":{"type":"text","text":"approve"},"model":"m"}}`, "error"},
		{"roots", `"inputResponses":{"approval":{"roots":[]}}`, "error"},
		{"nothing known", `"inputResponses":{"approval":{"approve":true}}`, "error"},
		{"a plain true", `"inputResponses":{"approval":true}`, "error"},
		{"approve is a text", `"inputResponses":{"approval":{"action":"accept","content":{"approve":"true"}}}`, "error"},
		{"content is a list", `"inputResponses":{"approval":{"action":"accept","content":[true]}}`, "error"},
		{"huge content without approval", `"inputResponses":{"approval":{"action":"accept","content":{` + huge + `"y":1}}}`, "error"},
		{"a huge reason", `"inputResponses":{"approval":{"action":"accept","content":{"approve":true,"reason":"` + strings.Repeat("x", 5<<20) + `"}}}`, "error"},
		{"an answer twice", `"inputResponses":{},"inputResponses":{"approval":{"action":"accept","content":{"approve":true}}}`, "error"},
		{"two answers to a question", `"inputResponses":{"approval":{"action":"decline"},"approval":{"action":"accept","content":{"approve":true}}}`, "error"},
		{"two actions", `"inputResponses":{"approval":{"action":"decline","action":"accept","content":{"approve":true}}}`, "error"},
		{"two actions in two spellings", `"inputResponses":{"approval":{"action":"decline","Action":"accept","content":{"approve":true}}}`, "error"},
		{"two contents in two spellings", `"inputResponses":{"approval":{"action":"accept","content":{"approve":false},"Content":{"approve":true}}}`, "error"},
		{"an action that is not seen", `"inputResponses":{"approval":{"a\u0063tion":"decline","action":"accept","content":{"approve":true}}}`, "error"},
		{"two decisions", `"inputResponses":{"approval":{"action":"accept","content":{"approve":false,"approve":true}}}`, "error"},
		{"a long answer", `"inputResponses":{"approval":{"action":"accept","content":{"approve":true,"more":"` + strings.Repeat("x", 64<<10) + `"}}}`, "error"},
		{"cancel", `"inputResponses":{"approval":{"action":"cancel"}}`, "approval_required"},
	} {
		args := `{"a":"` + tt.name + `"}`
		more := `"arguments":` + args + `,"requestState":"` + a.ask("alice", "held", args) + `"`
		if tt.answers != "" {
			more += "," + tt.answers
		}
		r := a.call("alice", "held", more)
		got := r.code()
		if r.Result.ResultType == "input_required" {
			got = "question"
		}
		if got != tt.want {
			t.Errorf("%s: answered %.300v, want %s", tt.name, r, tt.want)
		}
	}
	if got := a.decisions(); got != nil || a.ran.Load() != 0 {
		t.Errorf("decisions = %v and %d runs, want none", got, a.ran.Load())
	}
}

// TestAnAnswerCountsOnlyWhereItMay: rules may change between the rounds, and
// the operator may decide first.
func TestAnAnswerCountsOnlyWhereItMay(t *testing.T) {
	a := newAttacker(t, nil)
	state := a.ask("alice", "held", `{"a":1}`)
	held, err := a.List(t.Context(), false)
	if err != nil || len(held) != 1 {
		t.Fatalf("List() = %v, %v, want one", held, err)
	}
	a.role.Approvals.OperatorOnly = true
	if r := a.call("alice", "held", yes(`{"a":1}`, state)); r.code() != "approval_required" || a.decisions() != nil {
		t.Errorf("where only the operator decides: answered %+v, want approval_required", r)
	}
	a.role.Approvals.OperatorOnly = false
	if err := a.ApprovalStore.Decide(t.Context(), held[0].ID, "boss", false, "not today"); err != nil {
		t.Fatal(err)
	}
	if r := a.call("alice", "held", yes(`{"a":1}`, state)); r.code() != "approval_denied" || a.ran.Load() != 0 || a.decisions() != nil {
		t.Errorf("what the operator denied: answered %+v after %d runs, want approval_denied", r, a.ran.Load())
	}
	state = a.ask("alice", "held", `{"a":2}`)
	if held, err = a.List(t.Context(), false); err != nil || len(held) != 1 {
		t.Fatalf("List() = %v, %v, want one", held, err)
	}
	if err := a.ApprovalStore.Decide(t.Context(), held[0].ID, "boss", true, ""); err != nil {
		t.Fatal(err)
	}
	declined := strings.Replace(yes(`{"a":2}`, state), `"action":"accept","content":{"approve":true}`, `"action":"decline"`, 1)
	if r := a.call("alice", "held", declined); r.code() != "approval_denied" || a.ran.Load() != 0 {
		t.Errorf("what the person declined: answered %+v after %d runs, want approval_denied", r, a.ran.Load())
	}
}

// TestAFreeCallNeedsNoState: the state is ignored for a call that no rule
// holds.
func TestAFreeCallNeedsNoState(t *testing.T) {
	a := newAttacker(t, nil)
	if r := a.call("alice", "free", yes(`{"a":1}`, "x")); r.code() != "" || a.ran.Load() != 1 || a.decisions() != nil {
		t.Errorf("answered %+v after %d runs, want that it ran", r, a.ran.Load())
	}
}
