package gateway_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/gateway/upstream"
	suite "github.com/sallyport/sallyport/internal/conformance"
	"github.com/sallyport/sallyport/registry"
)

// waited lists the scenarios about tasks. The gate offers no tasks to a mounted
// server but waits for its answers.
var waited = func() map[string]string {
	aside := map[string]string{}
	for _, name := range stateless2026 {
		if strings.HasPrefix(name, "tasks-") {
			aside[name] = "a mounted server is offered no tasks: the gate waits for its answers"
		}
	}
	return aside
}()

// TestConformanceOfTheBridge runs the suite against a gate that gets all its
// fixtures from another server, mounted in the usual way.
func TestConformanceOfTheBridge(t *testing.T) {
	suite.Need(t)
	at := bridged(t)
	const next = "0.2.0-alpha.12"
	suite.Judge(t, suite.Serve(t, next, at, "--requirements", "2025-11-25"), conforming, nil)
	rest := slices.DeleteFunc(slices.Clone(stateless2026), func(name string) bool { return waited[name] != "" })
	suite.Judge(t, suite.Serve(t, next, at, "--requirements", "2026-07-28"), rest, waited)
}

// TestTheBridgeMountsTheFixtures without the suite, which only CI downloads.
func TestTheBridgeMountsTheFixtures(t *testing.T) {
	if at := bridged(t); !strings.HasSuffix(at, "/mcp") {
		t.Errorf("the bridge is served at %q", at)
	}
}

// reaching is the only role of a gate, which may reach this machine.
type reaching struct{ role *sallyport.Personality }

func (r reaching) Personality(name string) (*sallyport.Personality, bool) {
	return r.role, name == r.role.Name
}

// bridged serves the suite's fixtures through a bridge to the server that has
// them. They have the names that the suite asks for. They are trusted, because
// the suite does not test the wrapping of untrusted texts.
func bridged(t *testing.T) string {
	t.Helper()
	var outer *gateway.Server
	fixtures := slices.DeleteFunc(suite.Fixtures(func() { outer.ListChanged() }), func(tool sallyport.Tool) bool {
		return tool.Tasks != sallyport.TaskNever // some of them never end without a task
	})
	inner := served(t, mustRegister(t, &sallyport.Backends{}, fixtures...))
	at, err := url.Parse(inner.url)
	if err != nil {
		t.Fatal(err)
	}
	b := &sallyport.Backends{
		Network: &sallyport.NetworkBackend{},
		Personalities: reaching{&sallyport.Personality{
			Name: "role", Flow: sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowAllow},
			Network: &sallyport.NetworkPolicy{Allow: []string{at.Host}, AllowPrivate: true},
		}},
	}
	m, err := upstream.New([]upstream.Server{{
		Name: "suite", URL: inner.url,
		Capabilities: sallyport.Capabilities{Input: []sallyport.InputKind{sallyport.InputPerson, sallyport.InputModel, sallyport.InputFolders}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	res := mustRegister(t, b, m.Discovery()...).Call(t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: "local"}, Personality: "role", Platform: sallyport.PlatformGo,
	}, sallyport.Request{Tool: upstream.DiscoveryName("suite")})
	tools, left := m.Tools()
	if !res.OK || len(left) > 0 || len(tools) < len(fixtures) {
		t.Fatalf("the fixtures are mounted as %d tools, %v are left out: %+v", len(tools), left, res)
	}
	for i := range tools {
		tools[i].Name = strings.TrimPrefix(tools[i].Name, "mcp__suite__")
		tools[i].OutputIsUntrusted = false
	}
	site := served(t, mustRegister(t, b, tools...))
	outer = site.Server
	return site.url
}

// site is a server and its address.
type site struct {
	*gateway.Server
	url string
}

// served serves a gate to every client on this machine.
func served(t *testing.T, r *registry.Registry) site {
	t.Helper()
	server, err := gateway.New(r, &gateway.Options{Personality: "role"})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	local := func() sallyport.Principal { return sallyport.Principal{Name: sallyport.LocalPrincipal, Person: true} }
	g, err := auth.NewGuard(s.Listener.Addr().String(), tokens{}, &auth.GuardOptions{Anonymous: local})
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = g.Protect(server.Handler())
	s.Start()
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return site{server, s.URL + "/mcp"}
}

func mustRegister(t *testing.T, b *sallyport.Backends, tools ...sallyport.Tool) *registry.Registry {
	t.Helper()
	r, err := registry.New(b, &registry.Options{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := r.Register(tools...); err != nil {
		t.Fatal(err)
	}
	return r
}
