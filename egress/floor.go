package egress

import "net/netip"

// What the floor says about an address, as it stands in an error: "is a …".
const (
	whatMetadata = "a cloud metadata address"
	whatLoopback = "a private address (loopback)"
	whatRFC1918  = "a private address (RFC 1918)"
	whatUnique   = "a private address (unique local)"
	whatMDNS     = "a private name (.local, RFC 6762)"
	whatZone     = "a private or reserved address (zone)"
	whatISATAP   = "a private or reserved address (ISATAP)"
	whatReserved = "a private or reserved address (not allocated)"
	whatInvalid  = "not an address"
)

// special is one row of the floor's tables.
type special struct {
	prefix netip.Prefix
	what   string
	// lift is true when allow_private_urls admits the row.
	lift bool
}

func row(prefix, what string) special {
	return special{prefix: netip.MustParsePrefix(prefix), what: what}
}

func liftable(prefix, what string) special {
	s := row(prefix, what)
	s.lift = true
	return s
}

// metadata lists where clouds serve credentials to whoever asks from inside,
// and the platform services beside them. It beats every grant. Some of these
// are in ranges that allow_private_urls lifts, and one looks public.
var metadata = [...]netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"),     // AWS, GCP, Azure, OCI, OpenStack, DigitalOcean, Hetzner, …
	netip.MustParsePrefix("169.254.169.253/32"),     // AWS DNS
	netip.MustParsePrefix("169.254.169.123/32"),     // AWS time
	netip.MustParsePrefix("169.254.170.0/24"),       // AWS ECS task roles (.2), EKS Pod Identity (.23)
	netip.MustParsePrefix("169.254.0.23/32"),        // Tencent Cloud
	netip.MustParsePrefix("169.254.10.10/32"),       // Tencent Cloud, older
	netip.MustParsePrefix("169.254.42.42/32"),       // Scaleway
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure WireServer, a public-looking address
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle Cloud Classic
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS: ::254 metadata, ::23 EKS, ::253 DNS, ::123 time
	netip.MustParsePrefix("fd20:ce::/64"),           // GCP: ::254
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("fd00:a9fe:a9fe::/64"),    // Akamai (Linode): ::1
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // OCI
	netip.MustParsePrefix("fe80::a9fe:a9fe/128"),    // OpenStack, Hetzner
}

// special4 is the IANA IPv4 Special-Purpose Address Registry with multicast
// (RFC 5771). Rows that the registry calls globally reachable (AS112, AMT)
// are in it too: nothing that a tool fetches is there.
var special4 = [...]special{
	liftable("127.0.0.0/8", whatLoopback),                                       // RFC 1122
	liftable("10.0.0.0/8", whatRFC1918),                                         // RFC 1918
	liftable("172.16.0.0/12", whatRFC1918),                                      // RFC 1918
	liftable("192.168.0.0/16", whatRFC1918),                                     // RFC 1918
	row("169.254.0.0/16", "a private or reserved address (link-local)"),         // RFC 3927
	row("0.0.0.0/8", "a private or reserved address (this network)"),            // RFC 791
	row("100.64.0.0/10", "a private or reserved address (CGNAT)"),               // RFC 6598
	row("192.0.0.0/24", "a private or reserved address (protocol assignments)"), // RFC 6890
	row("192.0.2.0/24", "a private or reserved address (documentation)"),        // RFC 5737
	row("192.31.196.0/24", "a private or reserved address (AS112)"),             // RFC 7535
	row("192.52.193.0/24", "a private or reserved address (AMT)"),               // RFC 7450
	row("192.88.99.0/24", "a private or reserved address (6to4 relay)"),         // RFC 7526
	row("192.175.48.0/24", "a private or reserved address (AS112)"),             // RFC 7534
	row("198.18.0.0/15", "a private or reserved address (benchmarking)"),        // RFC 2544
	row("198.51.100.0/24", "a private or reserved address (documentation)"),     // RFC 5737
	row("203.0.113.0/24", "a private or reserved address (documentation)"),      // RFC 5737
	row("224.0.0.0/4", "a private or reserved address (multicast)"),             // RFC 5771
	row("240.0.0.0/4", "a private or reserved address (reserved)"),              // RFC 1112
}

