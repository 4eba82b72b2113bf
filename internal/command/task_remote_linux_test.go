package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/auth"
)

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// remoteAgent is a service to which a gate hands tasks. It hands each over to the test.
type remoteAgent struct {
	*httptest.Server
	// work gets the context of the request, which ends when the gate goes.
	work func(ctx context.Context, credential string) string
}

func newRemoteAgent(t *testing.T) *remoteAgent {
	a := &remoteAgent{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Credential string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"said": a.work(r.Context(), in.Credential)})
	}))
	t.Cleanup(a.Close)
	return a
}

// serveRemoteTasks serves a gate whose tasks go to a service.
func serveRemoteTasks(t *testing.T, a *remoteAgent) (s *service, dir string) {
	t.Helper()
	host := strings.TrimPrefix(a.URL, "http://")
	dir = configured(t, `version: 2
state: sqlite:.sallyport/state.db
personalities:
  worker: {toolset: [task, echo], safety: {network: {allow: ["`+host+`"], allow_private: ["`+host+`"]}}}
  other: {toolset: [hidden]}
principals:
  ann: {token_sha256: `+auth.HashToken(tokenOf("ann"))+`, personalities: [worker, other]}
actions:
  - {id: echo, parameters: {n: {type: integer}}, handler: {exec: {command: [cat]}}}
  - {id: hidden, handler: {exec: {command: [cat]}}}
task:
  runner: {handler: {http: {url: "http://`+host+`/run", body: {prompt: "{prompt}", credential: "{credential}"}}}, capabilities: {network: {allowedHosts: ["`+host+`"]}}}
`)
	return serveHTTP(t, dir, "--personality", "worker"), dir
}

// A service calls back with its credential, over MCP and the JSON API, for as long as its
// task runs and as its task alone.
func TestARemoteSubAgentCallsBack(t *testing.T) {
	t.Parallel()
	agent := newRemoteAgent(t)
	s, dir := serveRemoteTasks(t, agent)
	defer s.stop(t)
	var kept string
	agent.work = func(_ context.Context, credential string) string {
		kept = credential
		c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
		session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(credential)}}, nil)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer session.Close()
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "echo" {
			t.Errorf("it sees %+v, %v, want echo alone", list, err)
		}
		for tool, refused := range map[string]bool{"echo": false, "hidden": true, "task": true} {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
			if err != nil || r.IsError != refused {
				t.Errorf("it calls %s: %+v, %v, want refused to be %v", tool, r, err, refused)
			}
		}
		// Neither another role of its principal nor a link of its own making helps.
		a, err := execute(t.Context(), http.DefaultClient, s.url, credential, "hidden", `{"params":{},"personality":"other"}`)
		if err != nil || a.Success {
			t.Errorf("in another role: %+v, %v", a, err)
		}
		if a, _ := execute(t.Context(), http.DefaultClient, s.url, credential[:len(credential)-1], "echo", `{"params":{}}`); a.Status != http.StatusUnauthorized {
			t.Errorf("with a changed credential: %+v, want 401", a)
		}
		return "I have " + credential
	}
	a := s.action(t, "ann", "task", `{"prompt":"p","tools":["echo","hidden"]}`)
	if !a.Success || strings.Contains(string(a.Data), "sallyport_task_") || kept == "" {
		t.Errorf("the task: %+v", a)
	}
	if a, _ := execute(t.Context(), http.DefaultClient, s.url, kept, "echo", `{"params":{}}`); a.Status != http.StatusUnauthorized {
		t.Errorf("after its task: %+v, want 401", a)
	}
	chained := 0
	for _, r := range records(t, dir) {
		if text := fmt.Sprintf("%+v", r); strings.Contains(text, kept) {
			t.Errorf("a record holds the credential: %s", text)
		}
		if r.DelegatedBy == a.CallID && r.Principal == "ann" {
			chained++
		}
	}
	if chained < 4 {
		t.Errorf("%d records name the task, want each call's", chained)
	}
}

// The credential of a task ends with its principal, and in no other process does it count.
func TestARemoteSubAgentEndsWithItsPrincipal(t *testing.T) {
	t.Parallel()
	agent := newRemoteAgent(t)
	s, dir := serveRemoteTasks(t, agent)
	defer s.stop(t)
	agent.work = func(ctx context.Context, credential string) string {
		second := serveHTTP(t, dir, "--personality", "worker")
		if a, _ := execute(t.Context(), http.DefaultClient, second.url, credential, "echo", `{"params":{}}`); a.Status != http.StatusUnauthorized {
			t.Errorf("at another process on the same state: %+v, want 401", a)
		}
		second.stop(t)
		runSallyport(t, dir, "principals", "stop", "ann")
		if a, _ := execute(t.Context(), http.DefaultClient, s.url, credential, "echo", `{"params":{}}`); a.Success {
			t.Errorf("after its principal was stopped: %+v", a)
		}
		<-ctx.Done()
		return "too late"
	}
	if a := s.action(t, "ann", "task", `{"prompt":"p"}`); a.Success {
		t.Errorf("the task of a stopped principal: %+v", a)
	}
}
