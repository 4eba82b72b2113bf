package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/httpapi"
)

// TestEveryRouteIsGuarded walks the table: without a token a route that needs
// a principal answers 401 in JSON, behind the guard and without it.
func TestEveryRouteIsGuarded(t *testing.T) {
	k := newKit(t, nil)
	open := 0
	for _, r := range k.Routes() {
		path := strings.ReplaceAll(r.Pattern, "{id}", "echo")
		if !r.Auth {
			open++
			if got := k.do(r.Method, path, "", "Authorization", ""); got.status != 200 {
				t.Errorf("%s %s without a token = %d, want 200", r.Method, path, got.status)
			}
			continue
		}
		got := k.do(r.Method, path, "{}", "Authorization", "", "Content-Type", r.Content)
		if got.status != 401 || got.body.Code != sallyport.CodePermissionDenied || got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s %s without a token = %d %s, want 401 in JSON", r.Method, path, got.status, got.text)
		}
		req := httptest.NewRequest(r.Method, path, strings.NewReader("{}"))
		req.Header.Set("Content-Type", r.Content)
		w := httptest.NewRecorder()
		if k.Handler().ServeHTTP(w, req); w.Code != 401 || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s %s without a guard = %d, want 401", r.Method, path, w.Code)
		}
	}
	if open != 2 {
		t.Errorf("%d routes are open, want the two health checks", open)
	}
	if len(k.record.events) != 0 {
		t.Error("a request without a principal reached the gate")
	}
}

func TestWhatIsNotInTheTableIsRefused(t *testing.T) {
	k := newKit(t, &httpapi.Options{})
	tests := []struct {
		name, method, path string
		headers            []string
		status             int
		allow              string
	}{
		{name: "unknown path", method: "GET", path: "/v2/actions", status: 404},
		{name: "root", method: "GET", path: "/", status: 404},
		{name: "trailing slash", method: "GET", path: "/v1/actions/", status: 404},
		{name: "double slash", method: "GET", path: "/v1//actions", status: 404},
		{name: "dots", method: "GET", path: "/v1/x/../actions", status: 404},
		{name: "escaped dots", method: "GET", path: "/v1/x/%2e%2e/actions", status: 404},
		{name: "below an action", method: "POST", path: "/v1/actions/echo/execute/x", status: 404},
		{name: "delete", method: "DELETE", path: "/v1/actions/echo", status: 405, allow: "GET, HEAD"},
		{name: "get of execute", method: "GET", path: "/v1/actions/echo/execute", status: 405, allow: "POST"},
		{name: "post to a listing", method: "POST", path: "/v1/actions", status: 405, allow: "GET, HEAD"},
		{name: "options", method: "OPTIONS", path: "/v1/actions", status: 405, allow: "GET, HEAD"},
		{name: "unknown method", method: "BREW", path: "/healthz", status: 405, allow: "GET, HEAD"},
		{name: "text", method: "POST", path: "/v1/actions/echo/execute", headers: []string{"Content-Type", "text/plain"}, status: 415},
		{name: "form", method: "POST", path: "/v1/actions/echo/execute", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415},
		{name: "no type", method: "POST", path: "/v1/actions/echo/execute", headers: []string{"Content-Type", ""}, status: 415},
		{name: "other characters", method: "POST", path: "/v1/actions/echo/execute", headers: []string{"Content-Type", "application/json; charset=utf-16"}, status: 415},
		{name: "compressed", method: "POST", path: "/v1/actions/echo/execute", headers: []string{"Content-Encoding", "gzip"}, status: 415},
		{name: "files where none are kept", method: "POST", path: "/v1/actions/echo/execute", headers: []string{"Content-Type", "multipart/form-data; boundary=x"}, status: 415},
		{name: "files to a listing: the guard is first", method: "POST", path: "/v1/actions", headers: []string{"Content-Type", "multipart/form-data; boundary=x"}, status: 415},
		{name: "another host", method: "GET", path: "/v1/actions", headers: []string{"Origin", "https://evil.example"}, status: 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := k.do(tt.method, tt.path, "{}", tt.headers...)
			if got.status != tt.status || got.body.Success || got.body.Error == "" || got.header.Get("Allow") != tt.allow {
				t.Errorf("%s %s = %d %s, Allow %q; want %d in JSON, Allow %q", tt.method, tt.path, got.status, got.text, got.header.Get("Allow"), tt.status, tt.allow)
			}
		})
	}
	for _, kind := range []string{"Application/JSON", "application/json; charset=UTF-8"} {
		if got := k.execute("echo", `{}`, "Content-Type", kind); got.status != 200 {
			t.Errorf("%s = %d %s, want 200", kind, got.status, got.text)
		}
	}
}

