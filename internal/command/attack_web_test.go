package command

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/page"
)

// webAttack is a change of a valid request.
type webAttack struct {
	name   string
	header []string // pairs; PORT stands for the server's
	// leadsOn says that the browser follows a link, as it may to some pages.
	leadsOn bool
}

// onEveryRoute sends each change of a valid request, with a valid token, to
// every route of the server. Each request must be refused with a status and
// have no effect.
func onEveryRoute(t *testing.T, status int, attacks []webAttack) {
	t.Helper()
	mux, _ := wiredServer(t)
	dir, station := weatherFolder(t)
	s := serveHTTP(t, dir)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	s.token = tokenOf("reader")
	routes := mux.Routes()
	if len(routes) < 7 {
		t.Fatalf("%d routes, want all of them", len(routes))
	}
	for _, route := range routes {
		method, path := methodOf(route.Method), wildcard.ReplaceAllString(route.Pattern, "get-weather")
		for _, a := range attacks {
			for i := range a.header {
				a.header[i] = strings.ReplaceAll(a.header[i], "PORT", port)
			}
			got, text := s.request(t, method, path, `{"params":{"location":"Paris"}}`, s.headers(a.header...))
			if a.leadsOn && method == http.MethodGet && page.Returns(&http.Request{URL: &url.URL{Path: path}}) {
				// A link at another site may lead here, and shows nothing of this one.
				if got != 200 && got != 401 || strings.Contains(text, "Sign out") || !strings.Contains(text, "<html") {
					t.Errorf("%s: %s %s = %d %s, want a page without a sign-in", a.name, method, path, got, text)
				}
				continue
			}
			if got != status {
				t.Errorf("%s: %s %s = %d %s, want %d", a.name, method, path, got, text, status)
			}
		}
		// The same request without the change passes, so the change made the
		// difference.
		// Who lacks a permission is told so, and the page takes forms in place of JSON.
		got, text := s.request(t, method, path, `{}`, s.headers())
		if (got == 403 || got == 415) && !strings.Contains(text, "permission") && !strings.Contains(text, "multipart/form-data") && (method == http.MethodGet || !strings.HasPrefix(path, "/page/")) {
			t.Errorf("%s %s without an attack = %d %s, want it let in", method, path, got, text)
		}
	}
	s.stop(t)
	if asked := station.seen(); len(asked) != 0 {
		t.Errorf("the upstream was asked %q, want nothing", asked)
	}
	for _, r := range records(t, dir) {
		if r.OK {
			t.Errorf("the record holds %+v, want no call that was made", r)
		}
	}
}

// DNS rebinding: a page whose name resolves to this machine sends its own name
// as the Host.
func TestCVE_2025_66414_GHSA_w48q_cv73_mx4w_ReboundHost(t *testing.T) {
	t.Parallel()
	onEveryRoute(t, 403, []webAttack{
		{name: "a name", header: []string{"Host", "evil.example"}},
		{name: "a name and the port", header: []string{"Host", "evil.example:PORT"}},
		{name: "a name that begins well", header: []string{"Host", "127.0.0.1.evil.example:PORT"}},
		{name: "a name that ends well", header: []string{"Host", "evil.localhost:PORT"}},
		{name: "no host", header: []string{"Host", ":PORT"}},
	})
}

// In the library of the report, one of several entry points lacked the check.
// This test asks every route, with every form of this machine's name.
func TestCVE_2026_34742_FormsOfThisHost(t *testing.T) {
	t.Parallel()
	onEveryRoute(t, 403, []webAttack{
		{name: "every address", header: []string{"Host", "0.0.0.0:PORT"}},
		{name: "every address of version 6", header: []string{"Host", "[::]:PORT"}},
		{name: "a mapped address", header: []string{"Host", "[::ffff:127.0.0.1]:PORT"}},
		{name: "a number", header: []string{"Host", "2130706433:PORT"}},
		{name: "a short form", header: []string{"Host", "127.1:PORT"}},
		{name: "a trailing dot", header: []string{"Host", "localhost.:PORT"}},
		{name: "another port", header: []string{"Host", "localhost:1"}},
		{name: "no port", header: []string{"Host", "localhost"}},
	})
}

// A page of another origin sends its Origin.
func TestCVE_2026_42559_GHSA_89vp_x53w_74fx_ForeignOrigin(t *testing.T) {
	t.Parallel()
	onEveryRoute(t, 403, []webAttack{
		{name: "another site", header: []string{"Origin", "https://evil.example"}},
		{name: "no origin's name", header: []string{"Origin", "null"}},
		{name: "another port", header: []string{"Origin", "http://localhost:1"}},
		{name: "a name that begins well", header: []string{"Origin", "http://localhost:PORT.evil.example"}},
		{name: "an extension", header: []string{"Origin", "chrome-extension://abcdefghijklmnop"}},
		{name: "a file", header: []string{"Origin", "file://"}},
	})
}

// A browser that sends no Origin shows by its fetch metadata that the request
// comes from a page of another site.
func TestCVE_2025_64443_FetchMetadata(t *testing.T) {
	t.Parallel()
	onEveryRoute(t, 403, []webAttack{
		{name: "another site", header: []string{"Sec-Fetch-Site", "cross-site"}},
		{name: "another origin of the site", header: []string{"Sec-Fetch-Site", "same-site"}},
		{name: "another site, as a page", header: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, leadsOn: true},
	})
}

