package egress

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
)

// hello returns the bytes of a ClientHello.
func hello(t testing.TB, name string) []byte {
	t.Helper()
	return helloOf(t, &tls.Config{ServerName: name, InsecureSkipVerify: true})
}

func helloOf(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	here, there := net.Pipe()
	go tls.Client(here, config).Handshake()
	defer here.Close()
	b := make([]byte, 64<<10)
	n, err := there.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// encryptedHello returns a ClientHello whose true name is encrypted (RFC 9849)
// behind the name of a front.
func encryptedHello(t testing.TB, name, front string) []byte {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public := key.PublicKey().Bytes()
	// Identifier, KEM X25519, key, one suite (HKDF-SHA256, AES-128-GCM),
	// longest name, name of the front, no extensions.
	body := append([]byte{1, 0, 0x20, 0, byte(len(public))}, public...)
	body = append(body, 0, 4, 0, 1, 0, 1, 32, byte(len(front)))
	body = append(body, front...)
	body = append(body, 0, 0)
	one := append([]byte{0xfe, 0x0d, 0, byte(len(body))}, body...)
	return helloOf(t, &tls.Config{
		ServerName: name, MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
		EncryptedClientHelloConfigList:      append([]byte{0, byte(len(one))}, one...),
		EncryptedClientHelloRejectionVerify: func(tls.ConnectionState) error { return nil },
	})
}

// fragment cuts one record into records of n bytes.
func fragment(record []byte, n int) []byte {
	var out []byte
	for body := record[5:]; len(body) > 0; {
		part := body[:min(n, len(body))]
		out = append(out, record[0], record[1], record[2], byte(len(part)>>8), byte(len(part)))
		out = append(out, part...)
		body = body[len(part):]
	}
	return out
}

func TestProxyChecksTheClientHello(t *testing.T) {
	t.Parallel()
	a, b := hello(t, "a.example"), hello(t, "b.example")
	tests := []struct {
		name, target string
		sent         []byte
		passes       bool
		host, why    string // of the refusal
	}{
		{"its own name", "a.example:443", a, true, "", ""},
		{"its own name, other case", "A.Example.:443", a, true, "", ""},
		{"its own name, port 80", "a.example:80", a, true, "", ""},
		{"fragments", "a.example:443", fragment(a, 40), true, "", ""},
		{"another granted name", "a.example:443", b, false, "b.example", "is asked for through a tunnel to a.example"},
		{"another name in fragments", "a.example:443", fragment(b, 7), false, "b.example", "through a tunnel"},
		{"a name that is not granted", "a.example:443", hello(t, "evil.example"), false, "evil.example", "through a tunnel"},
		{"a name below", "a.example:443", hello(t, "x.a.example"), false, "x.a.example", "through a tunnel"},
		{"no name", "a.example:443", hello(t, ""), false, "a.example", "is not named in the ClientHello"},
		{"no name, other port", "a.example:8443", hello(t, ""), false, "a.example", "is not named"},
		{"another name, other port", "a.example:8443", b, false, "b.example", "through a tunnel"},
		{"another name, port 80", "a.example:80", b, false, "b.example", "through a tunnel"},
		{"no name for an address", "93.184.215.14:443", hello(t, ""), true, "", ""},
		{"a name for an address", "93.184.215.14:443", a, false, "a.example", "through a tunnel to 93.184.215.14"},
		{"an encrypted name behind another", "a.example:443", encryptedHello(t, "a.example", "front.example"), false, "front.example", "through a tunnel"},
		{"an encrypted name behind its own", "a.example:443", encryptedHello(t, "b.example", "a.example"), true, "", ""},
		{"HTTP on 443", "a.example:443", []byte("GET / HTTP/1.1\r\nHost: b.example\r\n\r\n"), false, "a.example", "in TLS on port 443"},
		{"SSH on 443", "a.example:443", []byte("SSH-2.0-x\r\n"), false, "a.example", "in TLS on port 443"},
		{"SSLv2", "a.example:443", []byte{0x80, 0x2e, 1, 3, 1}, false, "a.example", "in TLS on port 443"},
		{"anything on another port", "a.example:8443", []byte("SSH-2.0-x\r\n"), true, "", ""},
		{"a record of another kind of message", "a.example:8443", []byte("\x16\x03\x01\x00\x04\x02\x00\x00\x00"), false, "a.example", "cannot be read"},
		{"a record of another version", "a.example:8443", append([]byte{0x16, 9}, b[2:]...), false, "b.example", "through a tunnel"},
		{"a record of no version", "a.example:8443", append([]byte{0x16, 0x20}, a[2:]...), false, "a.example", "cannot be read"},
		{"a cut hello", "a.example:443", a[:len(a)/2], false, "a.example", "cannot be read"},
		{"a huge hello", "a.example:443", append([]byte("\x16\x03\x01\x40\x00\x01\x01\x00\x00"), make([]byte, 70<<10)...), false, "a.example", "cannot be read"},
		{"a hello with a second name", "a.example:443", twoNames(t, a, "a.example"), false, "a.example", "cannot be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := make(chan []byte, 1)
			to := listen(t, func(c *net.TCPConn) {
				b, _ := io.ReadAll(c)
				got <- b
				io.WriteString(c, "seen")
			})
			g := allow("a.example", "b.example", "93.184.215.14", "a.example:8443")
			p, addr := startProxy(t, g, direct(to), nil)
			c, r := tunnelTo(t, addr, tt.target)
			c.Write(tt.sent)
			c.(*net.TCPConn).CloseWrite()
			answer, _ := io.ReadAll(r)
			if sent := <-got; tt.passes && (string(sent) != string(tt.sent) || string(answer) != "seen") {
				t.Errorf("the server got %d bytes and the child %q, want all and an answer", len(sent), answer)
			} else if !tt.passes && (len(sent) > 0 || len(answer) > 0) {
				t.Errorf("the server got %d bytes and the child %q, want nothing", len(sent), answer)
			}
			p.Close()
			if tt.host != "" {
				if u := findUse(t, p, tt.host, false); !strings.Contains(u.Why, tt.why) {
					t.Errorf("recorded %+v, want %q", u, tt.why)
				}
			}
		})
	}
}

