package page_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// token makes a principal with permissions and roles, and returns its token.
func (s *server) token(t *testing.T, name string, permissions, roles []string) string {
	t.Helper()
	token, err := s.rt.Callers.Add(t.Context(), auth.Record{Name: name, Permissions: permissions, Personalities: roles})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// ask sends a request to the API with a token.
func (s *server) ask(t *testing.T, token, method, path, body string) (status int, answer map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	status, text := readAnswer(t, res)
	_ = json.Unmarshal([]byte(text), &answer) // nil is reported by those who look
	return status, answer
}

var decides = []string{"approvals:decide"}

func TestAProgramDecides(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	token := s.token(t, "oncall", decides, []string{})
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	status, list := s.ask(t, token, "GET", "/v1/approvals", "")
	if held, ok := list["approvals"].([]any); status != 200 || !ok || len(held) != 1 {
		t.Fatalf("the list = %d %v, want one held call", status, list)
	}
	_, one := s.ask(t, token, "GET", "/v1/approvals/"+id, "")
	shown, _ := one["shown"].(map[string]any)
	once, _ := shown["once"].(string)
	for body, want := range map[string]int{
		`{"answer":"once"}`:  409,
		`{"answer":"maybe"}`: 409,
		`{"answer":"refuse","answer":"once","shown":"` + once + `"}`: 400,
		`{"answer":"once","shown":"` + once + `","by":"x"}`:          400,
		`{"answer":1}`:           400,
		`[]`:                     400,
		`{"answer":"refuse"} {}`: 400,
		``:                       400,
	} {
		status, answer := s.ask(t, token, "POST", "/v1/approvals/"+id, body)
		if why, _ := answer["error"].(string); status != want || strings.Contains(why, `"shown" is missing`) != (body == `{"answer":"once"}`) {
			t.Errorf("%s = %d %v, want %d", body, status, answer, want)
		}
	}
	waited := make(chan map[string]any)
	go func() {
		_, answer := s.ask(t, token, "GET", "/v1/approvals/"+id+"?wait=30", "")
		waited <- answer
	}()
	status, answer := s.ask(t, token, "POST", "/v1/approvals/"+id, `{"answer":"once","shown":"`+once+`","reason":"as agreed"}`)
	if status != 200 || answer["state"] != "approved" || answer["decided_by"] != "oncall" {
		t.Errorf("deciding = %d %v", status, answer)
	}
	if answer := <-waited; answer["state"] != "approved" {
		t.Errorf("waiting ended with %v", answer)
	}
	if res := s.call(t, "bob", "s1", "write_file", `{"path":"a.txt","content":"x"}`); !res.OK {
		t.Errorf("the approved call does not run: %s", res.Error)
	}
	if status, _ := s.ask(t, token, "GET", "/v1/approvals/none", ""); status != 404 {
		t.Errorf("an unknown id = %d, want 404", status)
	}
	if status, _ := s.ask(t, token, "GET", "/v1/approvals/"+id+"?wait=x", ""); status != 400 {
		t.Errorf("a bad wait = %d, want 400", status)
	}
}

// TestATokenThatCallsToolsDecidesNothing: neither a role beside the permission nor no list of
// roles lets a token decide, and a token that decides calls nothing.
func TestATokenThatCallsToolsDecidesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	for name, token := range map[string]string{
		"with a role":            s.token(t, "both", decides, []string{"default"}),
		"with any role":          s.token(t, "any", decides, nil),
		"without the permission": s.token(t, "reader", []string{"page:read"}, []string{}),
	} {
		for _, request := range [][2]string{{"GET", "/v1/approvals"}, {"GET", "/v1/approvals/" + id}, {"GET", "/v1/approvals/events"}, {"POST", "/v1/approvals/" + id}} {
			if status, answer := s.ask(t, token, request[0], request[1], `{"answer":"refuse"}`); status != 403 {
				t.Errorf("a token %s: %s %s = %d %v, want 403", name, request[0], request[1], status, answer)
			}
		}
	}
	if a, err := s.rt.Approvals.Get(t.Context(), id); err != nil || a.State != sallyport.ApprovalPending {
		t.Errorf("the held call is %s, %v", a.State, err)
	}
	decider := s.token(t, "oncall", decides, []string{})
	if status, answer := s.ask(t, decider, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"README.md"}}`); status == 200 {
		t.Errorf("a token that decides calls a tool: %v", answer)
	}
}

// TestWhoWasStoppedDecidesNothing, at once, and stays out when everything is stopped, too.
// A person who was not stopped stays in then, to start it again.
func TestWhoWasStoppedDecidesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	token := s.token(t, "oncall", decides, []string{})
	ann, ben := s.signIn(t, "ann", false), s.signIn(t, "ben", false)
	for _, name := range []string{"oncall", "page:ann"} {
		if err := s.rt.Switches.Stop(t.Context(), auth.SwitchPrincipal, name, "left"); err != nil {
			t.Fatal(err)
		}
	}
	if status, _ := s.ask(t, token, "GET", "/v1/approvals", ""); status != 403 {
		t.Errorf("a program that was stopped gets %d", status)
	}
	if err := s.rt.Switches.Stop(t.Context(), auth.SwitchEverything, auth.Everything, "all"); err != nil {
		t.Fatal(err)
	}
	if status, _ := ann.get("/page/health"); status != 401 {
		t.Errorf("a person who was stopped gets %d", status)
	}
	if status, _ := ben.get("/page/health"); status != 200 {
		t.Errorf("a person who was not stopped gets %d", status)
	}
}

// TestTheEventsSayWhatWaits reads the stream until a held call appears in it.
func TestTheEventsSayWhatWaits(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/v1/approvals/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token(t, "oncall", decides, []string{}))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	held := false
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"waiting":1`) {
			return
		}
		if !held && strings.Contains(lines.Text(), `"waiting":0`) {
			s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
			held = true
		}
	}
	t.Errorf("the events did not say that a call waits: %v", lines.Err())
}
