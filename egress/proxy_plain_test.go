package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"golang.org/x/net/proxy"
)

// TestSpliceHidesOnEveryPort has a server that keeps what it got with TLS and
// shows it to every client, on whatever port.
func TestSpliceHidesOnEveryPort(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	kept, sent := "", ""
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if v := r.Header.Get("Authorization"); v != "" {
			kept = v
		}
		sent = fmt.Sprint(r.Header)
		if r.URL.Path == "/part" {
			rw.WriteHeader(http.StatusPartialContent)
		}
		fmt.Fprintf(rw, "<%s>", kept)
	})
	p, addr := w.proxy(t, allow("a.example", "a.example:8080", "a.example:8443"), spliceFor("a.example"))
	c := trusting(t, w, p, addr)
	req, err := http.NewRequest("GET", "https://a.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", standIn)
	resp, err := c.Do(req)
	if err != nil || kept != value {
		t.Fatalf("the server keeps %q, %v, want the value", kept, err)
	}
	resp.Body.Close()
	want := "<" + standIn + ">"
	for _, url := range []string{"http://a.example/", "http://a.example:8080/", "https://a.example:8443/"} {
		resp, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(b) != want || !strings.Contains(sent, "identity") {
			t.Errorf("%s shows %q, asked with %s, want the stand-in and no other encoding", url, b, sent)
		}
	}
	if resp, err := c.Get("http://a.example/part"); err != nil || resp.StatusCode != http.StatusBadGateway {
		t.Errorf("a part without encryption = %v, %v, want 502", resp, err)
	}
	const get = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
	raw, r := tunnelTo(t, addr, "a.example:80")
	io.WriteString(raw, get)
	if b, _ := io.ReadAll(r); !strings.Contains(string(b), want) {
		t.Errorf("a tunnel to port 80 shows %q", b)
	}
	d, err := proxy.SOCKS5("tcp", addr, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Dial("tcp", "a.example:80")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	io.WriteString(s, get)
	if b, _ := io.ReadAll(s); !strings.Contains(string(b), want) {
		t.Errorf("a tunnel of SOCKS to port 80 shows %q", b)
	}
	raw, r = tunnelTo(t, addr, "a.example:8080")
	io.WriteString(raw, get)
	if b, _ := io.ReadAll(r); len(b) > 0 {
		t.Errorf("a tunnel without TLS to another port shows %q", b)
	}
}

// TestSpliceSendsTheValueToItsPortOnly: other ports of the host get the
// stand-in, encrypted or not.
func TestSpliceSendsTheValueToItsPortOnly(t *testing.T) {
	t.Parallel()
	s, err := newSpliceSet(spliceFor("a.example").Splices)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host        string
		port        uint16
		encrypted   bool
		hides, puts bool
	}{
		{"a.example", 443, true, true, true},
		{"a.example", 443, false, true, false},
		{"a.example", 80, true, true, false},
		{"a.example", 8443, true, true, false},
		{"a.example", 8080, false, true, false},
		{"b.example", 443, true, false, false},
	} {
		w := s.swapFor(tt.host, tt.port, tt.encrypted)
		if (w != nil) != tt.hides || (w != nil && len(w.standIns) > 0) != tt.puts {
			t.Errorf("at(%s, %d, %t) = %v, want hiding %t and putting in %t", tt.host, tt.port, tt.encrypted, w != nil, tt.hides, tt.puts)
		}
	}
}

// TestProxyReadsPlainTunnels: a granted name is no door to its neighbours on
// a server of many names, in whatever tunnel and with whichever request.
func TestProxyReadsPlainTunnels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "host "+r.Host) })
	_, addr := w.proxy(t, allow("a.example", "a.example:8080"), nil)
	own := "GET / HTTP/1.1\r\nHost: $\r\n\r\n"
	other := "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	for _, target := range []string{"a.example:80", "a.example:8080"} {
		host := strings.TrimSuffix(target, ":80")
		for name, tt := range map[string]struct {
			sent  string
			shown bool
		}{
			"own name":             {own + strings.Replace(own, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1), true},
			"another name":         {other, false},
			"no name":              {"GET / HTTP/1.0\r\n\r\n", false},
			"another name second":  {own + other, true},
			"absolute":             {"GET http://evil.example/ HTTP/1.1\r\nHost: $\r\n\r\n", false},
			"absolute, no version": {"GET http://evil.example/\r\n\r\n", false},
			"bare line feeds":      {"GET / HTTP/1.1\nHost: evil.example\n\n", false},
			"an empty line first":  {"\r\n" + other, false},
			"blanks":               {"GET\t/  HTTP/1.1 \r\nHost: evil.example\r\n\r\n", false},
			"a tunnel":             {"CONNECT evil.example:80 HTTP/1.1\r\nHost: $\r\n\r\n", false},
			"HTTP/2":               {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false},
		} {
			c, r := tunnelTo(t, addr, target)
			io.WriteString(c, strings.ReplaceAll(tt.sent, "$", host))
			b, err := io.ReadAll(r)
			if got := string(b); strings.Contains(got, "host evil") || strings.Contains(got, "host "+host) != tt.shown || err != nil {
				t.Errorf("%s in a tunnel to %s: %q, %v, want an answer %t and none of another host", name, target, got, err, tt.shown)
			}
		}
	}
	// Byte by byte is no way around it either.
	c, r := tunnelTo(t, addr, "a.example:8080")
	io.Copy(c, iotest.OneByteReader(strings.NewReader(other)))
	if b, _ := io.ReadAll(r); strings.Contains(string(b), "host") {
		t.Errorf("another name in pieces: %q", b)
	}
}

