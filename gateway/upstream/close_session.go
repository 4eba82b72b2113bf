package upstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sallyport/sallyport"
)

// closeSessionWait bounds how long it may take to tell a server that a session is
// over. Only the end of the program waits for its answer.
const closeSessionWait = 3 * time.Second

// CloseSessionName is the name of the tool that tells a remote server that a
// session is over.
func CloseSessionName(server string) string { return "end-session-" + server }

// CloseSessionTools returns a tool for each remote server that may have sessions, which
// tells the server that a session is over. The gate of [Mounts.Discovery] runs
// them when [Options.CloseSession] calls them. By then the last call of the session
// has ended, and no request may be sent without a call.
func (m *Mounts) CloseSessionTools() (tools []sallyport.Tool) {
	for _, s := range m.servers {
		if !s.usesPosts() {
			continue
		}
		t := s.newOperatorTool(CloseSessionName(s.Name), "Tells the MCP server "+s.Name+" that a session is over.", closeSessionWait)
		t.Schema = json.RawMessage(`{"type":"object","properties":{"connection":{"type":"string"}},"required":["connection"],"additionalProperties":false}`)
		t.Run = s.deleteSession
		tools = append(tools, t)
	}
	return tools
}

// deleteSession ends the session of a closing connection with the tokens of its
// principal.
func (s *mountedServer) deleteSession(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	var in struct {
		Connection string `json:"connection"`
	}
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return sallyport.Result{}, err
	}
	s.mu.Lock()
	l := s.leaving[in.Connection]
	s.mu.Unlock()
	if l == nil {
		return sallyport.Result{}, sallyport.InputInvalid("no such connection is leaving")
	}
	own := *c
	own.Principal.Name = l.key.principal
	ctx, e := withCall(ctx, &own)
	defer e.releaseAll(s.m.memory)
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.URL, nil)
	if err != nil {
		return sallyport.Result{}, err
	}
	r.Header.Set("Mcp-Session-Id", l.session.ID())
	resp, err := roundTripper{l}.RoundTrip(r)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer resp.Body.Close()
	// A server that does not let clients end sessions answers 405.
	return sallyport.OK("told, and answered " + http.StatusText(resp.StatusCode)), nil
}

// closeSession tells the server that the session of a connection is over.
func (s *mountedServer) closeSession(l *connLink) {
	if s.m.o.CloseSession == nil || !s.usesPosts() || l.err != nil || l.session.ID() == "" {
		return
	}
	name := rand.Text()
	args, err := json.Marshal(map[string]string{"connection": name})
	if err != nil {
		return
	}
	s.mu.Lock()
	s.leaving[name] = l
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeSessionWait)
	defer cancel()
	s.m.o.CloseSession(ctx, s.Name, l.key.personality, args)
	s.mu.Lock()
	delete(s.leaving, name)
	s.mu.Unlock()
}
