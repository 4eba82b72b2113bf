package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
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

// A name that takes turns among its addresses is remembered with those that it
// had, asked for anew when the answer is old, and once for dials at a time.
func TestA15_DeniedAddressesAreRemembered(t *testing.T) {
	z := &zone{addrs: map[string]string{"x.example": "203.0.114.7"}, asked: map[string]int{}}
	now := time.Now()
	d := NewDeniedNames(&DialOptions{Resolve: z.resolve}, nil)
	d.now = func() time.Time { return now }
	owned := func(addr string) bool {
		name, _ := d.owner(t.Context(), []string{"x.example"}, []netip.Addr{netip.MustParseAddr(addr)})
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
