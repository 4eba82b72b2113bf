package gateway_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	suite "github.com/sallyport/sallyport/internal/conformance"
	"github.com/sallyport/sallyport/registry"
)

// conforming lists the scenarios of the official suite for servers that speak a
// protocol with sessions.
var conforming = []string{
	"server-initialize", "logging-set-level", "ping", "completion-complete", "tools-list", "tools-call-simple-text",
	"tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
	"tools-call-with-logging", "tools-call-error", "tools-call-with-progress", "json-schema-2020-12",
	"server-sse-multiple-streams", "resources-list", "resources-read-text", "resources-read-binary",
	"resources-templates-read", "resources-subscribe", "resources-unsubscribe", "prompts-list", "prompts-get-simple",
	"prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image", "dns-rebinding-protection",
	"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
}

// stateless2026 lists the additional scenarios of a protocol without sessions.
var stateless2026 = []string{
	"server-stateless", "completion-complete", "tools-list", "tools-call-simple-text", "tools-call-image",
	"tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
	"tools-call-with-progress", "server-sse-multiple-streams", "resources-list", "resources-read-text",
	"resources-read-binary", "resources-templates-read", "sep-2164-resource-not-found", "prompts-list",
	"prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image",
	"dns-rebinding-protection", "caching", "json-schema-2020-12", "http-header-validation",
	"http-custom-header-server-validation",
	"input-required-result-unsupported-methods", "input-required-result-basic-sampling", "input-required-result-basic-list-roots",
	"input-required-result-multiple-input-requests", "input-required-result-capability-check", "input-required-result-basic-elicitation",
	"input-required-result-request-state", "input-required-result-multi-round", "input-required-result-non-tool-request",
	"input-required-result-result-type", "input-required-result-tampered-state", "input-required-result-missing-input-response",
	"input-required-result-validate-input",
	"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
	"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
}

// TestConformance runs the official suite against its fixtures: the released suite
// and the one that knows what each revision of the protocol requires.
func TestConformance(t *testing.T) {
	suite.Need(t)
	const released, next = "0.1.16", "0.2.0-alpha.12"
	url := fixtures(t)
	suite.Judge(t, suite.Serve(t, released, url, "--suite", "all"), conforming, nil)
	suite.Judge(t, suite.Serve(t, next, url, "--requirements", "2025-11-25"), conforming, nil)
	suite.Judge(t, suite.Serve(t, next, url, "--requirements", "2026-07-28"), stateless2026, nil)
}

// fixtures serves the suite's tools to every client on this machine.
func fixtures(t *testing.T) (url string) {
	t.Helper()
	r, err := registry.New(&sallyport.Backends{}, &registry.Options{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var server *gateway.Server
	if err := r.Register(suite.Fixtures(func() { server.ListChanged() })...); err != nil {
		t.Fatal(err)
	}
	if server, err = gateway.New(r, nil); err != nil {
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
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s.URL + "/mcp"
}
