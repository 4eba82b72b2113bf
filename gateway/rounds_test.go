package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport/gateway"
)

// TestARoundIsWorthNothingElsewhere: a state is valid only for its call, its
// principal and its role.
func TestARoundIsWorthNothingElsewhere(t *testing.T) {
	q := newInquirer(t)
	state := q.begin("alice", "asks", `{"a":1}`)
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(raw)
	changed[len(raw)/2] ^= 1
	for _, tt := range []struct{ name, as, tool, args, state string }{
		{"a changed state", "alice", "asks", `{"a":1}`, base64.RawURLEncoding.EncodeToString(changed)},
		{"another server's", "alice", "asks", `{"a":1}`, newInquirer(t).begin("alice", "asks", `{"a":1}`)},
		{"another principal", "bob", "asks", `{"a":1}`, state},
		{"another tool", "alice", "twice", `{"a":1}`, state},
		{"a tool that is held", "alice", "held", `{"a":1}`, state},
		{"other arguments", "alice", "asks", `{"a":2}`, state},
	} {
		if r := q.round(tt.as, tt.tool, bring(tt.args, tt.state, ann)); r.Error == nil || r.Error.Code != -32602 || !strings.Contains(r.Error.Message, "it is not one of this server's for this call") {
			t.Errorf("%s: answered %+v, want that the state is refused", tt.name, r)
		}
	}
	if q.ran.Load() != 1 || q.Parked() != 1 {
		t.Errorf("%d runs, %d wait, want one of each", q.ran.Load(), q.Parked())
	}
	if r := q.round("alice", "asks", bring(`{"a":1.0}`, state, ann)); !strings.Contains(r.text(), "Ann") || q.Parked() != 0 {
		t.Errorf("the right round was answered %s", r.text())
	}
}

// TestARoundIsGoodOnce, even when it is sent many times at once.
func TestARoundIsGoodOnce(t *testing.T) {
	q := newInquirer(t)
	state := q.begin("alice", "asks", `{}`)
	var heard, over atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := q.round("alice", "asks", bring(`{}`, state, ann))
			switch {
			case strings.Contains(r.text(), "Ann"):
				heard.Add(1)
			case strings.HasPrefix(r.text(), "error: this question is over"):
				over.Add(1)
			}
		})
	}
	wg.Wait()
	if heard.Load() != 1 || over.Load() != 7 || q.ran.Load() != 1 {
		t.Errorf("%d were answered, %d refused, in %d runs, want 1, 7 and 1", heard.Load(), over.Load(), q.ran.Load())
	}
	if out := q.record.outcomes("asks"); len(out) != 1 {
		t.Errorf("%d outcomes, want one", len(out))
	}
}

