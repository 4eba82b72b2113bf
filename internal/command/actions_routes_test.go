package command

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/serving"
	"github.com/sallyport/sallyport/internal/page"
)

// wiredServer returns the server of `serve`, in this process: its table of
// routes, behind its guard.
func wiredServer(t *testing.T) (*httpapi.Mux, *httptest.Server) {
	t.Helper()
	dir, _ := weatherFolder(t)
	env, _ := inFolder(t, dir)
	rt, err := app.OpenForCalls(t.Context(), &env.Environment, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	role, err := rt.InForce().Config.Choose("")
	if err != nil {
		t.Fatal(err)
	}
	l := app.NewLive(rt)
	server, err := gateway.New(l, &gateway.Options{Personality: role.Name, Version: app.Version(), Logger: rt.Logger, Principal: rt.Callers.Local})
	if err != nil {
		t.Fatal(err)
	}
	api, err := serving.NewAPI(rt, l, role.Name)
	if err != nil {
		t.Fatal(err)
	}
	side, err := page.New(rt, l)
	if err != nil {
		t.Fatal(err)
	}
	mux, err := serving.NewMux(api, server, side, l.ProtectedResource(), nil)
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewUnstartedServer(nil)
	guard, err := serving.NewGuard(t.Context(), rt, site.Listener.Addr().String(), nil, mux, side, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	site.Config.Handler = guard.Protect(mux)
	site.Start()
	t.Cleanup(func() {
		site.CloseClientConnections()
		_ = server.Shutdown(context.WithoutCancel(t.Context()))
		site.Close()
	})
	return mux, site
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// ask sends a request that is valid except for its token.
func ask(t *testing.T, h http.Handler, site *httptest.Server, method, path, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, site.URL+path, strings.NewReader(`{"params":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if page.Covers(r) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", site.URL)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if h != nil {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	res, err := site.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // events have no end
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	}
	return res.StatusCode
}

// TestEveryRouteAsksWhoCalls walks the table of the server. The list below
// names the open routes: a route that opens by mistake fails the test.
func TestEveryRouteAsksWhoCalls(t *testing.T) {
	t.Parallel()
	mux, site := wiredServer(t)
	open := mux.Open()
	slices.Sort(open)
	want := []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/healthz",
		"/page/assets/icon.svg", "/page/assets/page.css", "/page/assets/page.js", "/readyz",
	}
	if !slices.Equal(open, want) {
		t.Errorf("paths that need no token = %q, want %q", open, want)
	}
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"}
	for _, route := range mux.Routes() {
		path := wildcard.ReplaceAllString(strings.TrimSuffix(route.Pattern, "{$}"), "get-weather")
		if !route.Auth {
			want := 200
			if strings.HasPrefix(path, auth.MetadataPath) {
				want = 404 // no provider is configured here
			}
			if status := ask(t, nil, site, route.Method, path, ""); status != want {
				t.Errorf("%s %s without a token = %d, want %d", route.Method, path, status, want)
			}
			continue
		}
		for _, method := range methods {
			for what, token := range map[string]string{"without a token": "", "with a wrong token": tokenOf("nobody")} {
				if status := ask(t, nil, site, method, path, token); status != 401 {
					t.Errorf("%s %s %s = %d, want 401", method, path, what, status)
				}
			}
		}
		// The table checks the token again, in case the guard is missing.
		method := route.Method
		if method == "" {
			method = "POST"
		}
		if status := ask(t, mux, site, method, path, ""); status != 401 {
			t.Errorf("%s %s without the guard = %d, want 401", method, path, status)
		}
		// With a good token the route answers, so the token made the
		// difference. No token opens the page.
		if path == "/" || strings.HasPrefix(path, "/page/") {
			if status := ask(t, nil, site, method, path, tokenOf("reader")); status != 401 {
				t.Errorf("%s %s with a token = %d, want 401", method, path, status)
			}
			continue
		}
		if status := ask(t, nil, site, method, path, tokenOf("reader")); status == 401 || status == 404 {
			t.Errorf("%s %s with a token = %d, want it to be let in", method, path, status)
		}
	}
}

// TestNothingIsServedBesideTheTable asks for paths that other servers have.
func TestNothingIsServedBesideTheTable(t *testing.T) {
	t.Parallel()
	mux, site := wiredServer(t)
	named := map[string]bool{}
	for _, r := range mux.Routes() {
		named[r.Pattern] = true
	}
	for _, pattern := range []string{"/v1/actions", "/v1/actions/{id}", "/v1/actions/{id}/execute", "/v1/openapi.json", "/mcp", "/healthz", "/readyz"} {
		if !named[pattern] {
			t.Errorf("the table has no %s", pattern)
		}
	}
	for _, path := range []string{
		"/debug/pprof/", "/debug/vars", "/v1", "/v1/", "/v1/principals", "/v1/audit", "/healthz/", "/healthz/../v1/actions",
		"//v1/actions", "/v1/actions/", "/mcp/", "/.sallyport/state.db", "/sallyport.yaml",
	} {
		if status := ask(t, nil, site, "GET", path, ""); status != 401 {
			t.Errorf("GET %s without a token = %d, want 401", path, status)
		}
		if status := ask(t, nil, site, "GET", path, tokenOf("reader")); status != 404 {
			t.Errorf("GET %s = %d, want 404", path, status)
		}
	}
}
