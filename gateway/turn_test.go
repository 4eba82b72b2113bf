package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

func TestACallCarriesWhatTheClientSaysOfItsTurn(t *testing.T) {
	t.Parallel()
	tool := sallyport.Tool{
		Name: "turn", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK(fmt.Sprintf("%d %d %s %s %s", c.Turn, c.Messages, c.Agent, c.Team, c.MemoryScope)), nil
		},
	}
	k := newKit(t, tool)
	_, err := k.registry.RegisterReducer(sallyport.Reducer{Tool: "turn", Reduce: func(r sallyport.Result, c sallyport.ReducerContext) sallyport.Result {
		r.Value += fmt.Sprintf(" reduced at %d", c.Turn)
		return r
	}})
	if err != nil {
		t.Fatal(err)
	}
	site, h := k.site(t), client(t, "alice")
	for _, tt := range []struct{ meta, header, want string }{
		{`"sallyport/turn":{"turn":3,"messages":7,"agent":"a"},`, `{"team":"t","memory_scope":"m"}`, `3 7 a t m reduced at 3`},
		{``, `{"turn":9}`, `9 0    reduced at 9`},
		{`"sallyport/turn":{"turn":-3},`, ``, `expected a whole number`},
		{`"sallyport/turn":{"turn":3},`, `{"turn":4}`, `the header Sallyport-Turn says something else`},
		{``, `{"turn":`, `the header Sallyport-Turn`},
	} {
		header := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "turn"}
		if tt.header != "" {
			header = append(header, "Sallyport-Turn", tt.header)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"turn","_meta":{` + tt.meta +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
		if _, text := post(t, h, site.URL, body, header...); !strings.Contains(text, tt.want) {
			t.Errorf("%s with header %q = %s, want %q", tt.meta, tt.header, text, tt.want)
		}
	}
}
