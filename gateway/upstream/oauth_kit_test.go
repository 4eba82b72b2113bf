package upstream_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// issuing is an authorization server and, separate from it, the MCP server that
// it protects. Tests change their behaviour by fields.
type issuing struct {
	t        testing.TB
	issuer   *httptest.Server
	resource *httptest.Server

	mu sync.Mutex
	// metadata and described override members of the documents of the two.
	metadata, described map[string]any
	// at overrides a path of the issuer; on overrides one of the server.
	at, on map[string]http.HandlerFunc
	// wants are the scopes that calls need.
	wants []string
	// answer overrides parameters of the issuer's answer with a code.
	answer url.Values
	// token overrides members of the issuer's tokens; refuses is the code with
	// which it refuses.
	token   map[string]any
	refuses string
	// nonce is what the server requires in proofs.
	nonce string

	made     int
	refused  int                 // requests without a valid token
	good     map[string][]string // access tokens and their scopes
	renews   map[string]bool     // refresh tokens that are valid
	codes    map[string]url.Values
	requests []url.Values // requests for tokens
	asked    []url.Values // requests for consent
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

// do runs change under the lock.
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
		write(w, 200, mergeDocument(map[string]any{
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
	q.Set("dpop", r.Header.Get("DPoP"))
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
	write(w, 200, mergeDocument(map[string]any{
		"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600, "id_token": "the-id-token-of-ann",
	}, i.token))
}

func (i *issuing) serveResource(w http.ResponseWriter, r *http.Request, mcp http.Handler) {
	i.mu.Lock()
	i.urls = append(i.urls, r.URL.String())
	other := i.on[r.URL.Path]
	token := strings.TrimPrefix(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "DPoP ")
	has, good := i.good[token]
	if !good && r.URL.Path == "/mcp" {
		i.refused++
	}
	lacks := slices.ContainsFunc(i.wants, func(s string) bool { return !slices.Contains(has, s) })
	i.mu.Unlock()
	at := i.resource.URL + "/.well-known/oauth-protected-resource/mcp"
	switch {
	case other != nil:
		other(w, r)
	case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
		write(w, 200, mergeDocument(map[string]any{
			"resource": i.resource.URL + "/mcp", "authorization_servers": []string{i.issuer.URL},
		}, i.described))
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
	case !good:
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+at+`", scope="tools:use"`)
		http.Error(w, "no token", http.StatusUnauthorized)
	case i.nonce != "" && !strings.Contains(payload(r.Header.Get("DPoP")), i.nonce):
		w.Header().Set("DPoP-Nonce", i.nonce)
		w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
		w.WriteHeader(http.StatusUnauthorized)
	case lacks:
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", resource_metadata="`+at+`", scope="`+strings.Join(i.wants, " ")+`"`)
		http.Error(w, "too little", http.StatusForbidden)
	default:
		i.do(func() { i.headers = append(i.headers, r.Header.Clone()) })
		mcp.ServeHTTP(w, r)
	}
}

// payload returns the decoded payload of a token in three parts.
func payload(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	middle, _, _ := strings.Cut(rest, ".")
	text, _ := base64.RawURLEncoding.DecodeString(middle)
	return string(text)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func mergeDocument(doc, change map[string]any) map[string]any {
	for key, v := range change {
		if doc[key] = v; v == nil {
			delete(doc, key)
		}
	}
	return doc
}

// registrar returns a handler that registers a client.
func registrar(count *int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		*count++
		write(w, 201, object{"client_id": "the-new-client", "client_secret": "the-new-secret", "token_endpoint_auth_method": "client_secret_post"})
	}
}
