package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/internal/running"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

// notes is a gate that notes what is called, and a carrier that keeps what is sent.
type notes struct {
	called []sallyport.Request
	sent   []string
}

func (n *notes) Definitions(*sallyport.Caller) []registry.Definition { return nil }
func (n *notes) Prompts(*sallyport.Caller) []registry.Definition     { return nil }
func (n *notes) Resources(*sallyport.Caller) []sallyport.Resource    { return nil }
func (n *notes) Asks(*sallyport.Caller, string) bool                 { return false }
func (n *notes) Inquires(string) bool                                { return false }
func (n *notes) Tasks(string) sallyport.TaskSupport                  { return sallyport.TaskNever }

func (n *notes) Reader(*sallyport.Caller, string) (id string, ok bool)             { return "resource:any", true }
func (n *notes) Headers(*sallyport.Caller, string) []schema.Header                 { return nil }
func (n *notes) FileArguments(*sallyport.Caller, string) []attached.Argument       { return nil }
func (n *notes) Stands(context.Context, *sallyport.Caller, string, time.Time) bool { return true }

func (n *notes) Call(_ context.Context, _ *sallyport.Caller, q sallyport.Request) sallyport.Result {
	n.called = append(n.called, q)
	return sallyport.Result{OK: true, Value: "done", CallID: "c", Parts: []sallyport.Part{{Kind: sallyport.PartResource, Role: "user", URI: "test://any", Text: "x"}}}
}

func (n *notes) Reject(context.Context, *sallyport.Caller, sallyport.Request, string) sallyport.Result {
	return sallyport.Result{}
}

func (n *notes) send(text []byte) error {
	n.sent = append(n.sent, string(text))
	return nil
}

