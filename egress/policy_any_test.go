package egress

import (
	"net/netip"
	"testing"
)

// The policy of an observed program has no list, and the floor all the same.
func TestAnyPolicy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		host    string
		port    uint16
		private bool
		allowed bool
	}{
		{"a name on a port", "api.example.org", 8080, false, true},
		{"a name on the usual port", "api.example.org", 443, false, true},
		{"a private address", "10.0.0.1", 8080, false, false},
		{"a private address that is let through", "10.0.0.1", 8080, true, true},
		{"metadata", "169.254.169.254", 80, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := AnyPolicy(tt.private).Decide(tt.host, tt.port); (err == nil) != tt.allowed {
				t.Errorf("Decide(%s, %d) = %v, want allowed %v", tt.host, tt.port, err, tt.allowed)
			}
		})
	}
	if err := AnyPolicy(false).CheckAddresses("api.example.org", 8080, []netip.Addr{netip.MustParseAddr("127.0.0.1")}); err == nil {
		t.Error("CheckAddresses let loopback through")
	}
}