// twoNames puts a second entry behind the name in the server_name extension
// and corrects the lengths around it.
func twoNames(t testing.TB, record []byte, name string) []byte {
	t.Helper()
	text := hex.EncodeToString(record)
	entry := func(n string) string {
		return "00" + hex.EncodeToString([]byte{byte(len(n) >> 8), byte(len(n))}) + hex.EncodeToString([]byte(n))
	}
	u16 := func(n int) string { return hex.EncodeToString([]byte{byte(n >> 8), byte(n)}) }
	one := entry(name)
	old := "0000" + u16(len(one)/2+2) + u16(len(one)/2) + one
	second := entry("evil.example")
	both := one + second
	if !strings.Contains(text, old) {
		t.Fatal("no server_name in the hello")
	}
	text = strings.Replace(text, old, "0000"+u16(len(both)/2+2)+u16(len(both)/2)+both, 1)
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	add := len(second) / 2
	grow := func(at, size int) {
		n := 0
		for i := range size {
			n = n<<8 | int(b[at+i])
		}
		n += add
		for i := size - 1; i >= 0; i-- {
			b[at+i] = byte(n)
			n >>= 8
		}
	}
	grow(3, 2) // the record
	grow(6, 3) // the message
	// The extensions: behind version, random, session, suites, compression.
	at := 9 + 2 + 32
	at += 1 + int(b[at])
	at += 2 + int(b[at])<<8 + int(b[at+1])
	at += 1 + int(b[at])
	grow(at, 2)
	return b
}
