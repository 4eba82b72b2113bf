package egress

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/proxy"
)

func TestProxySOCKS(t *testing.T) {
	t.Parallel()
	name := func(host string, port string) string {
		return "\x05\x01\x00\x03" + string(rune(len(host))) + host + port
	}
	const web = "\x00\x50"
	tests := []struct {
		name, sent, want string // after the greeting
		host             string // of a recorded refusal
	}{
		{"granted", name("a.example", web), "\x05\x00", ""},
		{"granted, other case", name("A.Example.", web), "\x05\x00", ""},
		{"granted address", "\x05\x01\x00\x01\x5d\xb8\xd7\x0e" + web, "\x05\x00", ""},
		{"granted IPv6 address", "\x05\x01\x00\x04\x26\x06\x47\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x11\x11" + web, "\x05\x00", ""},
		{"other host", name("b.example", web), "\x05\x02", "b.example"},
		{"other port", name("a.example", "\x00\x16"), "\x05\x02", "a.example"},
		{"loopback", "\x05\x01\x00\x01\x7f\x00\x00\x01" + web, "\x05\x02", "127.0.0.1"},
		{"loopback by name", name("localhost", web), "\x05\x02", "localhost"},
		{"metadata", "\x05\x01\x00\x01\xa9\xfe\xa9\xfe" + web, "\x05\x02", "169.254.169.254"},
		{"metadata, mapped", "\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xa9\xfe\xa9\xfe" + web, "\x05\x02", "::ffff:169.254.169.254"},
		{"private answer", name("inside.example", web), "\x05\x02", "inside.example"},
		{"NUL", name("b.example\x00.a.example", web), "\x05\x02", `"b.example\x00.a.example"`},
		{"hexadecimal", name("0x7f000001", web), "\x05\x02", `"0x7f000001"`},
		{"zone", name("fe80::1%lo", web), "\x05\x02", `"fe80::1%lo"`},
		{"name with a port", name("a.example:80", web), "\x05\x02", `"a.example:80"`},
		{"empty name", "\x05\x01\x00\x03\x00" + web, "\x05\x02", `""`},
		{"no such name", name("gone.example", web), "\x05\x04", ""},
		{"port 0", name("a.example", "\x00\x00"), "\x05\x01", ""},
		{"BIND", strings.Replace(name("a.example", web), "\x05\x01", "\x05\x02", 1), "\x05\x07", ""},
		{"UDP", strings.Replace(name("a.example", web), "\x05\x01", "\x05\x03", 1), "\x05\x07", ""},
		{"other kind of address", "\x05\x01\x00\x02xxxx", "\x05\x08", ""},
		{"reserved byte", "\x05\x01\x01\x03" + name("a.example", web)[4:], "", ""},
		{"other version", "\x04" + name("a.example", web)[1:], "", ""},
		{"cut", "\x05\x01\x00\x03\x09a.ex", "", ""},
	}
	to := listen(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	d := direct(to)
	answers := public()
	answers["inside.example"] = [][]netip.Addr{addrs("10.0.0.5")}
	answers["gone.example"] = [][]netip.Addr{}
	w := newWorld(t, answers, ok)
	d.Resolve = w.resolve
	p, addr := startProxy(t, allow("a.example", "93.184.215.14", "2606:4700::1111", "inside.example", "gone.example"), d, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := say5(t, addr, "\x05\x01\x00"+tt.sent)
			if want := "\x05\x00" + tt.want; !strings.HasPrefix(got, want) || tt.want == "" && got != want {
				t.Errorf("answer = %q, want %q", got, want)
			}
			if tt.host != "" {
				findUse(t, p, tt.host, false)
			}
		})
	}
}

// say5 sends bytes and half-closes, so that a tunnel ends too.
func say5(t *testing.T, addr, text string) string {
	t.Helper()
	c := connectTo(t, addr)
	defer c.Close()
	io.WriteString(c, text)
	c.CloseWrite()
	b, _ := io.ReadAll(c)
	return string(b)
}

func TestProxySOCKSMethods(t *testing.T) {
	t.Parallel()
	_, addr := startProxy(t, allow("a.example"), direct("127.0.0.1:1"), nil)
	for sent, want := range map[string]string{
		"\x05\x00":         "\x05\xff",
		"\x05\x01\x01":     "\x05\xff",
		"\x05\x02\x02\x00": "\x05\x00",
		"\x05\x01\x02\x01\x01u\x01p\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50": "\x05\x02\x01\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00",
		"\x05\x01\x02\x02\x01u\x01p":                                         "\x05\x02",
	} {
		if got := say5(t, addr, sent); got != want {
			t.Errorf("%q = %q, want %q", sent, got, want)
		}
	}
}

// TestProxySOCKSChecksTheClientHello is the tunnel of CONNECT by another way
// in.
func TestProxySOCKSChecksTheClientHello(t *testing.T) {
	t.Parallel()
	got := make(chan []byte, 1)
	to := listen(t, func(c *net.TCPConn) {
		b, _ := io.ReadAll(c)
		got <- b
	})
	p, addr := startProxy(t, allow("a.example", "b.example"), direct(to), nil)
	d, err := proxy.SOCKS5("tcp", addr, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Dial("tcp", "a.example:443")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Write(hello(t, "b.example"))
	io.ReadAll(c)
	if b := <-got; len(b) > 0 {
		t.Errorf("the server got %d bytes of another host's hello", len(b))
	}
	findUse(t, p, "b.example", false)
}
