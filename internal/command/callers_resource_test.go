package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/auth"
)

// farServer is an MCP server on the loopback interface that remembers its
// requests.
type farServer struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
}

func newFarServer(t *testing.T) *farServer {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "far"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
	})
	f := &farServer{}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.headers = append(f.headers, r.Header.Clone())
		f.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// resourceText returns a configuration with a provider and a far server.
func resourceText(p *provider, far string) string {
	return `version: 1
state: sqlite:.sallyport/state.db
personalities:
  reader: {toolset: [look], mcp_servers: [far], safety: {network: {allow: ["` + strings.TrimPrefix(far, "http://") + `"], allow_private_urls: true}}}
security:
  oidc: {issuer: "` + p.URL + `", audience: sallyport, permissions_claim: scope, personalities: [reader]}
mcp_servers:
  far: {url: "` + far + `"}
actions:
  - {id: look, permissions: ["file:read"], parameters: {}, handler: {http: {url: "http://127.0.0.1:9/"}}}
`
}

// TestCVE_2026_13341_TokensAreForThisServer follows the steps of a client
// without a token: the challenge, the document to which it leads, the issuer. A
// token of that issuer for another audience is not accepted.
func TestCVE_2026_13341_TokensAreForThisServer(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	dir := configured(t, issuedText(p, "", "reader"))
	s := serveWatched(t, dir, "--personality", "reader")
	base, mcp := s.url, s.url+"/mcp"
	res, err := http.Post(mcp, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, at, ok := strings.Cut(res.Header.Get("WWW-Authenticate"), `resource_metadata="`)
	if at = strings.TrimSuffix(at, `"`); res.StatusCode != 401 || !ok || at != base+auth.MetadataPath+"/mcp" {
		t.Fatalf("without a token = %d %q, want 401 and the place of the metadata", res.StatusCode, res.Header.Get("WWW-Authenticate"))
	}
	doc, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Body.Close()
	var got struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
	}
	if err := json.NewDecoder(doc.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Resource != mcp || fmt.Sprint(got.Servers) != "["+p.URL+"]" || fmt.Sprint(got.Scopes) != "[browser:evaluate file:read http:read]" {
		t.Errorf("metadata = %+v, want the resource %s, the issuer %s and the permission", got, mcp, p.URL)
	}
	s.wants(t, p.claim(t, map[string]any{"aud": "another-audience", "scope": "file:read"}), "look", `{}`, 401)
	s.wants(t, p.claim(t, map[string]any{"scope": "file:read"}), "look", `{}`, 401)
	s.wants(t, p.claim(t, map[string]any{"aud": []string{"x", "sallyport"}, "scope": "file:read"}), "look", `{}`, 502)
	s.stop(t)
}

// claim returns a token with these claims beside the usual ones.
func (p *provider) claim(t *testing.T, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": p.URL, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
	for name, v := range claims {
		all[name] = v
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return p.sign(t, text)
}

// TestTH_6235_CVE_2026_13341_TheCallersTokenStaysHere calls a tool of a far
// server with the token of an issuer, and with a cookie beside it.
func TestTH_6235_CVE_2026_13341_TheCallersTokenStaysHere(t *testing.T) {
	t.Parallel()
	p, far := newProvider(t), newFarServer(t)
	dir := configured(t, resourceText(p, far.URL))
	s := serveWatched(t, dir, "--personality", "reader")
	token := p.token(t, "alice", "")
	status, body := s.request(t, "POST", "/v1/actions/mcp__far__hello/execute", `{"params":{}}`, map[string]string{
		"Content-Type": "application/json", "Authorization": "Bearer " + token, "Cookie": "session=of-the-caller", "X-Api-Key": "of-the-caller",
	})
	if status != 200 || !strings.Contains(body, "hello") {
		t.Fatalf("the call = %d %s, want hello", status, body)
	}
	far.mu.Lock()
	defer far.mu.Unlock()
	for _, h := range far.headers {
		if text := fmt.Sprint(h); strings.Contains(text, token) || strings.Contains(text, "of-the-caller") || h.Get("Authorization") != "" {
			t.Errorf("the far server was sent %s, want nothing of the caller's", text)
		}
	}
	s.stop(t)
}