// answerOf returns the answer to a message that is a request, without a transport:
// in a session that has begun, or in none.
func (n *notes) answerOf(t testing.TB, text string, inSession bool) string {
	t.Helper()
	c, err := newCore(n, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := openMessage([]byte(text))
	if err != nil {
		refused, ok := err.(*jsonrpc.Error)
		if !ok {
			t.Fatalf("openMessage(%q) = %T, want a *jsonrpc.Error", text, err)
		}
		return string(wire.AppendError(nil, m.ID, refused))
	}
	r := &request{
		Message: m, carrier: n, rounds: m.Version >= statelessSince, calls: running.New(0, 0),
		principal: sallyport.Principal{Name: "alice"},
	}
	if inSession {
		r.session = &session{id: "s", gone: make(chan struct{})}
		r.session.begin(wire.Abilities{})
	} else if !r.rounds {
		return ""
	}
	if m.ID == nil || m.Method == "" {
		return ""
	}
	ctx, cancel := context.WithCancel(t.Context())
	if m.Method == methodListen {
		cancel() // it would wait for changes
	}
	defer cancel()
	answer, _ := c.answerRequest(ctx, r, nil)
	return string(answer)
}

const newClient = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestMethodsOfTheGenerations: a method is answered in the protocols that have it
// and only there.
func TestMethodsOfTheGenerations(t *testing.T) {
	for _, tt := range []struct {
		method, params    string
		sessions, without bool
	}{
		{methodInitialize, `"protocolVersion":"2025-11-25"`, true, false}, // refused as the second one
		{methodPing, ``, true, false},
		{methodSetLevel, `"level":"info"`, true, false},
		{methodFollow, `"uri":"test://any"`, true, false},
		{methodUnfollow, `"uri":"test://any"`, true, false},
		{methodDiscover, ``, false, true},
		{methodListen, `"notifications":{"toolsListChanged":true}`, false, true},
		{methodTaskGet, `"taskId":"x"`, false, true}, // refused for another reason
		{methodTaskUpdate, `"taskId":"x"`, false, true},
		{methodTaskCancel, `"taskId":"x"`, false, true},
		{methodListTools, ``, true, true},
		{methodCallTool, `"name":"x"`, true, true},
		{methodListPrompts, ``, true, true},
		{methodGetPrompt, `"name":"x"`, true, true},
		{methodComplete, `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":""}`, true, true},
		{methodList, ``, true, true},
		{methodTemplates, ``, true, true},
		{methodRead, `"uri":"test://any"`, true, true},
		{"no/such", ``, false, false},
	} {
		ask := func(params string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, tt.method, strings.Trim(params, ","))
		}
		for _, way := range []struct {
			name, params string
			inSession    bool
			has          bool
		}{{"with sessions", tt.params, true, tt.sessions}, {"without", tt.params + "," + newClient, false, tt.without}, {"without, on a stream", tt.params + "," + newClient, true, tt.without}} {
			got := (&notes{}).answerOf(t, ask(way.params), way.inSession)
			if has := !strings.Contains(got, `"code":-32601`); has != way.has || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,`) {
				t.Errorf("%s %s was answered %s, want that the protocol has it: %v", tt.method, way.name, got, way.has)
			}
		}
	}
}

// TestKeysInAnotherCaseSayNothing: a key counts only as it is written in the
// protocol (CVE-2026-27896).
func TestKeysInAnotherCaseSayNothing(t *testing.T) {
	for _, tt := range []struct {
		params, want string
	}{
		{`"name":"a","NAME":"b","arguments":{"x":1},"Arguments":{"x":2}`, `a {"x":1}`},
		{`"name":"a","ARGUMENTS":{"x":2}`, `a `},
		{`"name":"a","Arguments":{},"argumentſ":{"x":3}`, `a `},
	} {
		n := &notes{}
		n.answerOf(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+tt.params+`}}`, true)
		if len(n.called) != 1 || n.called[0].Tool+" "+string(n.called[0].Args) != tt.want {
			t.Errorf("%s called %+v, want %s", tt.params, n.called, tt.want)
		}
	}
	for _, params := range []string{`"Name":"a"`, `"name":"a","name":"b"`, `"name":"a","n\u0061me":"b"`, `"name":"a","_meta":{"x":1,"x":2}`} {
		n := &notes{}
		if got := n.answerOf(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`}}`, true); len(n.called) != 0 || !strings.Contains(got, `"code":-32600`) {
			t.Errorf("%s called %+v and was answered %s, want a refusal", params, n.called, got)
		}
	}
}

// FuzzMessages: a request has one answer, one line of JSON with its id, and a call
// reaches the gate only under the name that the message says.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{` + newClient + `}}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"prompts/get","params":{"name":"p","arguments":{"a":"b"},` + newClient + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://any","requestState":"x","inputResponses":{"a":{"action":"accept"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt"},"argument":{"name":"a"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://any"]},` + newClient + `}}`,
		`{"jsonrpc":"2.0","id":-0,"method":"tools/call","params":{"name":"a","NAME":"b","_meta":{"progressToken":1e400}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, inSession := range []bool{false, true} {
			n := &notes{}
			answer := n.answerOf(t, text, inSession)
			for _, line := range append(n.sent, answer) {
				if line != "" && (!json.Valid([]byte(line)) || strings.ContainsAny(line, "\r\n")) {
					t.Fatalf("%q: %q is no line of JSON", text, line)
				}
			}
			m, _ := wire.Open([]byte(text)) // the id is set in an error, too
			var got struct{ ID json.RawMessage }
			if answer != "" && (json.Unmarshal([]byte(answer), &got) != nil || m.ID != nil && wire.IDKey(got.ID) != wire.IDKey(m.ID)) {
				t.Errorf("%q was answered %s, want its id", text, answer)
			}
			if name, _ := wire.DecodeString(m.In.Value("name")); len(n.called) > 0 && m.Method == methodCallTool && n.called[0].Tool != name {
				t.Errorf("%q called %q, want %q", text, n.called[0].Tool, name)
			}
		}
	})
}
