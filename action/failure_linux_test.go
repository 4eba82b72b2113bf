package action_test

import (
	"net"
	"strings"
	"testing"
)

// TestC28_FailuresNameTheirSourceAndNoCommandLine has a request reach nobody.
func TestC28_FailuresNameTheirSourceAndNoCommandLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	g := newGate(t, decoded(t, `{"id": "act", "handler": {"http": {"url": "URL/a/b?key=word"}}, "idempotent": false}`, address))
	if res := g.use(`{}`); res.OK || !strings.HasPrefix(res.Error, `<untrusted source="`+address+`/a/b" tool="act">`) {
		t.Errorf("result = %+v, want the address as the source", res)
	}
}