// TestA17_OddRequestsDoNotPassRaw: what a lenient server takes for a request
// never goes to it unread, nor is it sent on.
func TestA17_OddRequestsDoNotPassRaw(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 100)
	to := listen(t, func(c *net.TCPConn) {
		b, _ := io.ReadAll(c)
		if len(b) > 0 {
			reached <- string(b)
		}
	})
	_, addr := startProxy(t, allow("a.example:8080"), direct(to), nil)
	const rest = "\r\nHost: evil.example\r\n\r\n"
	for _, line := range []string{
		"GET\x0b/ HTTP/1.1", "GET\x0c/ HTTP/1.1", "GET\r/ HTTP/1.1", "GET\x1c/ HTTP/1.1", "GET\x1f/ HTTP/1.1",
		"GET\x85/ HTTP/1.1", "GET\xa0/ HTTP/1.1", "\x0bGET / HTTP/1.1", "\x0c\r\nGET / HTTP/1.1", "\xa0 GET / HTTP/1.1",
		"GET /\x0bHTTP/1.1", "GET /\x00 HTTP/1.1", "GET / \x00 HTTP/1.1", "GET / HTTP/1.1 x", "GET / HTTP/1.1\x0bx",
		"get\x0b/ http/1.1", "GET\x0bhttp://evil.example/", "M-SEARCH\x0b/ HTTP/1.1", "GET / HTTP/9",
	} {
		c, r := tunnelTo(t, addr, "a.example:8080")
		io.WriteString(c, line+rest)
		if b, _ := io.ReadAll(r); status(string(b)) != "400" {
			t.Errorf("%q is answered %q, want 400", line, b)
		}
	}
	select {
	case got := <-reached:
		t.Errorf("the server got %q", got)
	default:
	}
	// Other protocols pass, also those whose first bytes look like a word.
	for _, text := range []string{"0\x1c\x02\x01\x01\x60\x17", "AMQP\x00\x00\x09\x01", "0032git-upload-pack /x.git\x00h", "EHLO x\r\n"} {
		c, _ := tunnelTo(t, addr, "a.example:8080")
		io.WriteString(c, text)
		c.(*net.TCPConn).CloseWrite()
		if got := <-reached; got != text {
			t.Errorf("the server got %q, want %q", got, text)
		}
	}
}

func TestSpeaksHTTP(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"GET / HTTP/1.1\r\n":              true,
		"\r\n\nget / http/1.0\n":          true,
		"POST  /x\tHTTP/1.1 \r\n":         true,
		"M-SEARCH * HTTP/1.1\r\n":         true,
		"PRI * HTTP/2.0\r\n":              true,
		"GET /a\x01b HTTP/1.1\r\n":        true,
		"GET hTTp://b.example/\r\n":       true,
		"SSH-2.0-x\r\n":                   false,
		"EHLO a.example\r\n":              false,
		"HELP\r\n":                        false,
		"*1\r\n$4\r\nPING\r\n":            false,
		"AMQP\x00\x00\x09\x01":            false,
		"\x00\x00\x00\x08\x04\xd2\x16/":   false,
		"0032git-upload-pack /x.git\x00h": false,
		"early":                           false,
		"GET / HTTP/1.1":                  false, // and then the end
		"DESCRIBE rtsp://b RTSP/1.0\r\n":  false,
		strings.Repeat("x", maxMethod+1):  false,
		"":                                false,
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			b := bufio.NewReaderSize(r, maxHead)
			got, err := speaksHTTP(b)
			if rest, _ := io.ReadAll(b); got != want || err != nil || string(rest) != text {
				t.Errorf("speaksHTTP(%q) = %t, %v, leaves %q, want %t", text, got, err, rest, want)
			}
		}
	}
	r := bufio.NewReaderSize(bytes.NewReader(append([]byte("GET /"), bytes.Repeat([]byte("x"), maxFirstLine)...)), maxHead)
	if _, err := speaksHTTP(r); !errors.Is(err, errLongHead) {
		t.Errorf("a line without an end = %v", err)
	}
}
