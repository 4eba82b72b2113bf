package command

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/auth"
)

// agentServer is an MCP server with the tool run, to which a gate hands tasks, and another
// one. It hands each task over to the test.
type agentServer struct {
	*httptest.Server
	work func(ctx context.Context, in handedOver, report func(string)) (string, error)
}

// handedOver is what the tool run gets.
type handedOver struct {
	Job   string   `json:"job"`
	Token string   `json:"token"`
	Gate  string   `json:"gate"`
	Calls int      `json:"calls"`
	Tools []string `json:"tools,omitempty"`
}

func newAgentServer(t *testing.T) *agentServer {
	a := &agentServer{}
	server := mcp.NewServer(&mcp.Implementation{Name: "agents", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "run", Description: "Works."}, func(ctx context.Context, r *mcp.CallToolRequest, in handedOver) (*mcp.CallToolResult, any, error) {
		text, err := a.work(ctx, in, func(message string) {
			if token := r.Params.GetProgressToken(); token != nil {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: message})
			}
		})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "reset"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	a.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(a.Close)
	return a
}

// serveServerTasks serves a gate whose tasks go to a tool of an MCP server.
func serveServerTasks(t *testing.T, a *agentServer, more string) (s *service, dir string) {
	t.Helper()
	host := strings.TrimPrefix(a.URL, "http://")
	dir = configured(t, `version: 2
state: sqlite:.sallyport/state.db
mcp_servers: {agents: {url: "`+a.URL+`"}}
personalities:
  worker: {toolset: [task, echo], safety: {network: {allow: ["`+host+`"], allow_private: ["`+host+`"]}}}
  closed: {toolset: [task], safety: {network: {allow: []}}}
  other: {toolset: [hidden]}
principals:
  ann: {token_sha256: `+auth.HashToken(tokenOf("ann"))+`, personalities: [worker, closed, other]}
actions:
  - {id: echo, parameters: {n: {type: integer}}, handler: {exec: {command: [cat]}}}
  - {id: hidden, handler: {exec: {command: [cat]}}}
task:
  calls: 4
  runner:
    timeout: 1m
    mcp: {server: agents, tool: run, arguments: {job: "Do: {prompt}", token: "{credential}", gate: "https://gate.example.com/mcp", calls: "{max_calls}", tools: "{tools}"}}
`+more)
	return serveHTTP(t, dir, "--personality", "worker"), dir
}

// The tool of a server gets what the configuration says, calls back with its credential for
// as long as its task runs, and answers what no model need believe.
func TestAToolOfAServerWorksOnATask(t *testing.T) {
	t.Parallel()
	agent := newAgentServer(t)
	s, dir := serveServerTasks(t, agent, "")
	defer s.stop(t)
	var kept string
	agent.work = func(_ context.Context, in handedOver, report func(string)) (string, error) {
		kept = in.Token
		if in.Job != "Do: p" || in.Gate != "https://gate.example.com/mcp" || in.Calls != 4 || !slices.Equal(in.Tools, []string{"echo", "hidden"}) || !strings.HasPrefix(in.Token, "sallyport_task_") {
			t.Errorf("it gets %+v", in)
		}
		report("I work with " + in.Token)
		c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
		session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(in.Token)}}, nil)
		if err != nil {
			return "", err
		}
		defer session.Close()
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "echo" {
			t.Errorf("it sees %+v, %v, want echo alone", list, err)
		}
		for i, tool := range []string{"echo", "hidden", "task", "mcp__agents__run", "echo"} {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
			if err != nil || r.IsError != (i > 0) {
				t.Errorf("call %d, of %s: %+v, %v", i, tool, r, err)
			}
		}
		return "I have " + in.Token, nil
	}
	var told strings.Builder
	session := connectAs(t, s, "ann", func(message string) { told.WriteString(message) })
	r, err := session.CallTool(t.Context(), withProgress(&mcp.CallToolParams{Name: "task", Arguments: map[string]any{"prompt": "p", "tools": []string{"echo", "hidden"}}}))
	if err != nil || r.IsError || kept == "" {
		t.Fatalf("the task: %+v, %v", r, err)
	}
	text := fmt.Sprint(r.Content[0].(*mcp.TextContent).Text)
	if strings.Contains(text, kept) || !strings.Contains(text, "I have [credential]") || !strings.HasPrefix(text, "<untrusted ") {
		t.Errorf("it answers %q, want it untrusted, without the credential", text)
	}
	session.Close()
	if strings.Contains(told.String(), kept) {
		t.Errorf("the person was told %q", told.String())
	}
	if a, _ := execute(t.Context(), http.DefaultClient, s.url, kept, "echo", `{"params":{}}`); a.Status != http.StatusUnauthorized {
		t.Errorf("after its task: %+v, want 401", a)
	}
	chained := 0
	for _, r := range records(t, dir) {
		if text := fmt.Sprintf("%+v", r); strings.Contains(text, kept) {
			t.Errorf("a record holds the credential: %s", text)
		}
		if r.DelegatedBy != "" {
			chained++
		}
	}
	if chained < 5 {
		t.Errorf("%d records name the task, want each call's", chained)
	}
}

// The server stays behind the role: what the role does not reach, no task reaches, and its
// tools are none of the role's. A task ends with its call.
func TestAToolOfAServerStaysBehindTheRole(t *testing.T) {
	t.Parallel()
	agent := newAgentServer(t)
	ended := make(chan struct{})
	agent.work = func(ctx context.Context, in handedOver, _ func(string)) (string, error) {
		if in.Job == "Do: fail" {
			return "", fmt.Errorf("no work for %s", in.Token)
		}
		<-ctx.Done()
		close(ended)
		return "too late", nil
	}
	s, _ := serveServerTasks(t, agent, "")
	defer s.stop(t)
	for _, tool := range []string{"mcp__agents__run", "mcp__agents__reset"} {
		if a := s.action(t, "ann", tool, `{}`); a.Success {
			t.Errorf("%s = %+v, want it hidden", tool, a)
		}
	}
	if a, err := execute(t.Context(), http.DefaultClient, s.url, tokenOf("ann"), "task", `{"params":{"prompt":"p"},"personality":"closed"}`); err != nil || a.Success {
		t.Errorf("in a role without the host: %+v, %v", a, err)
	}
	if a := s.action(t, "ann", "task", `{"prompt":"fail"}`); a.Success || !strings.Contains(fmt.Sprintf("%+v", a), "no work for [credential]") {
		t.Errorf("a task that fails: %+v", a)
	}
	if a := s.action(t, "ann", "task", `{"prompt":"p","max_seconds":3}`); a.Success {
		t.Errorf("a task that is too slow: %+v", a)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the work goes on after the end of its task")
	}
}

// connectAs connects a client of a principal, which is told of progress.
func connectAs(t *testing.T, s *service, principal string, told func(string)) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told(r.Params.Message) },
	})
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(tokenOf(principal))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func withProgress(p *mcp.CallToolParams) *mcp.CallToolParams {
	p.SetProgressToken("one")
	return p
}
