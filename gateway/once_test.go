package gateway_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
)

// TestAnAnswerInASessionSaysOneThing: an ambiguous answer decides nothing, and
// the server does not answer it as if it were the client's request.
func TestAnAnswerInASessionSaysOneThing(t *testing.T) {
	d := newDesk(t, nil)
	s, _ := d.stdio(t)
	r := bufio.NewReader(s.out)
	line := func(want string) string {
		t.Helper()
		text, err := r.ReadString('\n')
		if err != nil || !strings.Contains(text, want) {
			t.Fatalf("line = %.300s, %v, want %s", text, err, want)
		}
		return text
	}
	send(t, s.in, asksHello)
	line(`"id":0`)
	send(t, s.in, callLine(1, "held", `{}`))
	id := questionID.FindStringSubmatch(line(`"elicitation/create"`))[1]
	for _, result := range []string{
		`{"action":"decline","action":"accept","content":{"approve":true}}`,
		`{"action":"decline","Action":"accept","content":{"approve":true}}`,
		`{"action":"accept","content":{"approve":false,"approve":true}}`,
		`{"action":"accept","content":{"approve":true,"more":"` + strings.Repeat("x", 64<<10) + `"}}`,
	} {
		send(t, s.in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result))
		line(`"id":null`)
	}
	if got := d.decisions(); got != nil || d.ran.Load() != 0 {
		t.Errorf("decisions = %v and %d runs, want none", got, d.ran.Load())
	}
	send(t, s.in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":true}}}`+"\n", id))
	line("ran with")
	s.in.Close()
	<-s.done
}

// TestWhatIsKeptIsShort: a session and a stream of changes keep their first
// message.
func TestWhatIsKeptIsShort(t *testing.T) {
	k := newKit(t)
	url := k.site(t).URL + "/mcp"
	long := strings.Repeat("x", 64<<10)
	a := &asker{t: t, url: url}
	res := a.post("alice", strings.Replace(hello, `"name":"test"`, `"name":"`+long+`"`, 1))
	if got := res.Header.Get("Mcp-Session-Id"); res.StatusCode != 400 || got != "" {
		t.Errorf("a long initialize was answered %d with the session %q, want 400 and none", res.StatusCode, got)
	}
	s, _ := k.stdio(t)
	r := bufio.NewReader(s.out)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","more":"` + long + `","params":{"notifications":{"toolsListChanged":true}}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["` + long + `"]}}}` + "\n",
		strings.Replace(hello, `"name":"test"`, `"name":"`+long+`"`, 1),
	} {
		send(t, s.in, body)
		if got, err := r.ReadString('\n'); err != nil || !strings.Contains(got, "longer than 65536 bytes") {
			t.Errorf("answered %.300s, %v, want that it is too long", got, err)
		}
	}
	s.in.Close()
	<-s.done
}