// TestAnswersToAToolByHand: the server refuses an answer that does not fit,
// which may then be corrected. It asks again for missing answers under a new
// state and ignores the rest.
func TestAnswersToAToolByHand(t *testing.T) {
	q := newInquirer(t)
	const spoken, folders = `"poem":{"role":"assistant","model":"m","content":{"type":"text","text":"t"}}`, `"roots":{"roots":[{"uri":"file:///x","name":"x"}]}`
	for _, tt := range []struct{ name, answers, want string }{
		{"all", ann + "," + spoken + "," + folders, `"URI":"file:///x"`},
		{"one more", ann + "," + spoken + "," + folders + `,"other":{"action":"accept"}`, `"URI":"file:///x"`},
		{"declined", `"name":{"action":"decline","content":{"name":"x"}},` + spoken + "," + folders, `[{"Action":"decline","Values":null`},
		{"a list of one text", ann + `,"poem":{"role":"assistant","model":"m","content":[{"type":"text","text":"t"}]},` + folders, `"URI":"file:///x"`},
		{"none", ``, "question"},
		{"one missing", ann + "," + spoken, "question"},
		{"in another spelling", `"Name":{"action":"accept","content":{"name":"Ann"}},` + spoken + "," + folders, "question"},
		{"no such action", `"name":{"action":"approve","content":{"name":"Ann"}},` + spoken + "," + folders, "mend: inputResponses.name: the action is none"},
		{"a number", `"name":{"action":"accept","content":{"name":5}},` + spoken + "," + folders, "mend: inputResponses.name: "},
		{"no field", `"name":{"action":"accept"},` + spoken + "," + folders, "mend: inputResponses.name: "},
		{"another field", `"name":{"action":"accept","content":{"name":"Ann","admin":true}},` + spoken + "," + folders, "mend: inputResponses.name: "},
		{"a model for a person", `"name":{"role":"assistant","model":"m","content":{"type":"text","text":"t"}},` + spoken + "," + folders, "mend: inputResponses.name: expected no message"},
		{"folders for a person", `"name":{"roots":[]},` + spoken + "," + folders, "mend: inputResponses.name: expected no list"},
		{"a person for a model", ann + `,"poem":{"action":"accept"},` + folders, "mend: inputResponses.poem: expected no result"},
		{"a picture for a text", ann + `,"poem":{"role":"assistant","model":"m","content":{"type":"image","data":"AA==","mimeType":"image/png"}},` + folders, "mend: inputResponses.poem: "},
		{"two texts", ann + `,"poem":{"role":"assistant","model":"m","content":[{"type":"text","text":"t"},{"type":"text","text":"u"}]},` + folders, "mend: inputResponses.poem: expected one text"},
		{"two kinds at once", `"name":{"action":"accept","content":{"name":"Ann"},"roots":[]},` + spoken + "," + folders, "mend: "},
		{"folders that are declined", ann + "," + spoken + `,"roots":{"action":"decline","roots":[{"uri":"file:///x"}]}`, "mend: "},
		{"a role in two spellings", ann + `,"poem":{"role":"assistant","Role":"user","model":"m","content":{"type":"text","text":"t"}},` + folders, "mend: "},
		{"a model in two spellings", ann + `,"poem":{"role":"assistant","model":"m","MODEL":"n","content":{"type":"text","text":"t"}},` + folders, "mend: "},
		{"a text in two spellings", ann + `,"poem":{"role":"assistant","model":"m","content":{"type":"text","text":"t","Text":"u"}},` + folders, "mend: "},
		{"a text twice", ann + `,"poem":{"role":"assistant","model":"m","content":[{"type":"text","text":"t","text":"u"}]},` + folders, "mend: "},
		{"roots in two spellings", ann + "," + spoken + `,"roots":{"roots":[],"Roots":[{"uri":"file:///y"}]}`, "mend: "},
		{"a uri in two spellings", ann + "," + spoken + `,"roots":{"roots":[{"uri":"file:///x","URI":"file:///y"}]}`, "mend: "},
		{"a field twice", `"name":{"action":"accept","content":{"name":"Ann","name":"Bob"}},` + spoken + "," + folders, "mend: "},
		{"an answer twice", ann + "," + ann + "," + spoken + "," + folders, "mend: "},
		{"a long answer", ann + `,"poem":{"role":"assistant","model":"m","content":{"type":"text","text":"` + strings.Repeat("x", 64<<10) + `"}},` + folders, "mend: "},
		{"null", `"name":null,` + spoken + "," + folders, "mend: "},
	} {
		args := `{"a":"` + tt.name + `"}`
		state := q.begin("alice", "everyone", args)
		r := q.round("alice", "everyone", bring(args, state, tt.answers))
		want, mend := strings.CutPrefix(tt.want, "mend: ")
		if mend && r.Error == nil || !strings.Contains(r.text(), want) {
			t.Errorf("%s: answered %.300s, want %s", tt.name, r.text(), tt.want)
		}
		again := state
		if tt.want == "question" {
			if r := q.round("alice", "everyone", bring(args, state, tt.answers)); r.Error == nil {
				t.Errorf("%s: the first state was good twice: %s", tt.name, r.text())
			}
			again = r.Result.RequestState
		}
		r = q.round("alice", "everyone", bring(args, again, ann+","+spoken+","+folders))
		if over := r.Error != nil; over == (mend || tt.want == "question") {
			t.Errorf("%s: then the right answers were answered %s", tt.name, r.text())
		}
	}
	if q.Parked() != 0 {
		t.Errorf("%d calls wait, want none", q.Parked())
	}
}