// The proxy of the inspector accepted every client that reached 0.0.0.0. Here
// that address is no name of the server, and a valid name alone gives no
// access.
func TestCVE_2025_49596_EveryAddressAndNoToken(t *testing.T) {
	t.Parallel()
	mux, site := wiredServer(t)
	for _, route := range mux.Routes() {
		if method := methodOf(route.Method); route.Auth {
			if status := ask(t, nil, site, method, wildcard.ReplaceAllString(route.Pattern, "get-weather"), ""); status != 401 {
				t.Errorf("%s %s without a token = %d, want 401", method, route.Pattern, status)
			}
		}
	}
	onEveryRoute(t, 403, []webAttack{
		{name: "0.0.0.0 and its origin", header: []string{"Host", "0.0.0.0:PORT", "Origin", "http://0.0.0.0:PORT"}},
	})
}

// methodOf returns a method that a route accepts.
func methodOf(method string) string {
	if method == "" {
		return "POST"
	}
	return method
}

// A server that listens on all addresses and requires no authentication does
// not start.
func TestCVE_2026_23744_NoOpenServer(t *testing.T) {
	t.Parallel()
	dir := configured(t, "version: 1\nsecurity: {require_auth: false}\n")
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		out, err := sallyportCommand(dir, "serve", "--listen", address).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "security.require_auth") {
			t.Errorf("serve --listen %s = %v %s, want a refusal that names the key", address, err, out)
		}
	}
}

// Browsers open WebSockets to any origin. No route has one.
func TestCVE_2026_59950_NoWebSocket(t *testing.T) {
	t.Parallel()
	upgrade := []string{
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==",
	}
	onEveryRoute(t, 403, []webAttack{
		{name: "of another site", header: append([]string{"Origin", "https://evil.example"}, upgrade...)},
		{name: "of a rebound name", header: append([]string{"Host", "evil.example:PORT"}, upgrade...)},
	})
	mux, site := wiredServer(t)
	for _, route := range mux.Routes() {
		r, err := http.NewRequestWithContext(t.Context(), "GET", site.URL+wildcard.ReplaceAllString(route.Pattern, "get-weather"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+tokenOf("reader"))
		for i := 0; i < len(upgrade); i += 2 {
			r.Header.Set(upgrade[i], upgrade[i+1])
		}
		res, err := site.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode == http.StatusSwitchingProtocols {
			t.Errorf("GET %s switches protocols", route.Pattern)
		}
	}
}

// A form of another site is sent without a preflight request when its content
// type is one of three.
func TestCVE_2026_33252_SimpleRequests(t *testing.T) {
	t.Parallel()
	onEveryRoute(t, 403, []webAttack{
		{name: "a form's text", header: []string{"Content-Type", "text/plain", "Origin", "https://evil.example"}},
		{name: "JSON", header: []string{"Origin", "https://evil.example"}},
	})
	dir, station := weatherFolder(t)
	s := serveHTTP(t, dir)
	s.token = tokenOf("reader")
	for _, path := range []string{"/mcp", "/v1/actions/get-weather/execute"} {
		for _, kind := range []string{
			"text/plain", "application/x-www-form-urlencoded", "", "text/json", "application/json, text/plain", "application/jsonx", "multipart/mixed; boundary=x",
		} {
			if status, text := s.request(t, "POST", path, `{"params":{"location":"Paris"}}`, s.headers("Content-Type", kind)); status != 415 {
				t.Errorf("POST %s as %q = %d %s, want 415", path, kind, status, text)
			}
		}
	}
	s.stop(t)
	if asked := station.seen(); len(asked) != 0 {
		t.Errorf("the upstream was asked %q, want nothing", asked)
	}
}

// An empty token, and the hash of a token, give no access.
func TestGHSA_wvr4_3wq4_gpc5_CVE_2026_32211_EmptyTokens(t *testing.T) {
	t.Parallel()
	mux, site := wiredServer(t)
	for _, route := range mux.Routes() {
		if !route.Auth {
			continue
		}
		for _, value := range []string{"Bearer", "Bearer ", "Bearer null", "Bearer undefined", "Basic Og==", "bearer\t"} {
			r, err := http.NewRequestWithContext(t.Context(), methodOf(route.Method), site.URL+wildcard.ReplaceAllString(route.Pattern, "get-weather"), strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", value)
			res, err := site.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			// A form of the page is refused before its sender is looked at.
			form := strings.HasPrefix(route.Pattern, "/page/") && res.StatusCode == http.StatusUnsupportedMediaType
			if res.StatusCode != 401 && !form {
				t.Errorf("%s %s with %q = %d, want 401", r.Method, route.Pattern, value, res.StatusCode)
			}
		}
	}
	const ofNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, hash := range []string{`""`, `"abc"`, ofNothing} {
		dir := configured(t, "version: 1\nprincipals: {agent: {token_sha256: "+hash+"}}\n")
		if out, err := sallyportCommand(dir, "check").CombinedOutput(); err == nil || !strings.Contains(string(out), "token_sha256") {
			t.Errorf("check with token_sha256: %s = %v %s, want it refused by name", hash, err, out)
		}
	}
}
