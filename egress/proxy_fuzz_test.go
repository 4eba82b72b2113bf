package egress

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/reach"
)

// FuzzRequestHead: what passes is one request for net/http too, with the same
// target and one length; and it ends where the proxy thinks.
func FuzzRequestHead(f *testing.F) {
	for _, s := range []string{
		"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"POST http://a.example/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
		"POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01",
		"CONNECT b.example\x00.a.example:443 HTTP/1.1\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\nX: 1\r\n folded\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\nHost: x\n\n",
		"GET / HTTP/1.0\r\n\r\n",
		"\x05\x01\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), maxHead)
		h, err := peekHead(r)
		if err != nil {
			return
		}
		raw := data[:h.size]
		if !bytes.HasSuffix(raw, []byte("\r\n\r\n")) || bytes.Contains(raw[:h.size-4], []byte("\r\n\r\n")) {
			t.Fatalf("the head of %q ends at %d", data, h.size)
		}
		if bytes.ContainsAny(bytes.ReplaceAll(raw, []byte("\r\n"), nil), "\r\n\x00") {
			t.Fatalf("passed %q", raw)
		}
		if h.method == http.MethodConnect {
			if host, port, bad := connectTarget(h.target); bad == nil {
				if again, err := reach.CanonicalHost(host); err != nil || again != host || port == 0 {
					t.Fatalf("CONNECT %q leads to %q, port %d", h.target, host, port)
				}
			}
			return
		}
		req, err := http.ReadRequest(r)
		if err != nil {
			return // refused after all
		}
		if req.Method != h.method || req.RequestURI != h.target {
			t.Fatalf("%q is %s %s to net/http", raw, req.Method, req.RequestURI)
		}
		if h.body != (req.ContentLength != 0) {
			t.Fatalf("%q has length %d to net/http", raw, req.ContentLength)
		}
		u, to, bad := requestTarget(req, h, nil)
		if bad != nil {
			return
		}
		if host, _, err := reach.SplitHostPort(u.Host); err != nil || host != to.host || u.User != nil || u.Scheme != "http" {
			t.Fatalf("%q leads to %s, judged as %s", raw, u, to.host)
		}
	})
}

// FuzzHelloName: no input makes the reader panic, hang or consume; a name is
// found only in a handshake, and the same bytes cut into fragments name the
// same.
func FuzzHelloName(f *testing.F) {
	f.Add(hello(f, "a.example"))
	f.Add(hello(f, ""))
	f.Add(fragment(hello(f, "a.example"), 9))
	f.Add(twoNames(f, hello(f, "a.example"), "a.example"))
	f.Add([]byte("\x16\x03\x01\x00\x04\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), maxHead)
		name, err := helloName(r)
		if err != nil && name != "" {
			t.Fatalf("helloName = %q with %v", name, err)
		}
		if err == nil && data[0] != recordHandshake {
			t.Fatalf("a name in %q", data)
		}
		if rest, _ := io.ReadAll(r); !bytes.Equal(rest, data) {
			t.Fatal("bytes were consumed")
		}
		if err != nil || len(data) < 5 || len(data) > 4096 || len(data) != 5+int(data[3])<<8+int(data[4]) {
			return
		}
		again, err := helloName(bufio.NewReaderSize(bytes.NewReader(fragment(data, 100)), maxHead))
		if err != nil || again != name {
			t.Fatalf("in fragments: %q, %v, want %q", again, err, name)
		}
	})
}

// FuzzSOCKS: what is asked for is canonical or refused.
func FuzzSOCKS(f *testing.F) {
	f.Add("\x05\x01\x00\x03\x09a.example\x00\x50")
	f.Add("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50")
	f.Add("\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\x00\x50")
	f.Add("\x05\x02\x00\x03\x01\x00\x00\x00")
	f.Fuzz(func(t *testing.T, data string) {
		host, port, code, err := socksRequest(strings.NewReader(data))
		if err != nil || code != socksDone {
			return
		}
		if again, err := reach.CanonicalHost(host); err != nil || again != host || port == 0 {
			t.Fatalf("socksRequest(%q) = %q, %d", data, host, port)
		}
	})
}
