package upstream_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// TestHeadersOfArguments go where the schema says. A tool whose schema asks for
// an invalid header is left out.
func TestHeadersOfArguments(t *testing.T) {
	t.Parallel()
	argument := func(header string) object {
		return object{"inputSchema": object{"type": "object", "properties": object{"region": object{"type": "string", "x-mcp-header": header}}}}
	}
	s := newScript(t, tool("good", argument("Region")), tool("bad", argument("no header: \r\n")))
	s.lists["server/discover"] = object{
		"supportedVersions": []any{"2026-07-28"}, "capabilities": object{"tools": object{}}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
	}
	s.answer = func(*peer, *question) any {
		return object{"content": []any{object{"type": "text", "text": "fine"}}, "resultType": "complete"}
	}
	far := s.listen(t, nil)
	g := newGateWith(t, &sallyport.Backends{Network: far.network()}, nil, upstream.Server{Name: "test", URL: "http://mcp.example/mcp"})
	if res := g.call("test__good", object{"region": "north"}); !res.OK {
		t.Errorf("the call = %+v", res)
	}
	if got := far.headers[len(far.headers)-1].Get("Mcp-Param-Region"); got != "north" {
		t.Errorf("the header of the argument = %q", got)
	}
	if len(g.left) != 1 || !strings.Contains(g.left[0], "bad: its schema asks for headers that no client may send: /properties/region/x-mcp-header: ") {
		t.Errorf("left out: %q", g.left)
	}
	// The gate's own clients send them, too.
	e := g.serve(t)
	calls := s.count("tools/call")
	if got := e.refused("ann", "mcp__test__good", object{"region": "north"}, http.Header{"Mcp-Param-Region": {"south"}}); got != -32020 {
		t.Errorf("a call with the header of another argument was refused with %d", got)
	}
	if n := s.count("tools/call") - calls; n != 0 {
		t.Errorf("the server was called %d times", n)
	}
	if got, _ := e.call("ann", "mcp__test__good", object{"region": "north"}, http.Header{"Mcp-Param-Region": {"north"}}); got != "fine" {
		t.Errorf("a call with its header = %q", got)
	}
	if n := s.count("tools/call") - calls; n != 1 {
		t.Errorf("the server was called %d times, want once", n)
	}
}

// TestHeadersOfAProcess: clients of the gate see the tools of a process with
// their headers, and leave out the same tools.
func TestHeadersOfAProcess(t *testing.T) {
	t.Parallel()
	marked := func(kind string) object {
		return object{"inputSchema": object{"type": "object", "properties": object{"region": object{"type": kind, "x-mcp-header": "Region"}}}}
	}
	s := newScript(t, tool("good", marked("string")), tool("bad", marked("number")))
	s.answer = func(*peer, *question) any { return text("fine") }
	g := newGateWith(t, &sallyport.Backends{Process: s}, nil, upstream.Server{Name: "test", Command: []string{"scripted"}})
	if res := g.call("test__good", object{"region": "north"}); !res.OK {
		t.Errorf("the call = %+v", res)
	}
	if len(g.left) != 1 || !strings.Contains(g.left[0], "bad: its schema asks for headers that no client may send") {
		t.Errorf("left out: %q", g.left)
	}
}
