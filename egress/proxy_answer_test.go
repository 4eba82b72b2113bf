package egress

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// scripted serves raw answers: whatever is asked, once the head is read.
func scripted(t *testing.T, answer string) string {
	return listen(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" {
				break
			}
		}
		io.WriteString(c, answer)
		c.CloseWrite()
		io.Copy(io.Discard, r)
	})
}

func TestProxyPassesAnswers(t *testing.T) {
	t.Parallel()
	const get, post = "GET http://a.example/ HTTP/1.1\r\n\r\n", "POST http://a.example/ HTTP/1.1\r\nContent-Length: 500000\r\n\r\nonly this"
	tests := []struct{ name, request, answer, status, end string }{
		{"length", get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200", "\r\n\r\nok"},
		{"chunks", get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "200", "2\r\nok\r\n0\r\n\r\n"},
		{"until the end", get, "HTTP/1.1 200 OK\r\n\r\nok", "200", "2\r\nok\r\n0\r\n\r\n"},
		{"until the end, HTTP/1.0", strings.Replace(get, "/1.1", "/1.0", 1), "HTTP/1.0 200 OK\r\n\r\nok", "200", "\r\n\r\nok"},
		{"no content", get, "HTTP/1.1 204 No Content\r\n\r\n", "204", "\r\n\r\n"},
		{"reason", get, "HTTP/1.1 404 whatever it says\r\nContent-Length: 0\r\n\r\n", "404", "\r\n\r\n"},
		{"interim", get, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200", "\r\n\r\nok"},
		{"protocol change", get, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "502", "without being asked\n"},
		{"two lengths", get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "502", "did not answer\n"},
		{"a head without end", get, "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHeaderBytes), "502", "did not answer\n"},
		{"before the body is sent", post, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno", "413", "\r\n\r\nno"},
		{"broken off, length", get, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbroken", "200", "broken"},
		{"broken off, chunks", get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbroken", "200", "\r\n6\r\nbroken\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, addr := startProxy(t, allow("a.example"), direct(scripted(t, tt.answer)), nil)
			c := connectTo(t, addr)
			io.WriteString(c, tt.request)
			if !strings.HasPrefix(tt.request, "POST") {
				c.CloseWrite()
			}
			b, err := io.ReadAll(c)
			if got := string(b); status(got) != tt.status || !strings.HasSuffix(got, tt.end) || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("answer = %q, %v, want %s and %q at the end", got, err, tt.status, tt.end)
			}
			if strings.Contains(string(b), "whatever") {
				t.Errorf("the reason is the server's: %q", b)
			}
		})
	}
}

func TestProxyNotesWhatIsNotSpliced(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"header": "X-Key: " + standIn,
		"basic":  "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+standIn)),
		"none":   "X-Key: other",
	} {
		for _, host := range []string{"a.example", "b.example"} {
			p, addr := startProxy(t, allow("a.example", "b.example"), direct(scripted(t, "HTTP/1.1 204 x\r\n\r\n")), spliceFor("a.example"))
			got := say(t, addr, "GET http://"+host+"/ HTTP/1.1\r\nConnection: close\r\n"+header+"\r\n\r\n")
			p.Close()
			why := findUse(t, p, host, true).Why
			if want := name != "none" && host == "a.example"; status(got) != "204" || (why != "") != want {
				t.Errorf("%s to %s: %s, noted %q, want a note %t", name, host, status(got), why, want)
			}
		}
	}
}

// faulty is a listener that fails in turn.
type faulty struct {
	net.Listener
	errs []error
}

func (f *faulty) Accept() (net.Conn, error) {
	err := f.errs[0]
	if f.errs = f.errs[1:]; err != nil {
		return nil, err
	}
	return f.Listener.Accept()
}

func TestServeOutlivesExhaustion(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProxy(&Policy{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	broken := errors.New("broken")
	f := &faulty{Listener: l, errs: []error{fmt.Errorf("accept: %w", syscall.EMFILE), nil, broken}}
	served := make(chan error, 1)
	go func() { served <- p.Serve(f) }()
	if got := say(t, l.Addr().String(), "GET http://a.example/ HTTP/1.1\r\n\r\n"); status(got) != "403" {
		t.Errorf("answer = %q", got)
	}
	if err := <-served; err != broken {
		t.Errorf("Serve = %v, want the listener's failure", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener is open after Serve")
	}
}
