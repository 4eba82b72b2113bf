package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/registry"
)

// The suite that this test was written with, and the Node that it wants.
const (
	conformancePackage = "@modelcontextprotocol/conformance@0.1.16"
	nodePackage        = "node@22"
)

// conforming is the scenarios of the official suite that a server of tools has
// an answer to. The others want what is not offered here: prompts, resources,
// completions, log levels, results that are no text, and questions to the
// client.
var conforming = []string{
	"server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-error", "tools-call-with-progress",
	"json-schema-2020-12", "server-sse-multiple-streams", "dns-rebinding-protection",
}

// TestConformance lets the official suite loose on its fixture tools, once
// directly and once through the protocol library.
func TestConformance(t *testing.T) {
	if os.Getenv("SALLYPORT_TEST_NPX") != "1" {
		t.Skip("SALLYPORT_TEST_NPX=1 lets this test fetch the conformance suite from npm")
	}
	if _, err := exec.LookPath("npx"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("npx is needed: %v", err)
		}
		t.Skipf("npx is needed: %v", err)
	}
	for _, way := range []string{"direct", "library"} {
		t.Run(way, func(t *testing.T) {
			report := conformance(t, fixtures(t, way == "library"))
			for _, name := range conforming {
				line := regexp.MustCompile(`(?m)^.*` + name + `: .*$`).FindString(report)
				if !strings.Contains(line, " 0 failed") {
					t.Errorf("%s: %q, want no failure\n%s", name, line, report)
				}
			}
		})
	}
}

// conformance runs every scenario that the suite has for servers and returns
// what it printed.
func conformance(t *testing.T, url string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "npx", "-y", "-p", nodePackage, "-p", conformancePackage,
		"conformance", "server", "--suite", "all", "--url", url, "-o", t.TempDir())
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// The suite exits with an error while one scenario fails.
	_ = cmd.Run()
	return out.String()
}

// fixtures serves the suite's tools to whoever comes from this machine.
func fixtures(t *testing.T, viaLibrary bool) (url string) {
	t.Helper()
	r, err := registry.New(&sallyport.Backends{}, &registry.Options{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Register(fixtureTools()...); err != nil {
		t.Fatal(err)
	}
	server, err := gateway.New(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if viaLibrary {
		server.ViaLibrary()
	}
	s := httptest.NewUnstartedServer(nil)
	local := func() sallyport.Principal { return sallyport.Principal{Name: sallyport.LocalPrincipal} }
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
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s.URL + "/mcp"
}

// fixtureTools is the tools that the suite asks for by name.
func fixtureTools() []sallyport.Tool {
	return []sallyport.Tool{
		{
			Name: "test_simple_text", Description: "Tests a simple text.",
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				return sallyport.OK("This is a simple text response for testing."), nil
			},
		},
		{
			Name: "test_error_handling", Description: "Tests a failure.",
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				return sallyport.Err("This tool intentionally returns an error for testing", ""), nil
			},
		},
		{
			Name: "test_tool_with_progress", Description: "Tests progress.",
			Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
				for _, percent := range []float64{0, 50, 100} {
					c.Emit(sallyport.Progress{Message: "on the way", Percent: &percent, Audience: sallyport.AudienceUser})
					time.Sleep(50 * time.Millisecond)
				}
				return sallyport.OK("done"), nil
			},
		},
		{
			Name: "json_schema_2020_12_tool", Description: "Tests that a schema arrives as it is.",
			Schema: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
				"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
				"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`),
			Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
				return sallyport.OK(string(c.Args)), nil
			},
		},
	}
}
