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
func crowded(t *testing.T, o CrowdOptions) (address string, c *Crowd, hold chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, hold = NewCrowd(o), make(chan struct{})
	s := &http.Server{ConnContext: c.Context, Handler: c.Attend(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := r.Header.Get("Who"); who != "" && !c.Admit(r.Context(), who) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/hold" {
			hold <- struct{}{}
			<-hold
		}
		_, _ = io.WriteString(w, "fine")
	}))}
	done := make(chan error)
	go func() { done <- s.Serve(c.Listener(l)) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.unidentified != 0 && len(c.conns) == 0 || len(c.byOwner) != 0 && len(c.conns) == 0 {
			t.Errorf("%d unidentified and %v are counted at the end", c.unidentified, c.byOwner)
		}
	})
	return l.Addr().String(), c, hold
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
	address, c, _ := crowded(t, CrowdOptions{Unidentified: 16, Known: 100, Patience: time.Millisecond})
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
	if c.unidentified > 16 {
		t.Errorf("%d unidentified", c.unidentified)
	}
}

// TestB9_ConnectionsAreShared: the idle connection of the owner who has most
// makes room for another, and one whose request is answered does not.
func TestB9_ConnectionsAreShared(t *testing.T) {
	address, _, hold := crowded(t, CrowdOptions{Unidentified: 10, Known: 4})
	working := make(chan int)
	busy := dial(t, address, "")
	if status := ask(busy, "ann", "/"); status != 200 {
		t.Fatal(status)
	}
	var idle []net.Conn
	for range 2 {
		c := dial(t, address, "")
		if status := ask(c, "ann", "/"); status != 200 {
			t.Fatal(status)
		}
		idle = append(idle, c)
	}
	go func() { working <- ask(busy, "ann", "/hold") }()
	<-hold
	if status := ask(dial(t, address, ""), "ann", "/"); status != http.StatusServiceUnavailable {
		t.Errorf("one more than its share: %d", status)
	}
	for _, who := range []string{"bob", "carl"} {
		if status := ask(dial(t, address, ""), who, "/"); status != 200 {
			t.Errorf("a connection of %s: %d", who, status)
		}
	}
	if status := ask(dial(t, address, ""), "dora", "/"); status != 200 {
		t.Errorf("a third: %d", status)
	}
	if status := ask(dial(t, address, ""), "eve", "/"); status != http.StatusServiceUnavailable {
		t.Errorf("one for whom no principal has more than one: %d", status)
	}
	for i, c := range idle {
		if status := ask(c, "ann", "/"); status != 0 {
			t.Errorf("idle connection %d made no room: %d", i, status)
		}
	}
	close(hold)
	if status := <-working; status != 200 {
		t.Errorf("the one that worked: %d", status)
	}
}
