package turn_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/turn"
)

func TestATurnIsReadStrictly(t *testing.T) {
	t.Parallel()
	c, err := turn.Decode([]byte(`{"turn":3,"messages":12,"agent":"a","team":"t","memory_scope":"m"}`))
	if want := (turn.Context{Turn: 3, Messages: 12, Agent: "a", Team: "t", MemoryScope: "m"}); err != nil || c != want {
		t.Errorf("Decode() = %+v, %v, want %+v", c, err, want)
	}
	var caller sallyport.Caller
	c.Fill(&caller)
	if caller.Turn != 3 || caller.Messages != 12 || caller.Agent != "a" || caller.Team != "t" || caller.MemoryScope != "m" {
		t.Errorf("Fill() = %+v", caller)
	}
	if c, err := turn.Decode(nil); err != nil || c != (turn.Context{}) {
		t.Errorf("Decode(nil) = %+v, %v", c, err)
	}
	for _, bad := range []string{
		`null`, `[]`, `3`, `{`, `{"turn":-1}`, `{"turn":2147483648}`, `{"turn":1e400}`, `{"turn":1.5}`, `{"turn":NaN}`, `{"turn":"3"}`, `{"messages":-2}`,
		`{"turn":1,"turn":2}`, `{"turns":1}`, `{"turn":1}{}`, `{"agent":7}`, `{"agent":"a\u0007"}`, `{"team":"\ud800"}`, "{\"agent\":\"\xff\"}",
		`{"memory_scope":"` + strings.Repeat("x", 257) + `"}`, `{"agent":"` + strings.Repeat("x", 5000) + `"}`,
	} {
		if c, err := turn.Decode([]byte(bad)); err == nil {
			t.Errorf("Decode(%.60s) = %+v, want an error", bad, c)
		}
	}
}

func TestTwoPlacesAgree(t *testing.T) {
	t.Parallel()
	c := turn.Context{Turn: 3, Agent: "a"}
	if err := c.Join(turn.Context{Turn: 3, MemoryScope: "m"}); err != nil || c != (turn.Context{Turn: 3, Agent: "a", MemoryScope: "m"}) {
		t.Errorf("Join() = %+v, %v", c, err)
	}
	for _, other := range []turn.Context{{Turn: 4}, {Agent: "b"}, {MemoryScope: "n"}} {
		if err := c.Join(other); err == nil {
			t.Errorf("Join(%+v) was not refused", other)
		}
	}
	if _, err := turn.FromHeader([]string{`{"turn":1}`, `{"turn":1}`}); err == nil {
		t.Error("a repeated header was not refused")
	}
	if _, err := turn.FromHeader([]string{`{"turn":-1}`}); err == nil || !strings.Contains(err.Error(), turn.Header) {
		t.Errorf("a broken header: %v", err)
	}
}
