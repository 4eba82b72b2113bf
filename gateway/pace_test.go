package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// pipes is a listener whose connections have no buffer: a peer that does not
// read blocks the writer.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// ask sends a request on its own connection and reads the head of the answer.
// No more arrives until the connection is read further.
func (p pipes) ask(t *testing.T, as, method, session, body string) *http.Response {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close() })
	p <- server
	r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:80/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + as}, "Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"},
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	go func() { _ = r.Write(client) }()
	// With a buffer of one read, only the head is consumed.
	res, err := http.ReadResponse(bufio.NewReader(client), r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestWhoReadsNothingHoldsNobodyUp: other clients are still notified of a
// change.
func TestWhoReadsNothingHoldsNobodyUp(t *testing.T) {
	k := newKit(t)
	k.Pace(time.Second)
	p := make(pipes)
	g, err := auth.NewGuard(p.Addr().String(), tokens{"alice": {Name: "alice"}, "bob": {Name: "bob"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: g.Protect(k.Handler())}
	served := make(chan error, 1)
	go func() { served <- server.Serve(p) }()
	streams := map[string]io.Reader{}
	for _, who := range []string{"alice", "bob"} {
		session := p.ask(t, who, "POST", "", hello).Header.Get("Mcp-Session-Id")
		streams[who] = p.ask(t, who, "GET", session, "").Body
	}
	k.ListChanged()
	if got := data(t, bufio.NewReader(streams["bob"])); !strings.Contains(got, "list_changed") {
		t.Errorf("bob hears %s, want a change", got)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-served
	if err := k.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
