package sallyport

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// NetworkCapability declares hosts.
type NetworkCapability struct {
	// AllowedHosts lists exact hosts, "*.example.com" for any name below it, or
	// "*" for every host that the personality allows. An entry may name a port;
	// without one it means the ports 80 and 443.
	AllowedHosts []string `json:"allowedHosts"`
}

// NetworkGrant is the resolved network policy of a call.
type NetworkGrant struct {
	// Allow lists canonical host patterns; "*" means any public host. Empty
	// reaches nothing.
	Allow []string `json:"allow,omitempty"`
	// Deny lists canonical host patterns that take precedence over Allow.
	Deny []string `json:"deny,omitempty"`
	// AllowPrivate also allows loopback, RFC 1918 and unique-local addresses.
	AllowPrivate bool `json:"allow_private_urls,omitempty"`
	// Private lists single addresses with their port that are allowed although
	// they are loopback, RFC 1918 or unique-local ones, such as 127.0.0.1:8080.
	Private []string `json:"allow_private,omitempty"`
	// AnyAddress also allows addresses that no name of the public network should
	// have, such as those of a carrier's network or of documentation. Metadata,
	// link-local and multicast addresses stay refused.
	AnyAddress bool `json:"any_address,omitempty"`
	// ReadOnly allows only the methods GET and HEAD, and no raw dialling.
	ReadOnly bool `json:"read_only,omitempty"`
}

// NetworkPolicy is the network ceiling of a personality.
type NetworkPolicy struct {
	// Allow lists host patterns. nil means that there is no list, and an empty
	// list allows no host. "*" allows any public host.
	Allow []string
	// Deny lists host patterns that take precedence over Allow.
	Deny []string
	// AllowPrivate also allows loopback, RFC 1918 and unique-local addresses.
	// Metadata and link-local addresses stay refused.
	AllowPrivate bool
	// Private lists single addresses with their port that are allowed although
	// they are loopback, RFC 1918 or unique-local ones, such as 127.0.0.1:8080.
	// Each also counts as an entry of Allow.
	Private []string
	// AnyAddress allows what AllowPrivate allows, and addresses that no name of
	// the public network should have, such as those of a carrier's network or of
	// documentation. Metadata, link-local and multicast addresses stay refused. No
	// configuration sets it: the program installs packages with it, from the
	// registry that the machine itself uses.
	AnyAddress bool
}

// Network is the network accessor. Client and DialContext obey the same grant,
// and the address that is actually dialled is checked after DNS. Errors match
// ErrHostNotAllowed when the grant or the floor refuses. It is safe for
// concurrent use.
type Network interface {
	// Client returns a client for any SDK that accepts one. The client follows
	// redirects itself and checks each hop against the grant, never uses a
	// proxy of the environment, and bounds size and time.
	Client() *http.Client
	// DialContext opens a TCP connection, for drivers that need one. The
	// network is tcp, tcp4 or tcp6, the address host:port.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// NetworkBackend configures how hosts are reached. The zero value uses the
// system's resolver and dialer with the default bounds.
type NetworkBackend struct {
	// Resolve looks up the addresses of a canonical host; nil means the
	// system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that the floor has accepted; nil means the
	// system's dialer. It must dial exactly this address.
	Dial func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error)
	// RefuseAddress says what an address is to which nothing may be connected
	// whatever is granted, as it stands in an error, such as "a listener of the
	// program itself", and the cause for the operator; "" lets the address pass. It
	// is asked before each connection; nil refuses none.
	RefuseAddress func(addr netip.AddrPort) (what string, cause error)
	// RootCAs is whom the accessor's client trusts for https; nil means the
	// system's pool, which children of tools get in any case.
	RootCAs *x509.CertPool
	// MaxResponseBytes bounds a response body after decompression; 0 means
	// 64 MiB.
	MaxResponseBytes int64
	// Timeout bounds a whole exchange including redirects and the body; 0
	// means 100 seconds.
	Timeout time.Duration
}
