package egress

import (
	"net/netip"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestPrivateAddressesOneByOne asks a policy about addresses beside those that its
// list lets through.
func TestPrivateAddressesOneByOne(t *testing.T) {
	t.Parallel()
	p, err := NewPolicy(sallyport.NetworkGrant{
		Allow: []string{
			"127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.2:8080", "localhost:8080", "localhost:9000", "db.internal:8080", "metadata.google.internal:8080",
			"169.254.169.254:80", "10.0.0.5:5432",
		},
		Private: []string{"127.0.0.1:8080", "10.0.0.5:5432", "169.254.169.254:80"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host    string
		port    uint16
		address string // what the name has; empty for an address
		allowed bool
	}{
		{"127.0.0.1", 8080, "", true},
		{"10.0.0.5", 5432, "", true},
		{"127.0.0.1", 8081, "", false},
		{"127.0.0.2", 8080, "", false},
		{"127.0.0.1", 5432, "", false},
		{"localhost", 8080, "127.0.0.1", true},
		{"localhost", 8080, "::1", false},
		{"localhost", 9000, "127.0.0.1", false},
		{"db.internal", 8080, "127.0.0.1", true},
		{"db.internal", 8080, "10.0.0.5", false},
		{"metadata.google.internal", 8080, "127.0.0.1", false},
		{"169.254.169.254", 80, "", false},
	} {
		err := p.Decide(tt.host, tt.port)
		if err == nil && tt.address != "" {
			err = p.CheckAddresses(tt.host, tt.port, []netip.Addr{netip.MustParseAddr(tt.address)})
		}
		if (err == nil) != tt.allowed {
			t.Errorf("%s:%d at %q: %v, want allowed %t", tt.host, tt.port, tt.address, err, tt.allowed)
		}
		at := tt.address
		if at == "" {
			at = tt.host
		}
		socket := netip.AddrPortFrom(netip.MustParseAddr(at), tt.port)
		if err := newPolicyDialer(p, nil).checkSocket(t.Context(), "tcp", socket.String(), nil); tt.allowed && err != nil {
			t.Errorf("the socket of %s: %v", socket, err)
		}
	}
	if _, err := p.Narrow(sallyport.NetworkGrant{Allow: []string{"127.0.0.1:8080", "10.0.0.5:5432"}, Private: []string{"10.0.0.5:5432"}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Decide("127.0.0.1", 8080); err == nil {
		t.Error("an address that was taken off the list is reached")
	}
	if err := newPolicyDialer(p, nil).checkSocket(t.Context(), "tcp", "127.0.0.1:8080", nil); err == nil {
		t.Error("the socket of an address that was taken off the list is connected")
	}
	if err := p.Decide("10.0.0.5", 5432); err != nil {
		t.Errorf("an address that stays on the list: %v", err)
	}
	if _, err := NewPolicy(sallyport.NetworkGrant{Private: []string{"localhost:1"}}); err == nil {
		t.Error("a name is taken for an address")
	}
}
