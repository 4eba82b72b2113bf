package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

func TestACallCarriesWhatTheClientSaysOfItsTurn(t *testing.T) {
	k := newKit(t, nil)
	err := k.registry.Register(sallyport.Tool{
		Name: "turn", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK(fmt.Sprintf("%d %d %s %s %s", c.Turn, c.Messages, c.Agent, c.Team, c.MemoryScope)), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := k.execute("turn", `{"turn":{"turn":3,"messages":7,"agent":"a"}}`, "Sallyport-Turn", `{"team":"t","memory_scope":"m","turn":3}`)
	if got.status != 200 || string(got.body.Data) != `"3 7 a t m"` {
		t.Errorf("execute = %d %s", got.status, got.text)
	}
	if e := k.record.outcome(t, got.body.CallID); e.Agent != "a" || e.Team != "t" {
		t.Errorf("recorded agent %q of team %q", e.Agent, e.Team)
	}
	for _, bad := range []struct{ body, header string }{
		{`{"turn":{"turn":-1}}`, `{}`}, {`{"turn":7}`, `{}`}, {`{}`, `{"turn":1e400}`}, {`{"turn":{"agent":"a"}}`, `{"agent":"b"}`},
	} {
		if got := k.execute("turn", bad.body, "Sallyport-Turn", bad.header); got.status != 400 || !strings.Contains(got.text, "input_invalid") {
			t.Errorf("execute(%s, %s) = %d %s, want 400", bad.body, bad.header, got.status, got.text)
		}
	}
}
