package egress

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// zone is a resolver whose answers a test changes. It counts the questions.
type zone struct {
	addrs map[string]string
	fails map[string]bool
	asked map[string]int
}

func (z *zone) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	z.asked[host]++
	if z.fails[host] {
		return nil, errors.New("the server does not answer")
	}
	list, ok := z.addrs[host]
	if !ok {
		return nil, &net.DNSError{Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for _, a := range strings.Fields(list) {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// reached dials a host and says whether something was dialled.
func reached(t *testing.T, g sallyport.NetworkGrant, z *zone, host string, port uint16) (bool, error) {
	t.Helper()
	p, err := NewPolicy(g)
	if err != nil {
		t.Fatal(err)
	}
	z.asked = map[string]int{}
	dialled := false
	d := newPolicyDialer(p, &DialOptions{Resolve: z.resolve, Dial: func(context.Context, string, netip.AddrPort) (net.Conn, error) {
		dialled = true
		a, b := net.Pipe()
		b.Close()
		return a, nil
	}})
	conn, err := d.Dial(t.Context(), "tcp", host, port)
	if conn != nil {
		conn.Close()
	}
	return dialled, err
}

func TestA15_ADeniedHostHasNoOtherName(t *testing.T) {
	t.Parallel()
	z := &zone{addrs: map[string]string{
		"x.example": "203.0.114.7 203.0.114.8 2001:4860::7", "alias.example": "203.0.114.8", "mixed.example": "198.51.101.1 203.0.114.7",
		"other.example": "198.51.101.1", "sub.x.example": "203.0.114.7", "listed.example": "203.0.114.7",
	}}
	any := []string{"*", "*:8443", "listed.example"}
	for _, tt := range []struct {
		host string
		port uint16
		deny string
		want bool
	}{
		{"x.example", 443, "x.example", false},
		{"203.0.114.7", 443, "x.example", false},
		{"203.0.114.8", 80, "x.example", false},
		{"2001:4860::7", 443, "x.example", false},
		{"alias.example", 443, "x.example", false},
		{"alias.example", 8443, "x.example", false},
		{"mixed.example", 443, "x.example", false},
		{"sub.x.example", 443, "x.example", false},
		{"other.example", 443, "x.example", true},
		{"198.51.101.1", 443, "x.example", true},
		// The rule is about one port.
		{"alias.example", 443, "x.example:8443", true},
		{"alias.example", 8443, "x.example:8443", false},
		// The operator named this one, which shares an address.
		{"listed.example", 443, "x.example", true},
		// A name without addresses denies none.
		{"alias.example", 443, "gone.example", true},
	} {
		dialled, err := reached(t, sallyport.NetworkGrant{Allow: any, Deny: []string{tt.deny}}, z, tt.host, tt.port)
		if dialled != tt.want || tt.want != (err == nil) {
			t.Errorf("deny %s: %s:%d dialled %v, %v, want %v", tt.deny, tt.host, tt.port, dialled, err, tt.want)
		}
		if err != nil && !errors.Is(err, sallyport.ErrHostNotAllowed) {
			t.Errorf("%s: %v, want HOST_NOT_ALLOWED", tt.host, err)
		}
		if err != nil && strings.Contains(err.Error(), "x.example") && tt.host != "x.example" && tt.host != "sub.x.example" {
			t.Errorf("%s: %v names the rule", tt.host, err)
		}
	}
}

// A name that takes turns among its addresses is remembered with those that it
// had, asked for anew when the answer is old, and once for dials at a time.
func TestA15_DeniedAddressesAreRemembered(t *testing.T) {
	t.Parallel()
	z := &zone{addrs: map[string]string{"x.example": "203.0.114.7"}, asked: map[string]int{}}
	now := time.Now()
	d := NewDeniedNames(&DialOptions{Resolve: z.resolve}, nil)
	d.now = func() time.Time { return now }
	owned := func(addr string) bool {
		name, _ := d.findOwner(t.Context(), []string{"x.example"}, []netip.Addr{netip.MustParseAddr(addr)})
		return name != ""
	}
	if !owned("203.0.114.7") || owned("203.0.114.8") || !owned("::ffff:203.0.114.7") || z.asked["x.example"] != 1 {
		t.Errorf("asked %v", z.asked)
	}
	z.addrs["x.example"] = "203.0.114.8"
	now = now.Add(deniedAge)
	if !owned("203.0.114.8") || !owned("203.0.114.7") || z.asked["x.example"] != 2 {
		t.Errorf("after a turn: asked %v", z.asked)
	}
	now = now.Add(deniedMemory + time.Second)
	if owned("203.0.114.7") || !owned("203.0.114.8") {
		t.Error("an address that is gone for long still counts, or one that is there does not")
	}
}

// What cannot be looked up is refused by name alone, which is said; it does not
// end other traffic.
func TestA15_AnUnknownAddressDoesNotEndTraffic(t *testing.T) {
	t.Parallel()
	z := &zone{addrs: map[string]string{"y.example": "198.51.101.1"}, fails: map[string]bool{"x.example": true}}
	g := sallyport.NetworkGrant{Allow: []string{"*"}, Deny: []string{"x.example"}}
	if dialled, err := reached(t, g, z, "y.example", 443); !dialled {
		t.Errorf("y.example: %v, want it reached", err)
	}
	if dialled, _ := reached(t, g, z, "x.example", 443); dialled {
		t.Error("x.example was reached")
	}
	var log bytes.Buffer
	d := NewDeniedNames(&DialOptions{Resolve: z.resolve}, slog.New(slog.NewTextHandler(&log, nil)))
	d.findOwner(t.Context(), []string{"x.example"}, nil)
	if !strings.Contains(log.String(), "refused by name alone") || !strings.Contains(log.String(), "x.example") {
		t.Errorf("log = %q", log.String())
	}
}
