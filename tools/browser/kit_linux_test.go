package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
	"github.com/sallyport/sallyport/tools/browser"
)

// roles finds personalities by name.
type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// gate is a registry with the tools, over a real sandbox with a real browser.
type gate struct {
	*registry.Registry
	t         testing.TB
	workspace string
	family    browser.Family
	role      *sallyport.Personality
	runner    *sandbox.Runner
}

// newGate is a gate whose role "surfer" reaches the given private addresses, and writes to
// its workspace.
func newGate(t testing.TB, private ...string) *gate {
	t.Helper()
	return newGateAt(t, "", private...)
}

// newGateAt is newGate with children at a level of confinement; empty is the best of the
// machine.
func newGateAt(t testing.TB, level sallyport.Level, private ...string) *gate {
	t.Helper()
	needs.Programs(t, "chromium-headless-shell")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := &sallyport.FileBackend{}
	runner, err := sandbox.New(&sandbox.Options{Files: files, Warm: -1, Level: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runner.Close() })
	g := &gate{t: t, workspace: dir, family: browser.NewFamily(), runner: runner}
	t.Cleanup(func() { _ = g.family.End() })
	g.role = &sallyport.Personality{
		Name: "surfer", Network: &sallyport.NetworkPolicy{Allow: []string{}, Private: private},
		FSReach: &sallyport.Reach{Write: []string{dir}},
	}
	g.Registry, err = registry.New(&sallyport.Backends{
		Personalities: roles{"surfer": g.role}, Files: files, Process: runner, Network: &sallyport.NetworkBackend{},
	}, &registry.Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	if err := g.Register(g.family.Tools()...); err != nil {
		t.Fatal(err)
	}
	return g
}

type named map[string]any

// in calls a tool in a session.
func (g *gate) in(session, tool string, args any) sallyport.Result {
	g.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.Call(g.t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: "ann", Permissions: []string{"browser:evaluate"}},
		Session:   session, Personality: "surfer", Platform: sallyport.PlatformGo, Workspace: g.workspace,
	}, sallyport.Request{Tool: "browser_" + tool, Args: raw})
}

// must calls a tool that has to succeed and returns its text.
func (g *gate) must(tool string, args any) string {
	g.t.Helper()
	res := g.in("s", tool, args)
	if !res.OK {
		g.t.Fatalf("browser_%s(%v) = %s: %s", tool, args, res.Code, res.Error)
	}
	return res.Value
}

// refused calls a tool that has to fail and returns its text.
func (g *gate) refused(tool string, args any) string {
	g.t.Helper()
	res := g.in("s", tool, args)
	if res.OK {
		g.t.Fatalf("browser_%s(%v) = %s, want a failure", tool, args, res.Value)
	}
	return string(res.Code) + ": " + res.Error
}

// ref returns the reference of the first line of a snapshot that holds a text.
func (g *gate) ref(what string) string {
	g.t.Helper()
	shown := g.must("snapshot", named{})
	m := regexp.MustCompile(`(?m)^ *- .*` + regexp.QuoteMeta(what) + `.*\[(e\d+)\]$`).FindStringSubmatch(shown)
	if m == nil {
		g.t.Fatalf("no element with %q in\n%s", what, shown)
	}
	return m[1]
}

// wants fails unless a text has every part.
func wants(t testing.TB, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("got\n%s\nwithout %q", got, p)
		}
	}
}

// site is pages on this machine.
type site struct {
	*httptest.Server
	mux  *http.ServeMux
	addr string
}

func newSite(t testing.TB, pages map[string]string) *site {
	t.Helper()
	s := &site{mux: http.NewServeMux()}
	for path, page := range pages {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, page)
		})
	}
	s.Server = httptest.NewServer(s.mux)
	t.Cleanup(s.CloseClientConnections)
	s.addr = s.Listener.Addr().String()
	return s
}

// answer has a path answer with a text of a kind.
func (s *site) answer(path, kind, body string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = fmt.Fprint(w, body)
	})
}

func (s *site) redirect(path, to string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
}

// impatient has the tools wait for pages that do not answer less long during f. What else
// a test does has the usual time, since a machine may be busy.
func (g *gate) impatient(load, act time.Duration, f func()) {
	g.t.Helper()
	g.family.Hasten(load, act, 3*time.Second)
	defer g.family.Hasten(30*time.Second, 10*time.Second, 5*time.Second)
	f()
}

// title returns the title of the page that is shown.
func (g *gate) title() string {
	g.t.Helper()
	res := g.in("s", "tabs", named{})
	if !res.OK {
		g.t.Fatalf("browser_tabs = %s", res.Error)
	}
	return fmt.Sprint(res.Structured["title"])
}