// TestAQuestionThatItsToolGaveUp: its answer is ignored, and the round goes on
// with what the tool asks now.
func TestAQuestionThatItsToolGaveUp(t *testing.T) {
	q := newInquirer(t)
	state := q.begin("alice", "hasty", `{}`)
	q.proceed <- struct{}{}
	if err := <-q.told; err == nil {
		t.Fatal("the tool has an answer")
	}
	r := q.round("alice", "hasty", bring(`{}`, state, ann))
	if r.text() != "question" || r.Result.InputRequests["colour"] == nil || r.Result.InputRequests["name"] != nil {
		t.Fatalf("answered %+v, want the next question", r)
	}
	r = q.round("alice", "hasty", bring(`{}`, r.Result.RequestState, `"colour":{"action":"accept","content":{"colour":"blue"}}`))
	if !strings.Contains(r.text(), "blue") || strings.Contains(r.text(), "Ann") || q.Parked() != 0 {
		t.Errorf("answered %s, want blue", r.text())
	}
}

// TestCallsThatWaitAreBounded for each principal: one that has too many is told
// so, and others can still ask.
func TestCallsThatWaitAreBounded(t *testing.T) {
	q := newInquirer(t)
	states := make([]string, 10)
	for i := range states {
		states[i] = q.begin("alice", "asks", fmt.Sprintf(`{"a":%d}`, i))
	}
	if r := q.round("alice", "asks", `"arguments":{}`); !strings.HasPrefix(r.text(), "not_available: too many questions wait for an answer\n") {
		t.Errorf("the eleventh was answered %s, want that there are too many", r.text())
	}
	q.begin("bob", "asks", `{}`)
	if r := q.round("alice", "asks", bring(`{"a":0}`, states[0], ann)); !strings.Contains(r.text(), "Ann") {
		t.Errorf("the first was answered %s", r.text())
	}
	q.begin("alice", "asks", `{}`)
	if got := q.Parked(); got != 11 {
		t.Errorf("%d calls wait, want 11", got)
	}
}

// TestARoundOfAPrincipalThatMayDoSomethingElse: changed rights end the call.
func TestARoundOfAPrincipalThatMayDoSomethingElse(t *testing.T) {
	for _, token := range []string{"less", "elsewhere"} {
		in := newInquiry(t)
		q := &inquirer{in, attacker{in.desk, t, in.siteOf(t, tokens{
			"alice": {Name: "alice", Permissions: []string{"p"}}, "less": {Name: "alice"},
			"elsewhere": {Name: "alice", Permissions: []string{"p"}, Personalities: []string{"role", "other"}},
		}).URL}}
		state := q.begin("alice", "careless", `{}`)
		r := q.round(token, "careless", bring(`{}`, state, ann))
		if !strings.HasPrefix(r.text(), "error: what the caller may do has changed") {
			t.Errorf("%s: answered %s, want that it has changed", token, r.text())
		}
		if err := <-in.told; err == nil {
			t.Errorf("%s: the call went on", token)
		}
		if r := q.round("alice", "careless", bring(`{}`, state, ann)); r.Error == nil || in.ran.Load() != 1 {
			t.Errorf("%s: then answered %s after %d runs, want a refusal and one", token, r.text(), in.ran.Load())
		}
	}
}

// TestRulesThatAreReplaced: the calls that wait under old rules end.
func TestRulesThatAreReplaced(t *testing.T) {
	q := newInquirer(t)
	state := q.begin("alice", "asks", `{}`)
	q.registry.StopWaiting()
	r := q.round("alice", "asks", bring(`{}`, state, ann))
	if !strings.Contains(r.text(), "the configuration changed") && !strings.HasPrefix(r.text(), "error: this question is over") {
		t.Errorf("answered %s, want that it is over", r.text())
	}
	if r := q.round("alice", "asks", `"arguments":{}`); !strings.HasPrefix(r.text(), "not_available: ") {
		t.Errorf("a new call was answered %s, want no question", r.text())
	}
}

