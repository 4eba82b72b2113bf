package egress

import (
	"net/netip"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestAnyAddressKeepsTheRestOfTheFloor checks what AnyAddress lifts, which is for
// the installation of packages: not the addresses of metadata services, of the
// link, of groups, and no form that leads to another address.
func TestAnyAddressKeepsTheRestOfTheFloor(t *testing.T) {
	t.Parallel()
	p, err := NewPolicy(sallyport.NetworkGrant{Allow: []string{"registry.example.com", "localhost:4873"}, AnyAddress: true})
	if err != nil {
		t.Fatal(err)
	}
	private, err := NewPolicy(sallyport.NetworkGrant{Allow: []string{"registry.example.com"}, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"127.0.0.1", "10.1.2.3", "192.168.0.1", "fd12::1", "::1", "8.8.8.8"} {
		if err := p.CheckAddresses("registry.example.com", 443, []netip.Addr{netip.MustParseAddr(text)}); err != nil {
			t.Errorf("%s: %v, want no refusal", text, err)
		}
	}
	for _, text := range []string{"100.64.0.1", "203.0.113.80", "192.0.2.1", "198.51.100.7", "198.18.0.1", "2001:db8::1", "3fff::1"} {
		addr := []netip.Addr{netip.MustParseAddr(text)}
		if err := p.CheckAddresses("registry.example.com", 443, addr); err != nil {
			t.Errorf("%s: %v, want no refusal", text, err)
		}
		if err := private.CheckAddresses("registry.example.com", 443, addr); err == nil {
			t.Errorf("%s is lifted with the private addresses", text)
		}
	}
	for _, text := range []string{
		"169.254.169.254", "169.254.1.1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
		"::ffff:169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "2001::1", "fec0::1", "192.88.99.1",
	} {
		if err := p.CheckAddresses("registry.example.com", 443, []netip.Addr{netip.MustParseAddr(text)}); err == nil {
			t.Errorf("%s is not refused", text)
		}
	}
	for host, want := range map[string]bool{"localhost": true, "elsewhere.example.com": false, "metadata.google.internal": false} {
		port := uint16(4873)
		if err := p.Decide(host, port); (err == nil) != want {
			t.Errorf("Decide(%s) = %v, want %v", host, err, want)
		}
	}
}
