package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/gateway"
)

// asker is a session over HTTP whose client can be asked.
type asker struct {
	t       *testing.T
	url     string
	session string
}

// post sends a message of the session as a principal.
func (a *asker) post(as, body string) *http.Response {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if a.session != "" {
		r.Header.Set("Mcp-Session-Id", a.session)
	}
	res, err := client(a.t, as).Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { res.Body.Close() })
	return res
}

var questionID = regexp.MustCompile(`"id":(\d+),"method":"elicitation/create"`)

// TestOnlyTheSessionsPrincipalAnswers: only the principal that was asked can
// answer, and only in the same session.
func TestOnlyTheSessionsPrincipalAnswers(t *testing.T) {
	d := newDesk(t, nil)
	url := d.site(t).URL + "/mcp"
	alice := &asker{t: t, url: url}
	alice.session = alice.post("alice", asksHello).Header.Get("Mcp-Session-Id")
	bob := &asker{t: t, url: url}
	bob.session = bob.post("bob", asksHello).Header.Get("Mcp-Session-Id")

	stream := bufio.NewReader(alice.post("alice", callLine(1, "held", `{}`)).Body)
	next := func() string {
		for {
			line, err := stream.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				return data
			}
		}
	}
	asked := questionID.FindStringSubmatch(next())
	if asked == nil {
		t.Fatal("no one was asked")
	}
	answer := func(action string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q,"content":{"approve":true}}}`, asked[1], action)
	}
	if res := alice.post("bob", answer("accept")); res.StatusCode != http.StatusForbidden {
		t.Errorf("bob in the session of alice: status %d, want 403", res.StatusCode)
	}
	// Bob's own session has no such question.
	bob.post("bob", answer("accept"))
	(&asker{t: t, url: url}).post("bob", answer("accept"))
	if got := d.decisions(); got != nil || d.ran.Load() != 0 {
		t.Fatalf("decisions = %v and %d runs, want none", got, d.ran.Load())
	}
	alice.post("alice", answer("decline"))
	if got := next(); !strings.Contains(got, `"approval_denied"`) {
		t.Errorf("the call was answered %s, want approval_denied", got)
	}
	if got := d.decisions(); len(got) != 1 || got[0].By != "client:alice" || got[0].Approve {
		t.Errorf("decisions = %v, want one denial by alice's client", got)
	}
}

// TestTheEndOfTheServerWaitsForNoPerson: at shutdown a call with an open
// question stays held at once.
func TestTheEndOfTheServerWaitsForNoPerson(t *testing.T) {
	d := newDesk(t, nil)
	a := &asker{t: t, url: d.site(t).URL + "/mcp"}
	a.session = a.post("alice", asksHello).Header.Get("Mcp-Session-Id")
	stream := bufio.NewReader(a.post("alice", callLine(1, "held", `{}`)).Body)
	if asked := data(t, stream); !questionID.MatchString(asked) {
		t.Fatalf("got %s, want a question", asked)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Shutdown(t.Context()) }()
	for got := data(t, stream); !strings.Contains(got, `"approval_required"`); got = data(t, stream) {
		if !strings.Contains(got, `"notifications/cancelled"`) {
			t.Fatalf("the call was answered %s, want approval_required", got)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("Shutdown() = %v", err)
	}
}

// TestASessionsAbilitiesAreThoseOfItsBeginning: a later request of the session
// does not change them, on either path.
func TestASessionsAbilitiesAreThoseOfItsBeginning(t *testing.T) {
	for _, begin := range []string{hello, asksHello} {
		server, err := gateway.New(&mayAsk{}, &gateway.Options{Desk: newDesk(t, nil)})
		if err != nil {
			t.Fatal(err)
		}
		a := &asker{t: t, url: (&kit{Server: server}).site(t).URL + "/mcp"}
		a.session = a.post("alice", begin).Header.Get("Mcp-Session-Id")
		for _, able := range []string{`{"elicitation":{}}`, `{}`} {
			for _, more := range []string{"", `,"progressToken":1`} {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any","arguments":{},"_meta":{"io.modelcontextprotocol/clientCapabilities":%s%s}}}`, able, more)
				text, err := io.ReadAll(a.post("alice", body).Body)
				if want := fmt.Sprintf(`"text":"%v"`, begin == asksHello); err != nil || !strings.Contains(string(text), want) {
					t.Errorf("the abilities %s%s were answered %s, %v, want %s", able, more, text, err, want)
				}
			}
		}
	}
}
