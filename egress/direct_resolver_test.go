package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sallyport/sallyport"
)

// ask puts a question to the resolver.
func ask(t testing.TB, p *Proxy, name string, kind dnsmessage.Type) (answers []netip.Addr, code dnsmessage.RCode) {
	t.Helper()
	q := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	packet, err := q.Pack()
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(p.answerQuestion(packet)); err != nil {
		t.Fatal(err)
	}
	if m.ID != 7 || !m.Response || len(m.Questions) != 1 || m.Questions[0] != q.Questions[0] {
		t.Errorf("the answer for %s is %+v", name, m)
	}
	for _, r := range m.Answers {
		switch b := r.Body.(type) {
		case *dnsmessage.AResource:
			answers = append(answers, netip.AddrFrom4(b.A))
		case *dnsmessage.AAAAResource:
			answers = append(answers, netip.AddrFrom16(b.AAAA))
		default:
			t.Errorf("the answer for %s holds %v", name, r)
		}
	}
	return answers, m.RCode
}

// addressIn returns the address that a child is told for a name.
func addressIn(t testing.TB, p *Proxy, name string) netip.Addr {
	t.Helper()
	a, code := ask(t, p, name+".", dnsmessage.TypeA)
	if len(a) != 1 || code != dnsmessage.RCodeSuccess {
		t.Fatalf("the addresses of %s = %v, %v", name, a, code)
	}
	return a[0]
}

func TestNamesOfTheGrantHaveAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), tellHost)
	p, _ := w.proxy(t, sallyport.NetworkGrant{
		Allow: []string{"a.example.org", "*.below.example.org:5432", "denied.example.org"}, Deny: []string{"denied.example.org"},
	}, nil)
	for _, c := range []struct {
		name string
		kind dnsmessage.Type
		n    int
		code dnsmessage.RCode
	}{
		{"a.example.org.", dnsmessage.TypeA, 1, dnsmessage.RCodeSuccess},
		{"A.eXample.org.", dnsmessage.TypeA, 1, dnsmessage.RCodeSuccess},
		{"a.example.org.", dnsmessage.TypeAAAA, 0, dnsmessage.RCodeSuccess},
		{"a.example.org.", dnsmessage.TypeTXT, 0, dnsmessage.RCodeSuccess},
		{"a.example.org.", 65, 0, dnsmessage.RCodeSuccess},
		{"x.below.example.org.", dnsmessage.TypeA, 1, dnsmessage.RCodeSuccess},
		{"below.example.org.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{"denied.example.org.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{"b.example.org.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{"secret.b.example.org.", dnsmessage.TypeTXT, 0, dnsmessage.RCodeNameError},
		{"127.0.0.1.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{"metadata.google.internal.", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError},
		{".", dnsmessage.TypeNS, 0, dnsmessage.RCodeNameError},
	} {
		if a, code := ask(t, p, c.name, c.kind); len(a) != c.n || code != c.code {
			t.Errorf("%s, %v = %v, %v, want %d addresses, %v", c.name, c.kind, a, code, c.n, c.code)
		}
	}
	findUse(t, p, "b.example.org", false)
	findUse(t, p, "secret.b.example.org", false)
	if u := findUse(t, p, "denied.example.org", false); !strings.Contains(u.Why, whyDenied) {
		t.Errorf("a denied name: %+v", u)
	}
	if len(w.asked) > 0 {
		t.Errorf("questions that left: %v", w.asked)
	}
	p.GiveIPv6()
	if a, _ := ask(t, p, "a.example.org.", dnsmessage.TypeAAAA); len(a) != 1 || !nameRange6.Contains(a[0]) {
		t.Errorf("AAAA = %v", a)
	}
}

func TestAnAddressKeepsItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), tellHost)
	p, _ := w.proxy(t, sallyport.NetworkGrant{Allow: []string{"*.example.org", "listed.example.com"}}, nil)
	first := addressIn(t, p, "n0.example.org")
	seen := map[netip.Addr]bool{first: true}
	for i := 1; i < maxWildNames; i++ {
		a := addressIn(t, p, fmt.Sprintf("n%d.example.org", i))
		if seen[a] || !nameRange.Contains(a) {
			t.Fatalf("name %d has the address %v", i, a)
		}
		seen[a] = true
	}
	for range 3 {
		if a, code := ask(t, p, "more.example.org.", dnsmessage.TypeA); a != nil || code != dnsmessage.RCodeServerFailure {
			t.Errorf("a name beyond the bound = %v, %v", a, code)
		}
	}
	if u := findUse(t, p, hostMore, false); !strings.Contains(u.Why, "no address") {
		t.Errorf("names beyond the bound: %+v", u)
	}
	if a := addressIn(t, p, "listed.example.com"); seen[a] {
		t.Errorf("a listed name has an address of another, %v", a)
	}
	if a := addressIn(t, p, "n0.example.org"); a != first {
		t.Errorf("the address of a name was %v and is %v", first, a)
	}
}

func TestQuestionsOverSockets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), tellHost)
	p, _ := w.proxy(t, sallyport.NetworkGrant{Allow: []string{"a.example.org"}}, nil)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() { done <- p.ServeNames(udp) }()
	go func() { done <- p.ServeNamesTCP(tcp) }()
	for network, addr := range map[string]string{"udp": udp.LocalAddr().String(), "tcp": tcp.Addr().String()} {
		r := net.Resolver{PreferGo: true}
		var d net.Dialer
		r.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, network, addr) }
		got, err := r.LookupNetIP(t.Context(), "ip4", "a.example.org.")
		if err != nil || len(got) != 1 || !nameRange.Contains(got[0].Unmap()) {
			t.Errorf("%s: %v, %v", network, got, err)
		}
		var missing *net.DNSError
		if _, err := r.LookupNetIP(t.Context(), "ip4", "b.example.org."); !errors.As(err, &missing) || !missing.IsNotFound {
			t.Errorf("%s: another name: %v", network, err)
		}
	}
	p.Close()
	for range 2 {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("serving names = %v", err)
			}
		case <-time.After(patience):
			t.Fatal("the resolver outlives its proxy")
		}
	}
}

// What is no question is not answered, and nothing that comes ends the resolver.
func FuzzAnswerQuestion(f *testing.F) {
	policy, err := NewPolicy(sallyport.NetworkGrant{Allow: []string{"*.example.org", "a.example.org:5432"}})
	if err != nil {
		f.Fatal(err)
	}
	p, err := NewProxy(policy, nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x03org\x00\x00\x01\x00\x01"))
	f.Add([]byte("\x00\x07\x81\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01"))
	f.Add([]byte("\x00\x07\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		out := p.answerQuestion(packet)
		if out == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(out); err != nil || !m.Response || len(m.Answers) > 1 || len(out) > 512 {
			t.Errorf("%x is answered %x: %v", packet, out, err)
		}
	})
}

// A burst is answered at once; then questions take turns.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pace queryPace
		start := time.Now()
		for range queryBurst {
			pace.awaitTurn(t.Context())
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("the burst took %v", d)
		}
		for range 5 * queriesPerSecond {
			pace.awaitTurn(t.Context())
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("%d questions after it took %v, want 5 s", 5*queriesPerSecond, d)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		pace.awaitTurn(gone)
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("a proxy that ends waits until %v", d)
		}
	})
}
