package page_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/serving"
	"github.com/sallyport/sallyport/internal/page"
	"github.com/sallyport/sallyport/internal/signin"
)

// configuration has a role whose calls of write_file wait for a person.
const configuration = `version: 2
workspace: .
state: sqlite:.sallyport/state.db
personalities:
  default:
    tools: ["@file"]
    read: ["${workspace}"]
    write: ["${workspace}"]
    approvals: {require: [write_file], wait: 0s}
  reader:
    tools: [read_file]
    read: ["${workspace}"]
principals:
  bob: {token_sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
`

// server is the page of a server in this process.
type server struct {
	rt     *app.Runtime
	live   *app.Live
	url    string
	stderr *strings.Builder
}

// pageURL stands in a configuration for where the page is served.
const pageURL = "PAGE_URL"

// serve serves a configuration of which nothing but the page is used.
func serve(t testing.TB, text string, tools ...sallyport.Tool) *server {
	t.Helper()
	dir, web := t.TempDir(), httptest.NewUnstartedServer(nil)
	text = strings.ReplaceAll(text, pageURL, "http://"+web.Listener.Addr().String())
	for name, body := range map[string]string{"sallyport.yaml": text, "README.md": "# Hello\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{stderr: &strings.Builder{}}
	state := filepath.Join(dir, "xdg")
	env := &app.Environment{
		Stderr: io.Discard, Tools: tools, Dir: dir, Home: dir, Pairs: func() []string { return nil },
		Lookup: func(name string) (string, bool) { return state, name == "XDG_STATE_HOME" },
	}
	rt, err := app.OpenForCalls(t.Context(), env, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	s.rt, s.live = rt, app.NewLive(rt)
	rt.Live.Store(s.live)
	mcp, err := gateway.New(s.live, &gateway.Options{Personality: "default", Principal: rt.Callers.Local})
	if err != nil {
		t.Fatal(err)
	}
	api, err := serving.NewAPI(rt, s.live, "default")
	if err != nil {
		t.Fatal(err)
	}
	site, err := page.New(rt, s.live)
	if err != nil {
		t.Fatal(err)
	}
	mux, err := serving.NewMux(api, mcp, site, s.live.ProtectedResource(), nil)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := serving.NewGuard(t.Context(), rt, web.Listener.Addr().String(), nil, mux, site, s.live, nil)
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = guard.Protect(mux)
	web.Start()
	s.url = web.URL
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = site.Shutdown(ctx)
		_ = mcp.Shutdown(ctx)
		web.Close()
	})
	return s
}

// readConfiguration returns the configuration file as it is.
func (s *server) readConfiguration(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(s.rt.ConfigFiles[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// call makes a call of a principal, and returns its result.
func (s *server) call(t testing.TB, principal, session, tool, args string) sallyport.Result {
	t.Helper()
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: principal}, Personality: "default", Session: session, Platform: sallyport.PlatformHTTP}
	return s.live.Call(t.Context(), caller, sallyport.Request{Tool: tool, Args: []byte(args)})
}

// hold makes a call that is held, and returns the id of the held call.
func (s *server) hold(t testing.TB, principal, args string) string {
	t.Helper()
	res := s.call(t, principal, "s1", "write_file", args)
	if res.ApprovalID == "" {
		t.Fatalf("the call is not held: %+v", res)
	}
	return res.ApprovalID
}

// link makes a link that signs a person in.
func (s *server) link(t testing.TB, name string, reader bool) string {
	t.Helper()
	who, err := signin.NewPerson(name, reader)
	if err != nil {
		t.Fatal(err)
	}
	link, err := page.NewLink(t.Context(), s.rt, who, s.url)
	if err != nil {
		t.Fatal(err)
	}
	return link.URL
}

// visitor is a person with a browser that has cookies and no script.
type visitor struct {
	t      testing.TB
	client *http.Client
	url    string
}

// visit returns a person who is not signed in.
func (s *server) visit(t testing.TB) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, &http.Client{Jar: jar, Timeout: 10 * time.Second}, s.url}
}

// signIn returns a person who signed in by a link.
func (s *server) signIn(t testing.TB, name string, reader bool) *visitor {
	t.Helper()
	v := s.visit(t)
	link := s.link(t, name, reader)
	_, code, _ := strings.Cut(link, "code=")
	if status, body := v.post("/page/signin", url.Values{"code": {code}}); status != 200 || !strings.Contains(body, "Sign out") {
		t.Fatalf("signing in = %d: %s", status, body)
	}
	return v
}

// get returns the answer to a path.
func (v *visitor) get(path string) (status int, body string) {
	v.t.Helper()
	res, err := v.client.Get(v.url + path)
	if err != nil {
		v.t.Fatal(err)
	}
	return readAnswer(v.t, res)
}

// post sends a form as the page itself does.
func (v *visitor) post(path string, form url.Values) (status int, body string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), "POST", v.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", v.url)
	res, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	return readAnswer(v.t, res)
}

func readAnswer(t testing.TB, res *http.Response) (status int, body string) {
	t.Helper()
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// form returns the hidden fields of the form of a held call, as the page shows it.
func (v *visitor) form(id string) url.Values {
	v.t.Helper()
	_, body := v.get("/")
	_, card, ok := strings.Cut(body, `id="held-`+id+`"`)
	if !ok {
		v.t.Fatalf("the page does not show the held call %s:\n%s", id, body)
	}
	card, _, _ = strings.Cut(card, "</article>")
	fields := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(card, -1) {
		fields.Set(m[1], m[2])
	}
	return fields
}

// decideCall presses a button of the form of a held call.
func (v *visitor) decideCall(id, answer string) (status int, body string) {
	v.t.Helper()
	f := v.form(id)
	f.Set("answer", answer)
	return v.post("/page/decide", f)
}
