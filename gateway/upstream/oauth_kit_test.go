package upstream_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/registry"
)

// issuing is an authorization server and, apart from it, the MCP server that it
// guards. What a test changes about them is a field.
type issuing struct {
	t        testing.TB
	issuer   *httptest.Server
	resource *httptest.Server

	mu sync.Mutex
	// metadata and described are laid over the documents of the two.
	metadata, described map[string]any
	// at answers a path of the issuer instead of it, on one of the server.
	at, on map[string]http.HandlerFunc
	// wants are the scopes that calls need.
	wants []string
	// answer is laid over the issuer's answer with a code.
	answer url.Values
	// token is laid over the issuer's tokens; refuses is the code with which
	// it refuses.
	token   map[string]any
	refuses string

	made     int
	good     map[string][]string // access tokens and what they are for
	renews   map[string]bool     // refresh tokens that are good
	codes    map[string]url.Values
	requests []url.Values // of tokens
	asked    []url.Values // of consent
	headers  []http.Header
	urls     []string
}

func newIssuing(t testing.TB) *issuing {
	t.Helper()
	i := &issuing{
		t: t, metadata: map[string]any{}, described: map[string]any{}, at: map[string]http.HandlerFunc{}, on: map[string]http.HandlerFunc{},
		good: map[string][]string{}, renews: map[string]bool{}, codes: map[string]url.Values{},
	}
	i.issuer = httptest.NewServer(http.HandlerFunc(i.serveIssuer))
	t.Cleanup(i.issuer.Close)
	server := mcp.NewServer(&mcp.Implementation{Name: "far"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, q *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		text := a.Text + " " + q.Extra.Header.Get("Authorization")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	i.resource = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { i.serveResource(w, r, h) }))
	t.Cleanup(i.resource.Close)
	return i
}

// do changes something.
func (i *issuing) do(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuing) serveIssuer(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.urls = append(i.urls, r.URL.String())
	other := i.at[r.URL.Path]
	i.mu.Unlock()
	switch {
	case other != nil:
		other(w, r)
	case r.URL.Path == "/.well-known/oauth-authorization-server":
		write(w, 200, over(map[string]any{
			"issuer": i.issuer.URL, "authorization_endpoint": i.issuer.URL + "/authorize", "token_endpoint": i.issuer.URL + "/token",
			"code_challenge_methods_supported": []string{"S256"},
		}, i.metadata))
	case r.URL.Path == "/authorize":
		i.serveConsent(w, r)
	case r.URL.Path == "/token":
		i.serveToken(w, r)
	default:
		http.NotFound(w, r)
	}
}

// serveConsent consents at once and sends the person back.
func (i *issuing) serveConsent(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := r.URL.Query()
	i.asked = append(i.asked, q)
	i.made++
	code := fmt.Sprintf("the-code-number-%d", i.made)
	i.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	for key, v := range i.answer {
		if back[key] = v; v == nil {
			delete(back, key)
		}
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// serveToken makes tokens for codes, refresh tokens and clients.
func (i *issuing) serveToken(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	i.mu.Lock()
	defer i.mu.Unlock()
	q := r.PostForm
	q.Set("authorization", r.Header.Get("Authorization"))
	i.requests = append(i.requests, q)
	asked, known := i.codes[q.Get("code")]
	scope := q.Get("scope")
	switch q.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(q.Get("code_verifier")))
		known = known && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) &&
			asked.Get("redirect_uri") == q.Get("redirect_uri") && asked.Get("resource") == q.Get("resource")
		delete(i.codes, q.Get("code"))
		scope = asked.Get("scope")
	case "refresh_token":
		known = i.renews[q.Get("refresh_token")]
		delete(i.renews, q.Get("refresh_token"))
	default:
		known = true
	}
	if i.refuses != "" || !known {
		code := i.refuses
		if code == "" {
			code = "invalid_grant"
		}
		// A careless issuer quotes what it was sent.
		write(w, 400, map[string]any{"error": code, "error_description": "no good: " + fmt.Sprint(q)})
		return
	}
	i.made++
	access, refresh := fmt.Sprintf("access-token-number-%d", i.made), fmt.Sprintf("refresh-token-number-%d", i.made)
	i.good[access], i.renews[refresh] = strings.Fields(scope), true
	write(w, 200, over(map[string]any{
		"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600, "id_token": "the-id-token-of-ann",
	}, i.token))
}

func (i *issuing) serveResource(w http.ResponseWriter, r *http.Request, mcp http.Handler) {
	i.mu.Lock()
	i.urls = append(i.urls, r.URL.String())
	other := i.on[r.URL.Path]
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	has, good := i.good[token]
	lacks := slices.ContainsFunc(i.wants, func(s string) bool { return !slices.Contains(has, s) })
	i.mu.Unlock()
	at := i.resource.URL + "/.well-known/oauth-protected-resource/mcp"
	switch {
	case other != nil:
		other(w, r)
	case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
		write(w, 200, over(map[string]any{
			"resource": i.resource.URL + "/mcp", "authorization_servers": []string{i.issuer.URL},
		}, i.described))
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
	case !good:
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+at+`", scope="tools:use"`)
		http.Error(w, "no token", http.StatusUnauthorized)
	case lacks:
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", resource_metadata="`+at+`", scope="`+strings.Join(i.wants, " ")+`"`)
		http.Error(w, "too little", http.StatusForbidden)
	default:
		i.do(func() { i.headers = append(i.headers, r.Header.Clone()) })
		mcp.ServeHTTP(w, r)
	}
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func over(doc, change map[string]any) map[string]any {
	for key, v := range change {
		if doc[key] = v; v == nil {
			delete(doc, key)
		}
	}
	return doc
}

