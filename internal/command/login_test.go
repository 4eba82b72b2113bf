package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// guarded is an MCP server that requires a token, together with the issuer of
// its tokens.
type guarded struct {
	server, issuer *httptest.Server

	mu      sync.Mutex
	made    int
	good    map[string]bool
	refuses bool
	// revokes is true when the issuer accepts revocations; revoked holds the
	// revoked tokens.
	revokes bool
	revoked []string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{good: map[string]bool{}}
	g.issuer = httptest.NewServer(http.HandlerFunc(g.serveIssuer))
	t.Cleanup(g.issuer.Close)
	far := mcp.NewServer(&mcp.Implementation{Name: "far"}, nil)
	mcp.AddTool(far, &mcp.Tool{Name: "token"}, func(_ context.Context, q *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you sent " + q.Extra.Header.Get("Authorization")}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return far }, &mcp.StreamableHTTPOptions{Stateless: true})
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		good := g.good[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		g.mu.Unlock()
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
			answerJSON(w, 200, map[string]any{"resource": g.server.URL + "/mcp", "authorization_servers": []string{g.issuer.URL}})
		case !good:
			w.Header().Set("WWW-Authenticate", `Bearer scope="tools:use"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(g.server.Close)
	return g
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (g *guarded) serveIssuer(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		about := map[string]any{
			"issuer": g.issuer.URL, "authorization_endpoint": g.issuer.URL + "/authorize", "token_endpoint": g.issuer.URL + "/token",
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		}
		if g.revokes {
			about["revocation_endpoint"] = g.issuer.URL + "/revoke"
		}
		answerJSON(w, 200, about)
	case "/revoke":
		g.revoked = append(g.revoked, r.FormValue("token"))
	case "/authorize":
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{
			"code": {"the-code"}, "state": {q.Get("state")}, "iss": {g.issuer.URL},
		}.Encode(), http.StatusFound)
	case "/token":
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.refuses {
			answerJSON(w, 400, map[string]any{"error": "invalid_grant", "error_description": "bad secret-refresh-token-1"})
			return
		}
		g.made++
		token := fmt.Sprintf("secret-access-token-%d", g.made)
		g.good[token] = true
		answerJSON(w, 200, map[string]any{
			"access_token": token, "refresh_token": fmt.Sprintf("secret-refresh-token-%d", g.made), "token_type": "bearer", "expires_in": 600,
		})
	default:
		http.NotFound(w, r)
	}
}

func (g *guarded) config() string {
	at := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	return `version: 1
state: sqlite:.sallyport/state.db
personalities:
  default:
    toolset: []
    mcp_servers: [far]
    safety: {network: {allow: ["` + at(g.server) + `", "` + at(g.issuer) + `"], allow_private_urls: true}, flow: {after_untrusted_private: allow}}
mcp_servers:
  far:
    url: "` + g.server.URL + `/mcp"
    oauth: {client_id: sallyport, issuer: "` + g.issuer.URL + `"}
principals:
  ann: {permissions: []}
`
}

// logsIn runs login and lets a browser open the page that it prints. It returns
// all the output.
func logsIn(t *testing.T, dir string, args ...string) (printed string, err error) {
	t.Helper()
	cmd := sallyportCommand(dir, append([]string{"login", "far"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	cmd.Stderr = &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for s := bufio.NewScanner(out); s.Scan(); {
		lines.WriteString(s.Text() + "\n")
		if page := strings.TrimSpace(s.Text()); strings.HasPrefix(page, "http://127.0.0.1:") {
			open(t, page)
		}
	}
	err = cmd.Wait()
	return lines.String() + text.String(), err
}

// open acts as a browser: it opens a page and follows its redirects.
func open(t *testing.T, page string) {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		t.Error(err)
		return
	}
	// Pages of other sites send browsers to the same address, and none ends the
	// wait.
	back := u.Query().Get("redirect_uri")
	for _, wrong := range []string{back + "?code=evil", back + "?code=evil&state=evil", strings.TrimSuffix(back, "/callback") + "/"} {
		if res, err := http.Get(wrong); err != nil || res.StatusCode < 400 {
			t.Errorf("GET %s = %v, %v, want a refusal", wrong, res, err)
		} else {
			res.Body.Close()
		}
	}
	rebound, err := http.NewRequestWithContext(t.Context(), http.MethodGet, back+"?"+url.Values{"code": {"evil"}, "state": u.Query()["state"]}.Encode(), nil)
	if err != nil {
		t.Error(err)
		return
	}
	rebound.Host = "evil.example"
	if res, err := http.DefaultClient.Do(rebound); err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("another Host = %v, %v, want 403", res, err)
	} else {
		res.Body.Close()
	}
	res, err := http.Get(page)
	if err != nil || res.StatusCode != 200 {
		t.Errorf("GET %s = %v, %v, want 200", page, res, err)
		return
	}
	res.Body.Close()
}

// TestLoginAtARemoteServer logs in, calls, lets the server refuse the token,
// and logs out. No token appears anywhere.
func TestLoginAtARemoteServer(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	dir := configured(t, g.config())
	var said strings.Builder
	call := func(args ...string) string {
		cmd := sallyportCommand(dir, append([]string{"call"}, args...)...)
		out, _ := cmd.CombinedOutput()
		said.Write(out)
		return string(out)
	}
	has(t, call("mcp__far__token"), "run sallyport login far")
	printed, err := logsIn(t, dir)
	said.WriteString(printed)
	if err != nil {
		t.Fatalf("login: %v\n%s", err, printed)
	}
	has(t, printed, "scopes   tools:use", "issuer   "+g.issuer.URL, "logged in: local may use far")
	has(t, call("mcp__far__token"), "you sent Bearer [REDACTED")
	has(t, call("--principal", "ann", "mcp__far__token"), "wants a login of ann")
	if printed, err = logsIn(t, dir, "--principal", "ann"); err != nil {
		t.Fatalf("login of ann: %v\n%s", err, printed)
	}
	said.WriteString(printed)
	has(t, call("--principal", "ann", "mcp__far__token"), "you sent Bearer [REDACTED")
	// The token expires, and its issuer does not renew it.
	g.mu.Lock()
	clear(g.good)
	g.refuses = true
	g.mu.Unlock()
	has(t, call("mcp__far__token"), "run sallyport login far")
	has(t, runSallyport(t, dir, "logout", "far", "--principal", "ann"), "logged out: ann has no tokens for far any more", "its issuer revokes no tokens")
	has(t, runSallyport(t, dir, "logout", "far", "--principal", "ann"), "ann was not logged in at far")
	said.WriteString(runSallyport(t, dir, "audit", "tail", "--json"))
	has(t, said.String(), "login-far", "login.remove")
	checkNoToken(t, dir, said.String())
}

// TestRevokeEndsLogins revokes a principal, which also ends its logins at other
// servers.
func TestRevokeEndsLogins(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	dir := configured(t, g.config())
	runSallyport(t, dir, "principals", "add", "bob")
	for _, who := range []string{"ann", "bob"} {
		if printed, err := logsIn(t, dir, "--principal", who); err != nil {
			t.Fatalf("login of %s: %v\n%s", who, err, printed)
		}
	}
	has(t, runSallyport(t, dir, "principals", "revoke", "bob"), "bob is revoked")
	has(t, runSallyport(t, dir, "logout", "far", "--principal", "bob"), "bob was not logged in at far")
	has(t, runSallyport(t, dir, "logout", "far", "--principal", "ann"), "logged out: ann has no tokens")
}

// TestLoginSaysWhatToOpenAsJSON requires two lines of output. The first one is
// enough for a program that opens pages.
func TestLoginSaysWhatToOpenAsJSON(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	dir := configured(t, g.config())
	cmd := sallyportCommand(dir, "login", "far", "--json", "--personality", "default")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(out)
	var what struct {
		URL, Host, Issuer, Redirect string
		Scopes                      []string
	}
	if err := lines.Decode(&what); err != nil {
		t.Fatal(err)
	}
	if what.Issuer != g.issuer.URL || "http://"+what.Host != g.issuer.URL || fmt.Sprint(what.Scopes) != "[tools:use]" || !strings.HasPrefix(what.Redirect, "http://127.0.0.1:") {
		t.Errorf("what to open = %+v", what)
	}
	open(t, what.URL)
	var came struct {
		LoggedIn bool `json:"logged_in"`
		Renews   bool `json:"renews"`
	}
	if err := lines.Decode(&came); err != nil || !came.LoggedIn || !came.Renews {
		t.Errorf("The terminal shows the result = %+v, %v", came, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestLogoutTellsTheIssuer logs out: the issuer is told which tokens are no
// longer used, and logout prints whether it succeeded.
func TestLogoutTellsTheIssuer(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.revokes = true
	dir := configured(t, g.config())
	if printed, err := logsIn(t, dir); err != nil {
		t.Fatalf("login: %v\n%s", err, printed)
	}
	said := runSallyport(t, dir, "logout", "far")
	has(t, said, "logged out: local has no tokens for far any more", "its issuer has revoked them")
	if got := strings.Join(g.revoked, " "); got != "secret-refresh-token-1 secret-access-token-1" {
		t.Errorf("the issuer was told of %q", got)
	}
	if printed, err := logsIn(t, dir); err != nil {
		t.Fatalf("login: %v\n%s", err, printed)
	}
	g.issuer.Close()
	lost := runSallyport(t, dir, "logout", "far", "--json")
	has(t, lost, `"logged_out":true`, `"outcome":"failed"`)
	has(t, runSallyport(t, dir, "logout", "far"), "local was not logged in at far")
	checkNoToken(t, dir, said+lost+runSallyport(t, dir, "audit", "tail", "--json"))
}

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want %q in it", text, want)
		}
	}
}

// checkNoToken searches the output and every file for tokens and codes.
func checkNoToken(t *testing.T, dir, said string) {
	t.Helper()
	texts := map[string]string{"what was printed": said}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range texts {
		for _, secret := range []string{"secret-access-token", "secret-refresh-token", "the-code"} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s holds %q: …%q…", where, secret, text[max(0, i-80):min(len(text), i+80)])
			}
		}
	}
}
