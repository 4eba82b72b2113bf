package gateway_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
)

// data returns the next piece of a stream of events.
func data(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			return text
		}
	}
}

// TestAnAnswerIsOfWhoAsked: an answer in a session decides nothing if the
// rights of its principal have changed since the question.
func TestAnAnswerIsOfWhoAsked(t *testing.T) {
	known := tokens{
		"alice": {Name: "alice", Person: true, Permissions: []string{"p"}}, "less": {Name: "alice", Person: true},
		"elsewhere": {Name: "alice", Person: true, Permissions: []string{"p"}, Personalities: []string{"other"}},
		"program":   {Name: "alice", Permissions: []string{"p"}},
	}
	for token, want := range map[string]string{
		"alice": "ran with", "less": `"approval_required"`, "elsewhere": `"approval_required"`, "program": `"approval_required"`,
	} {
		d := newDesk(t, nil)
		a := &asker{t: t, url: d.siteOf(t, known).URL + "/mcp"}
		a.session = a.post("alice", asksHello).Header.Get("Mcp-Session-Id")
		stream := bufio.NewReader(a.post("alice", callLine(1, "held", `{}`)).Body)
		asked := questionID.FindStringSubmatch(data(t, stream))
		if asked == nil {
			t.Fatal("no one was asked")
		}
		a.post(token, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":true}}}`, asked[1]))
		if got := data(t, stream); !strings.Contains(got, want) {
			t.Errorf("answered with the token %s, the call was answered %s, want %s", token, got, want)
		}
		if decided := len(d.decisions()) == 1; decided != (token == "alice") {
			t.Errorf("answered with the token %s, decided = %v", token, decided)
		}
	}
}

// TestAnAnswerCountsUnderTheRulesOfTheMoment, in a session too.
func TestAnAnswerCountsUnderTheRulesOfTheMoment(t *testing.T) {
	for name, change := range map[string]func(*desk, *sallyport.Principal){
		"nothing":       func(*desk, *sallyport.Principal) {},
		"only operator": func(d *desk, _ *sallyport.Principal) { d.role.Approvals.OperatorOnly = true },
		"permissions":   func(_ *desk, p *sallyport.Principal) { p.Permissions = nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			p := sallyport.Principal{Name: sallyport.LocalPrincipal, Person: true, Permissions: []string{"p"}}
			var err error
			if d.Server, err = gateway.New(d.registry, &gateway.Options{
				Personality: "role", Desk: d, Principal: func() sallyport.Principal { return p },
			}); err != nil {
				t.Fatal(err)
			}
			s, _ := d.stdio(t)
			r := bufio.NewReader(s.out)
			line := func() string {
				text, err := r.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			send(t, s.in, asksHello)
			line()
			send(t, s.in, callLine(1, "held", `{}`))
			asked := questionID.FindStringSubmatch(line())
			if asked == nil {
				t.Fatal("no one was asked")
			}
			change(d, &p)
			send(t, s.in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":true}}}`+"\n", asked[1]))
			ran := strings.Contains(line(), "ran with")
			if want := name == "nothing"; ran != want || (d.decisions() != nil) != want {
				t.Errorf("it ran = %v, want %v", ran, want)
			}
			s.in.Close()
			<-s.done
		})
	}
}