// kept is a store of values that a test can look into.
type kept struct {
	mu sync.Mutex
	m  map[string]string
}

func (k *kept) Get(_ context.Context, name string) (string, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.m[name]
	return v, ok, nil
}

func (k *kept) Put(_ context.Context, name, value string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.m[name] = value
	return nil
}

func (k *kept) Delete(_ context.Context, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.m, name)
	return nil
}

// recorded keeps what would go into the record.
type recorded struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorded) Record(_ context.Context, e *audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return json.NewEncoder(&r.text).Encode(e)
}

func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// both asks the vault, then the secrets of the operator.
type both struct {
	*oauth.Vault
	rest secrets
}

func (b both) Secret(ctx context.Context, ref string) (sallyport.Secret, bool, error) {
	if s, ok, err := b.Vault.Secret(ctx, ref); ok || err != nil {
		return s, ok, err
	}
	return b.rest.Secret(ctx, ref)
}

// client is a gate before a server with OAuth, in a role that reaches the
// loopback.
type client struct {
	t       testing.TB
	issuing *issuing
	mounts  *upstream.Mounts
	server  upstream.Server
	backend *sallyport.Backends
	kept    *kept
	record  *recorded
	policy  *sallyport.NetworkPolicy
	secrets secrets
	tools   *registry.Registry
	results []sallyport.Result
}

// newClient declares the server of i, as declare says.
func newClient(t testing.TB, i *issuing, declare func(*upstream.Server)) *client {
	t.Helper()
	c := &client{
		t: t, issuing: i, kept: &kept{m: map[string]string{}}, record: &recorded{},
		secrets: secrets{"far/secret": "the-secret-of-the-client", "far/key": testKey},
		policy:  &sallyport.NetworkPolicy{Allow: []string{host(i.issuer.URL), host(i.resource.URL)}, AllowPrivate: true},
	}
	c.server = upstream.Server{
		Name: "far", URL: i.resource.URL + "/mcp", OAuth: &oauth.Server{ClientID: "sallyport-here"},
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{host(i.issuer.URL)}}},
	}
	if declare != nil {
		declare(&c.server)
	}
	c.open()
	return c
}

// open opens the gate, as a start of the program does.
func (c *client) open() {
	c.t.Helper()
	vault, err := oauth.NewVault(c.kept, []byte(strings.Repeat("k", oauth.KeyBytes)))
	if err != nil {
		c.t.Fatal(err)
	}
	cleaner, err := output.New(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mounts, err = upstream.New([]upstream.Server{c.server}, &upstream.Options{
		Cleaner: cleaner, Tokens: vault, Logger: slog.New(slog.NewTextHandler(c.record, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = c.mounts.Close() })
	c.backend = &sallyport.Backends{
		Network: &sallyport.NetworkBackend{}, Secrets: both{vault, c.secrets},
		Personalities: roles{"some": {Name: "some", MCPServers: []string{"far"}, Network: c.policy, Flow: sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowAllow}}},
	}
	c.tools = c.registry()
}

func (c *client) registry() *registry.Registry {
	c.t.Helper()
	r, err := registry.New(c.backend, &registry.Options{Workspace: c.t.TempDir(), Recorder: c.record})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func (c *client) run(r *registry.Registry, principal, tool string, args any) sallyport.Result {
	text, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	res := r.Call(c.t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: principal}, Session: "s", Personality: "some", Platform: sallyport.PlatformGo,
	}, sallyport.Request{Tool: tool, Args: text})
	c.results = append(c.results, res)
	return res
}

// discover asks the server for its tools as the local user, and mounts them.
func (c *client) discover() sallyport.Result {
	c.t.Helper()
	finder := c.registry()
	if err := finder.Register(c.mounts.Discovery()...); err != nil {
		c.t.Fatal(err)
	}
	res := c.run(finder, "local", upstream.DiscoveryName("far"), object{})
	if res.OK {
		tools, _ := c.mounts.Tools()
		if err := c.tools.Register(tools...); err != nil {
			c.t.Fatal(err)
		}
	}
	return res
}

func (c *client) echo(principal, text string) sallyport.Result {
	return c.run(c.tools, principal, "mcp__far__echo", object{"text": text})
}

const redirectURL = "http://127.0.0.1:9/callback"

// login logs a principal in with a person who opens whatever page they are
// sent to.
func (c *client) login(principal string) sallyport.Result {
	c.t.Helper()
	return c.loginAsking(principal, func(_ context.Context, what oauth.Consent) (url.Values, error) { return visitPage(what.URL) })
}

func (c *client) loginAsking(principal string, ask func(context.Context, oauth.Consent) (url.Values, error)) sallyport.Result {
	c.t.Helper()
	r := c.registry()
	tool, err := c.mounts.Login("far", oauth.LoginOptions{Redirect: redirectURL, Ask: ask}, func(oauth.Status) {})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := r.Register(tool); err != nil {
		c.t.Fatal(err)
	}
	return c.run(r, "local", tool.Name, object{"principal": principal})
}

// visitPage is a browser: the page sends it back to where nobody listens here.
func visitPage(page string) (url.Values, error) {
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(page)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil || !strings.HasPrefix(to.String(), redirectURL+"?") {
		return nil, errors.New("the page leads nowhere")
	}
	return to.Query(), nil
}

func host(address string) string {
	u, _ := url.Parse(address)
	return u.Host
}

// registrar registers a client.
func registrar(count *int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		*count++
		write(w, 201, object{"client_id": "the-new-client", "client_secret": "the-new-secret", "token_endpoint_auth_method": "client_secret_post"})
	}
}
