package listening

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// crowded is a server whose callers name themselves. It says how many
// connections it has.
func crowded(t *testing.T, o CrowdOptions) (address string, c *Crowd) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = NewCrowd(o)
	s := &http.Server{ConnContext: c.Context, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := r.Header.Get("Who"); who != "" && !c.Admit(r.Context(), who) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "fine")
	})}
	done := make(chan error)
	go func() { done <- s.Serve(c.Listener(l)) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.strangers != 0 && len(c.conns) == 0 || len(c.whose) != 0 && len(c.conns) == 0 {
			t.Errorf("%d strangers and %v are counted at the end", c.strangers, c.whose)
		}
	})
	return l.Addr().String(), c
}

// dial opens a connection and sends a text.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	// One that was closed already makes room.
	_, _ = io.WriteString(c, text)
	return c
}

// ask sends a request on a connection and returns the status, 0 when it is
// closed.
func ask(c net.Conn, who, path string) int {
	_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nWho: %s\r\n\r\n", path, who)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// TestB12_SlowHeadersHoldUpNobody: four hundred connections that never end their
// header take no more than their share, and calls go through beside them.
func TestB12_SlowHeadersHoldUpNobody(t *testing.T) {
	address, c := crowded(t, CrowdOptions{Strangers: 16, Known: 100, Patience: time.Millisecond})
	known := dial(t, address, "")
	if status := ask(known, "ann", "/"); status != 200 {
		t.Fatal(status)
	}
	for range 400 {
		dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	}
	for range 20 {
		if status := ask(dial(t, address, ""), "bob", "/"); status != 200 {
			t.Errorf("a new connection beside them: %d", status)
		}
		if status := ask(known, "ann", "/"); status != 200 {
			t.Errorf("one from before: %d", status)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.strangers > 16 {
		t.Errorf("%d strangers", c.strangers)
	}
}
