package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

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

// TestHeadersOfArgumentsViaTheLibrary plays the archives of TestWire to a
// server that answers nothing directly. The answers are the same.
func TestHeadersOfArgumentsViaTheLibrary(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "http_headers_2026-07-28.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	k := kitFor(t, "headers")
	k.ViaLibrary()
	seen := k.Seen()
	played := replay(t, archive, overHTTP(t, k))
	said := func(f txtar.File) string {
		head, body, _ := strings.Cut(string(f.Data), "\n\n")
		return f.Name + " " + strings.Fields(head)[0] + "\n" + canonical(t, []byte(body))
	}
	for i := range archive.Files {
		if !strings.HasSuffix(archive.Files[i].Name, "response") {
			continue
		}
		if diff := cmp.Diff(said(archive.Files[i]), said(played.Files[i])); diff != "" {
			t.Errorf("the library answers otherwise (-own +library):\n%s", diff)
		}
	}
	if seen.Load() == 0 {
		t.Error("the library saw nothing")
	}
}

// TestRefusedHeadersAreNoCalls: the gate sees no call with wrong headers, and
// calls with right headers are direct.
func TestRefusedHeadersAreNoCalls(t *testing.T) {
	k := kitFor(t, "headers")
	seen := k.Seen()
	p := &peer{version: "2026-07-28", seen: seen, url: k.site(t).URL}
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
		if n := len(k.record.outcomes("route")); n != tt.calls || seen.Load() != 0 {
			t.Errorf("with the header %q: %d calls, %d of the library's, want %d and none", tt.value, n, seen.Load(), tt.calls)
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
	p := &peer{version: "2026-07-28", seen: k.Seen(), url: k.site(t).URL}
	p.clients = map[string]*http.Client{"": client(t, "alice")}
	p.post(t, sent{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"prompt:x","arguments":{},` + stateless + `}}`})
	want := []sallyport.Caller{{
		Principal: sallyport.Principal{Name: "alice", Person: true}, Personality: "role", Platform: sallyport.PlatformMCP, Exclude: []string{"prompt:x"},
	}}
	if diff := cmp.Diff(want, gate.asked); diff != "" {
		t.Errorf("the gate was asked about other callers (-want +got):\n%s", diff)
	}
}