func TestAnswersAreForOneCallerOnly(t *testing.T) {
	k := newKit(t, nil)
	for _, path := range []string{"/v1/actions", "/v1/actions/echo", "/healthz", "/nothing"} {
		get, head := k.do("GET", path, ""), k.do("HEAD", path, "")
		if head.status != get.status || head.text != "" || head.header.Get("Content-Length") != get.header.Get("Content-Length") {
			t.Errorf("HEAD %s = %d with %q bytes, GET %d with %q", path, head.status, head.header.Get("Content-Length"), get.status, get.header.Get("Content-Length"))
		}
		if get.header.Get("Cache-Control") != "no-store" || get.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %s has the headers %v", path, get.header)
		}
	}
}

func TestNewMuxRefusesBrokenTables(t *testing.T) {
	h := http.NotFoundHandler()
	good := httpapi.Route{Method: "GET", Pattern: "/a/{x}", Auth: true, Doc: "x", Handler: h}
	for name, change := range map[string]func(*httpapi.Route){
		"host":              func(r *httpapi.Route) { r.Pattern = "example.com/a" },
		"no handler":        func(r *httpapi.Route) { r.Handler = nil },
		"no sentence":       func(r *httpapi.Route) { r.Doc = "" },
		"open wildcard":     func(r *httpapi.Route) { r.Auth = false },
		"content":           func(r *httpapi.Route) { r.Content = "text/plain" },
		"malformed pattern": func(r *httpapi.Route) { r.Pattern = "/a/{x" },
	} {
		broken := good
		change(&broken)
		if _, err := httpapi.NewMux([]httpapi.Route{broken}); err == nil {
			t.Errorf("NewMux with %s = nil error, want one", name)
		}
	}
	open := httpapi.Route{Method: "POST", Pattern: "/b", Doc: "x", Handler: h}
	closed := open
	closed.Method, closed.Auth = "GET", true
	conflict := good
	conflict.Pattern = "/{x}/b"
	second := good
	second.Pattern = "/a/{x...}"
	for name, table := range map[string][]httpapi.Route{"twice": {good, good}, "open and not": {open, closed}, "conflict": {second, conflict}} {
		if _, err := httpapi.NewMux(table); err == nil {
			t.Errorf("NewMux with %s = nil error, want one", name)
		}
	}
	page := httpapi.Route{Method: "GET", Pattern: "/{$}", Doc: "x", Handler: h}
	mux, err := httpapi.NewMux([]httpapi.Route{good, open, page, {Pattern: "/mcp", Auth: true, Content: httpapi.ContentJSON, Doc: "x", Handler: h}})
	if err != nil {
		t.Fatal(err)
	}
	if got := mux.Open(); strings.Join(got, " ") != "/b /" || len(mux.Routes()) != 4 {
		t.Errorf("Open() = %q of %d routes, want /b and / of 4", got, len(mux.Routes()))
	}
}

func TestReadySaysNoMoreThanNeeded(t *testing.T) {
	k := newKit(t, &httpapi.Options{Ready: func(context.Context) error { return errPrivate }})
	if got := k.do("GET", "/readyz", "", "Authorization", ""); got.status != 503 || strings.Contains(got.text, errPrivate.Error()) {
		t.Errorf("/readyz = %d %s, want 503 without the reason", got.status, got.text)
	}
	if got := k.do("GET", "/healthz", "", "Authorization", ""); got.status != 200 {
		t.Errorf("/healthz = %d, want 200", got.status)
	}
}

func TestNewRefusesWhatCannotServe(t *testing.T) {
	if _, err := httpapi.New(nil, nil); err == nil {
		t.Error("New(nil) = nil error, want one")
	}
	if _, err := httpapi.New(newKit(t, nil).registry, &httpapi.Options{MaxBody: -1}); err == nil {
		t.Error("New with a negative bound = nil error, want one")
	}
}

var errPrivate = errors.New("postgres://user:password@db")
