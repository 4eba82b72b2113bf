package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// reservedServer is a server on loopback to which nothing may be connected, under
// two names: an address and door.example.
type reservedServer struct {
	at    netip.AddrPort
	grant sallyport.NetworkGrant
	dial  *DialOptions
}

func newReservedServer(t *testing.T) *reservedServer {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the reserved listener was asked for %s", r.URL)
	}))
	s.Start()
	t.Cleanup(s.Close)
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	name := fmt.Sprintf("door.example:%d", at.Port())
	return &reservedServer{
		at:    at,
		grant: sallyport.NetworkGrant{Allow: []string{at.String(), name, fmt.Sprintf("localhost:%d", at.Port())}, Private: []string{at.String()}, AllowPrivate: true, AnyAddress: true},
		dial: &DialOptions{
			Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{at.Addr()}, nil },
			RefuseAddress: func(to netip.AddrPort) (string, error) {
				if to == at {
					return "a listener of this test", errors.New("the cause")
				}
				return "", nil
			},
		},
	}
}

// hosts returns how the server may be spelled.
func (s *reservedServer) hosts() []string {
	port := s.at.Port()
	return []string{s.at.String(), fmt.Sprintf("localhost:%d", port), fmt.Sprintf("door.example:%d", port)}
}

func TestReservedAddressesAreRefusedWhateverIsGranted(t *testing.T) {
	t.Parallel()
	s := newReservedServer(t)
	c, err := New(s.grant, &Options{DialOptions: *s.dial})
	if err != nil {
		t.Fatal(err)
	}
	b := c.Bind(nil)
	for _, host := range s.hosts() {
		_, err := b.Client().Get("http://" + host + "/")
		wantRefused(t, "GET "+host, err, "a listener of this test")
		_, err = b.DialContext(t.Context(), "tcp", host)
		wantRefused(t, "dial "+host, err, "a listener of this test")
		if e, ok := errors.AsType[*sallyport.Error](err); !ok || e.Err == nil || strings.Contains(e.Error(), "the cause") {
			t.Errorf("dial %s = %v, want the cause beside the text", host, err)
		}
	}
}

// TestTheSocketOfAReservedAddressIsRefused: an address may become one between the
// look at it and the connection.
func TestTheSocketOfAReservedAddressIsRefused(t *testing.T) {
	t.Parallel()
	s := newReservedServer(t)
	asked, refuse := 0, s.dial.RefuseAddress
	s.dial.RefuseAddress = func(to netip.AddrPort) (string, error) {
		if asked++; asked == 1 {
			return "", nil
		}
		return refuse(to)
	}
	p, err := NewPolicy(s.grant)
	if err != nil {
		t.Fatal(err)
	}
	_, err = newPolicyDialer(p, s.dial).Dial(t.Context(), "tcp", "127.0.0.1", s.at.Port())
	wantRefused(t, "Dial", err, "is a listener of this test")
}

func TestARedirectToAReservedAddressIsRefused(t *testing.T) {
	t.Parallel()
	s := newReservedServer(t)
	front := httptest.NewServer(http.RedirectHandler("http://"+s.at.String()+"/", http.StatusFound))
	t.Cleanup(front.Close)
	s.grant.Allow = append(s.grant.Allow, front.Listener.Addr().String())
	c, err := New(s.grant, &Options{DialOptions: *s.dial})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bind(c, nil).Get(front.URL)
	wantRefused(t, "a redirect", err, "is a listener of this test")
}

func TestTheProxyRefusesReservedAddresses(t *testing.T) {
	t.Parallel()
	s := newReservedServer(t)
	p, proxy := startProxy(t, s.grant, s.dial, nil)
	for _, host := range s.hosts() {
		for _, request := range []string{"GET http://" + host + "/ HTTP/1.1", "CONNECT " + host + " HTTP/1.1"} {
			c, err := net.Dial("tcp", proxy)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "%s\r\nHost: %s\r\n\r\n", request, host)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s = %v, %v, want 403", request, resp, err)
			}
			c.Close()
		}
	}
	wantReset(t, p, s.at)
	name := addressIn(t, p, "door.example")
	wantReset(t, p, netip.AddrPortFrom(name, s.at.Port()))
	for _, u := range p.Uses() {
		if u.Allowed || !strings.Contains(u.Why, "a listener of this test") {
			t.Errorf("the record says %+v", u)
		}
	}
}
