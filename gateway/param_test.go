package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

// repeating returns a tool with arguments of each kind that headers repeat.
func repeating() sallyport.Tool {
	return sallyport.Tool{
		Name: "route", Description: "Returns its arguments.", ReadOnly: true,
		Schema: json.RawMessage(`{"type":"object","properties":{
			"region":{"type":"string","x-mcp-header":"Region"},
			"count":{"type":"integer","x-mcp-header":"Count"},
			"dry":{"type":"boolean","x-mcp-header":"dry-run"},
			"target":{"type":"object","properties":{"tenant":{"type":"string","x-mcp-header":"Tenant"}}},
			"note":{"type":"string"}}}`),
		Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK(string(c.Args)), nil
		},
	}
}

// TestRefusedHeadersAreNoCalls: the gate sees no call with wrong headers.
func TestRefusedHeadersAreNoCalls(t *testing.T) {
	k := kitFor(t, "headers")
	p := &peer{version: "2026-07-28", url: k.site(t).URL}
	p.clients = map[string]*http.Client{"": client(t, "alice")}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"route","arguments":{"region":"us"},` + stateless + `}}`
	for _, tt := range []struct {
		value string
		calls int
	}{{"", 0}, {"eu", 0}, {"us", 1}} {
		got := p.post(t, sent{body: call, header: [][2]string{{"Mcp-Param-Region", tt.value}}})
		if refused := strings.HasPrefix(got.text, "400") && strings.Contains(got.text, "-32020"); refused != (tt.calls == 0) {
			t.Errorf("a call with the header %q was answered %s", tt.value, got.text)
		}
		if n := len(k.record.outcomes("route")); n != tt.calls {
			t.Errorf("with the header %q: %d calls, want %d", tt.value, n, tt.calls)
		}
	}
}

// unseen is a gate that reports the callers about which it was asked.
type unseen struct {
	noForms
	asked []sallyport.Caller
}

func (u *unseen) Definitions(*sallyport.Caller) []registry.Definition { return nil }

func (u *unseen) Headers(c *sallyport.Caller, tool string) []schema.Header {
	u.asked = append(u.asked, *c)
	return nil
}

func (u *unseen) Call(context.Context, *sallyport.Caller, sallyport.Request) sallyport.Result {
	return sallyport.OK("")
}

// TestHeadersAreThoseThatTheCallerSees: the gate knows the caller, so that a
// refusal reveals nothing about a hidden tool.
func TestHeadersAreThoseThatTheCallerSees(t *testing.T) {
	gate := &unseen{}
	server, err := gateway.New(gate, &gateway.Options{Personality: "role"})
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{Server: server}
	p := &peer{version: "2026-07-28", url: k.site(t).URL}
	p.clients = map[string]*http.Client{"": client(t, "alice")}
	p.post(t, sent{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"prompt:x","arguments":{},` + stateless + `}}`})
	want := []sallyport.Caller{{
		Principal: sallyport.Principal{Name: "alice", Person: true}, Personality: "role", Platform: sallyport.PlatformMCP, Exclude: []string{"prompt:x"},
	}}
	if diff := cmp.Diff(want, gate.asked); diff != "" {
		t.Errorf("the gate was asked about other callers (-want +got):\n%s", diff)
	}
}