// special6 is the IANA IPv6 Special-Purpose Address Registry with the forms
// that carry an IPv4 address inside. Whatever lies outside of 2000::/3, the
// only range from which IANA allocates, is refused without a row.
var special6 = [...]special{
	liftable("::1/128", whatLoopback),                                         // RFC 4291
	liftable("fc00::/7", whatUnique),                                          // RFC 4193
	row("::/128", "a private or reserved address (unspecified)"),              // RFC 4291
	row("::ffff:0:0/96", "a private or reserved address (IPv4-mapped)"),       // RFC 4291
	row("::ffff:0:0:0/96", "a private or reserved address (IPv4-translated)"), // RFC 2765
	row("::/96", "a private or reserved address (IPv4-compatible)"),           // RFC 4291
	row("64:ff9b::/96", "a private or reserved address (NAT64)"),              // RFC 6052
	row("64:ff9b:1::/48", "a private or reserved address (NAT64)"),            // RFC 8215
	row("100::/64", "a private or reserved address (discard)"),                // RFC 6666
	row("2001::/32", "a private or reserved address (Teredo)"),                // RFC 4380
	row("2001:2::/48", "a private or reserved address (benchmarking)"),        // RFC 5180
	row("2001::/23", "a private or reserved address (protocol assignments)"),  // RFC 2928
	row("2001:db8::/32", "a private or reserved address (documentation)"),     // RFC 3849
	row("2002::/16", "a private or reserved address (6to4)"),                  // RFC 3056
	row("2620:4f:8000::/48", "a private or reserved address (AS112)"),         // RFC 7534
	row("3fff::/20", "a private or reserved address (documentation)"),         // RFC 9637
	row("5f00::/16", "a private or reserved address (segment routing)"),       // RFC 9602
	row("fe80::/10", "a private or reserved address (link-local)"),            // RFC 4291
	row("fec0::/10", "a private or reserved address (site-local)"),            // RFC 3879
	row("ff00::/8", "a private or reserved address (multicast)"),              // RFC 4291
}

// unicast6 is where global IPv6 unicast addresses come from (IANA IPv6
// address space registry).
var unicast6 = netip.MustParsePrefix("2000::/3")

// Floor judges the address that would be dialled. It returns "" when it may
// be, else what the address is, such as "a cloud metadata address". The flag
// lifts loopback, RFC 1918 and unique-local addresses and nothing else.
func Floor(a netip.Addr, allowPrivate bool) string {
	switch {
	case !a.IsValid():
		return whatInvalid
	case a.Zone() != "":
		// A zone means something on this machine only, and netip's prefixes
		// contain no address that has one.
		return whatZone
	case isMetadata(a):
		return whatMetadata
	case a.Is4():
		what, _ := find(special4[:], a, allowPrivate)
		return what
	}
	what := floor6(a, allowPrivate)
	if what != "" && isMetadata(embedded(a)) {
		return whatMetadata
	}
	return what
}

func floor6(a netip.Addr, allowPrivate bool) string {
	if what, found := find(special6[:], a, allowPrivate); found {
		return what
	}
	switch b := a.As16(); {
	case !unicast6.Contains(a):
		return whatReserved
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return whatISATAP // RFC 5214: a tunnel to the IPv4 address behind it
	default:
		return ""
	}
}

// find returns what the first row that contains a says, "" when it is lifted.
func find(rows []special, a netip.Addr, allowPrivate bool) (what string, found bool) {
	for i := range rows {
		if s := &rows[i]; s.prefix.Contains(a) {
			if s.lift && allowPrivate {
				return "", true
			}
			return s.what, true
		}
	}
	return "", false
}

func isMetadata(a netip.Addr) bool {
	for _, p := range metadata {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// embedded returns the IPv4 address that a transition form carries: the last
// four bytes, or for 6to4 those after the prefix.
func embedded(a netip.Addr) netip.Addr {
	b := a.As16()
	if b[0] == 0x20 && b[1] == 0x02 {
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return netip.AddrFrom4([4]byte(b[12:16]))
}
