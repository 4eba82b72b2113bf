package action_test

import (
	"net"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestC28_FailuresNameTheirSourceAndNoCommandLine sends a request to a
// closed port, and runs a program that fails and whose arguments the operator
// wrote.
func TestC28_FailuresNameTheirSourceAndNoCommandLine(t *testing.T) {
	t.Parallel()
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
	needs.Programs(t, "bash")
	dir := handlers(t, map[string]string{"run": "#!/bin/bash\nexit 3"})
	g = newGate(t, scripted(t, dir, `{"id": "act", "handler": {"exec": {"command": ["./run", "--account", "internal-7"]}}}`))
	if res := g.use(`{}`); res.OK || strings.Contains(res.Error, "internal-7") || !strings.Contains(res.Error, "run ended with exit code 3") {
		t.Errorf("result = %+v, want the program without its arguments", res)
	}
}
