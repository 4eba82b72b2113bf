package auth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// protectedSite is a guarded /mcp with its metadata, which names an issuer
// unless that is empty.
func protectedSite(t *testing.T, issuer string) http.Handler {
	t.Helper()
	resource := &auth.Resource{
		Path: "/mcp", Issuer: func() string { return issuer }, Scopes: func() []string { return []string{"file:read"} },
	}
	_, hash := auth.NewToken()
	g, err := auth.NewGuard("127.0.0.1:7331", auth.Single{Hash: hash, Owner: sallyport.Principal{Name: "local"}}, &auth.GuardOptions{
		Open: []string{auth.MetadataPath, auth.MetadataPath + "/mcp"}, Resource: resource, Hosts: []string{"tools.example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(auth.MetadataPath, resource)
	mux.Handle(auth.MetadataPath+"/mcp", resource)
	return g.Protect(mux)
}

// visit sends a request without a token.
func visit(h http.Handler, path, host string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://127.0.0.1:7331"+path, nil)
	r.Host = host
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestResourceMetadataNamesTheServerAsItWasCalled(t *testing.T) {
	h := protectedSite(t, "https://login.example.com")
	tests := []struct {
		name, host string
		header     map[string]string
		resource   string
	}{
		{name: "loopback", host: "127.0.0.1:7331", resource: "http://127.0.0.1:7331/mcp"},
		{name: "another name, in capitals", host: "LOCALHOST:7331", resource: "http://localhost:7331/mcp"},
		{
			name: "behind a proxy", host: "tools.example.com", header: map[string]string{"X-Forwarded-Proto": "https"},
			resource: "https://tools.example.com/mcp",
		},
		{
			name: "a scheme that is none", host: "tools.example.com", header: map[string]string{"X-Forwarded-Proto": "javascript"},
			resource: "http://tools.example.com/mcp",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{auth.MetadataPath, auth.MetadataPath + "/mcp"} {
				w := visit(h, path, tt.host, tt.header)
				var got map[string]any
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
					t.Fatalf("GET %s = %d %s, want 200 and JSON", path, w.Code, w.Body)
				}
				want := map[string]any{
					"resource": tt.resource, "authorization_servers": []any{"https://login.example.com"},
					"scopes_supported": []any{"file:read"}, "bearer_methods_supported": []any{"header"},
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("GET %s differs (-want +got):\n%s", path, diff)
				}
			}
			w := visit(h, "/mcp", tt.host, tt.header)
			at := strings.TrimSuffix(tt.resource, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
			if got, want := w.Header().Get("WWW-Authenticate"), `Bearer realm="sallyport", resource_metadata="`+at+`"`; w.Code != 401 || got != want {
				t.Errorf("GET /mcp without a token = %d %q, want 401 %q", w.Code, got, want)
			}
			// Another path is another resource.
			if got := visit(h, "/v1/actions", tt.host, tt.header).Header().Get("WWW-Authenticate"); got != `Bearer realm="sallyport"` {
				t.Errorf("GET /v1/actions without a token: %q, want no metadata", got)
			}
		})
	}
}

func TestResourceMetadataWithoutAProvider(t *testing.T) {
	h := protectedSite(t, "")
	if w := visit(h, auth.MetadataPath, "127.0.0.1:7331", nil); w.Code != 404 {
		t.Errorf("metadata = %d, want 404", w.Code)
	}
	if got := visit(h, "/mcp", "127.0.0.1:7331", nil).Header().Get("WWW-Authenticate"); got != `Bearer realm="sallyport"` {
		t.Errorf("challenge = %q, want no metadata", got)
	}
}

func TestResourceMetadataIsForItsOwnHostsAndPages(t *testing.T) {
	h := protectedSite(t, "https://login.example.com")
	for name, tt := range map[string]struct {
		host   string
		header map[string]string
	}{
		"rebound name":    {host: "evil.example:7331"},
		"foreign origin":  {"127.0.0.1:7331", map[string]string{"Origin": "https://evil.example"}},
		"cross-site page": {"127.0.0.1:7331", map[string]string{"Sec-Fetch-Site": "cross-site"}},
	} {
		if w := visit(h, auth.MetadataPath+"/mcp", tt.host, tt.header); w.Code != 403 {
			t.Errorf("%s: %d, want 403", name, w.Code)
		}
	}
}
