package registry_test

import (
	"slices"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestPrivateAddressesCountAsAllowed resolves declarations under a role that lists
// a private address.
func TestPrivateAddressesCountAsAllowed(t *testing.T) {
	const address = "127.0.0.1:8080"
	for _, tt := range []struct {
		name                  string
		declared, allow, want []string
	}{
		{"any host, and a list", []string{"*"}, []string{"a.test"}, []string{address, "a.test"}},
		{"any host, and an empty list", []string{"*"}, []string{}, []string{address}},
		{"any host, and no list", []string{"*"}, nil, []string{address}},
		{"the address", []string{address}, []string{"a.test"}, []string{address}},
		{"another port", []string{"127.0.0.1:9090"}, []string{"a.test"}, nil},
		{"another host", []string{"b.test"}, []string{"a.test"}, nil},
		{"any public host", []string{"*"}, []string{"*"}, []string{"*", address}},
	} {
		p := &sallyport.Personality{Name: "role", Network: &sallyport.NetworkPolicy{Allow: tt.allow, Private: []string{address}}}
		g := grantOf(t, p, sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: tt.declared}})
		if !slices.Equal(g.Network.Allow, tt.want) || !slices.Equal(g.Network.Private, []string{address}) {
			t.Errorf("%s: granted %q with %q, want %q", tt.name, g.Network.Allow, g.Network.Private, tt.want)
		}
	}
}