// TestARequestThatIsGivenUpEndsItsCall, in whichever round it is.
func TestARequestThatIsGivenUpEndsItsCall(t *testing.T) {
	q := newInquirer(t)
	state := q.begin("alice", "slow", `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- q.get(ctx, "alice", "slow", bring(`{}`, state, ann)) }()
	if err := <-q.told; err != nil {
		t.Fatalf("the tool has no answer: %v", err)
	}
	cancel()
	if err := <-q.told; err == nil {
		t.Error("the tool was not cancelled")
	}
	if err := <-given; err == nil {
		t.Error("the request was answered")
	}
}

// TestShutdownEndsWhatWaits: the shutdown does not wait for people and leaves
// no call behind.
func TestShutdownEndsWhatWaits(t *testing.T) {
	q := newInquirer(t)
	for i := range 3 {
		q.begin("alice", "careless", fmt.Sprintf(`{"a":%d}`, i))
	}
	if err := q.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown() = %v", err)
	}
	for range 3 {
		if err := <-q.told; err == nil {
			t.Error("a tool has an answer")
		}
	}
	if q.Parked() != 0 || len(q.record.outcomes("careless")) != 3 {
		t.Errorf("%d calls wait and %d are recorded, want none and 3", q.Parked(), len(q.record.outcomes("careless")))
	}
	if r := q.round("alice", "careless", `"arguments":{}`); r.text() == "question" {
		t.Error("a call after the end asks")
	}
}

// TestARoundInAnotherRole: the state is bound to the role too.
func TestARoundInAnotherRole(t *testing.T) {
	in := newInquiry(t)
	var err error
	if in.Server, err = gateway.New(in.registry, &gateway.Options{Desk: in.desk}); err != nil {
		t.Fatal(err)
	}
	known := tokens{"alice": {Name: "alice", Personalities: []string{"role"}}, "later": {Name: "alice", Personalities: []string{"other", "role"}}}
	q := &inquirer{in, attacker{in.desk, t, in.siteOf(t, known).URL}}
	state := q.begin("alice", "asks", `{}`)
	if r := q.round("later", "asks", bring(`{}`, state, ann)); r.Error == nil || !strings.Contains(r.Error.Message, "requestState") {
		t.Errorf("answered %s, want that the state is refused", r.text())
	}
}

// TestAHeldCallThatAsksByHand: an approval does not answer the tool, and an
// answer to the tool does not approve.
func TestAHeldCallThatAsksByHand(t *testing.T) {
	q := newInquirer(t)
	const approve = `"approval":{"action":"accept","content":{"approve":true}}`
	held := q.begin("alice", "heldasks", `{}`)
	if r := q.round("alice", "heldasks", bring(`{}`, held, ann)); r.text() != "question" || r.Result.InputRequests["approval"] == nil || q.ran.Load() != 0 {
		t.Fatalf("an answer to the tool was taken for an approval: %+v after %d runs", r, q.ran.Load())
	}
	r := q.round("alice", "heldasks", bring(`{}`, held, approve+","+ann))
	if r.text() != "question" || r.Result.InputRequests["name"] == nil || q.ran.Load() != 1 {
		t.Fatalf("an approved call was answered %+v after %d runs, want its question and one", r, q.ran.Load())
	}
	asked := r.Result.RequestState
	if r := q.round("alice", "heldasks", bring(`{}`, held, approve)); r.Error == nil || q.ran.Load() != 1 {
		t.Errorf("a used approval was answered %s after %d runs", r.text(), q.ran.Load())
	}
	if r = q.round("alice", "heldasks", bring(`{}`, asked, approve)); r.text() != "question" {
		t.Fatalf("an approval was taken for an answer to the tool: %s", r.text())
	}
	if r := q.round("alice", "heldasks", bring(`{}`, r.Result.RequestState, ann)); !strings.Contains(r.text(), "Ann") || q.ran.Load() != 1 || len(q.decisions()) != 1 {
		t.Errorf("answered %s after %d runs, want Ann and one", r.text(), q.ran.Load())
	}
}

// TestALongCallDoesNotWait: the space for its message is released with the
// request.
func TestALongCallDoesNotWait(t *testing.T) {
	q := newInquirer(t)
	q.begin("alice", "asks", `{"a":"`+strings.Repeat("x", 255<<10)+`"}`)
	r := q.round("alice", "asks", `"arguments":{"a":"`+strings.Repeat("x", 256<<10)+`"}`)
	if !strings.Contains(r.text(), "too long to be kept while it waits") || q.Parked() != 1 {
		t.Errorf("answered %.300s, want that it is too long", r.text())
	}
}
