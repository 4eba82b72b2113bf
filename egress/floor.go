package egress

import (
	"net/netip"
	"slices"
)

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

// floorRange is one row of the floor's tables.
type floorRange struct {
	prefix netip.Prefix
	what   string
	// lift is what lets the row pass, liftNone when nothing does.
	lift lift
}

// lift is what of the floor a grant lifts. Each lifts what the ones before it
// lift.
type lift int

const (
	// liftNone lifts nothing.
	liftNone lift = iota
	// liftPrivate lifts loopback, RFC 1918 and unique-local addresses.
	liftPrivate
	// liftAny also lifts addresses that are no machine's on the public network,
	// and nothing that leads elsewhere: no tunnels and no forms of other addresses.
	liftAny
)

func newRange(prefix, what string) floorRange {
	return floorRange{prefix: netip.MustParsePrefix(prefix), what: what}
}

func newLiftable(prefix, what string) floorRange {
	s := newRange(prefix, what)
	s.lift = liftPrivate
	return s
}

func newUnusual(prefix, what string) floorRange {
	s := newRange(prefix, what)
	s.lift = liftAny
	return s
}

// metadata lists where clouds serve credentials to every process inside,
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
var special4 = [...]floorRange{
	newLiftable("127.0.0.0/8", whatLoopback),                                         // RFC 1122
	newLiftable("10.0.0.0/8", whatRFC1918),                                           // RFC 1918
	newLiftable("172.16.0.0/12", whatRFC1918),                                        // RFC 1918
	newLiftable("192.168.0.0/16", whatRFC1918),                                       // RFC 1918
	newRange("169.254.0.0/16", "a private or reserved address (link-local)"),         // RFC 3927
	newRange("0.0.0.0/8", "a private or reserved address (this network)"),            // RFC 791
	newUnusual("100.64.0.0/10", "a private or reserved address (CGNAT)"),             // RFC 6598
	newRange("192.0.0.0/24", "a private or reserved address (protocol assignments)"), // RFC 6890
	newUnusual("192.0.2.0/24", "a private or reserved address (documentation)"),      // RFC 5737
	newRange("192.31.196.0/24", "a private or reserved address (AS112)"),             // RFC 7535
	newRange("192.52.193.0/24", "a private or reserved address (AMT)"),               // RFC 7450
	newRange("192.88.99.0/24", "a private or reserved address (6to4 relay)"),         // RFC 7526
	newRange("192.175.48.0/24", "a private or reserved address (AS112)"),             // RFC 7534
	newUnusual("198.18.0.0/15", "a private or reserved address (benchmarking)"),      // RFC 2544
	newUnusual("198.51.100.0/24", "a private or reserved address (documentation)"),   // RFC 5737
	newUnusual("203.0.113.0/24", "a private or reserved address (documentation)"),    // RFC 5737
	newRange("224.0.0.0/4", "a private or reserved address (multicast)"),             // RFC 5771
	newUnusual("240.0.0.0/4", "a private or reserved address (reserved)"),            // RFC 1112
}

// special6 is the IANA IPv6 Special-Purpose Address Registry with the forms
// that carry an IPv4 address inside. Whatever lies outside of 2000::/3, the
// only range from which IANA allocates, is refused without a row.
var special6 = [...]floorRange{
	newLiftable("::1/128", whatLoopback),                                           // RFC 4291
	newLiftable("fc00::/7", whatUnique),                                            // RFC 4193
	newRange("::/128", "a private or reserved address (unspecified)"),              // RFC 4291
	newRange("::ffff:0:0/96", "a private or reserved address (IPv4-mapped)"),       // RFC 4291
	newRange("::ffff:0:0:0/96", "a private or reserved address (IPv4-translated)"), // RFC 2765
	newRange("::/96", "a private or reserved address (IPv4-compatible)"),           // RFC 4291
	newRange("64:ff9b::/96", "a private or reserved address (NAT64)"),              // RFC 6052
	newRange("64:ff9b:1::/48", "a private or reserved address (NAT64)"),            // RFC 8215
	newRange("100::/64", "a private or reserved address (discard)"),                // RFC 6666
	newRange("2001::/32", "a private or reserved address (Teredo)"),                // RFC 4380
	newUnusual("2001:2::/48", "a private or reserved address (benchmarking)"),      // RFC 5180
	newRange("2001::/23", "a private or reserved address (protocol assignments)"),  // RFC 2928
	newUnusual("2001:db8::/32", "a private or reserved address (documentation)"),   // RFC 3849
	newRange("2002::/16", "a private or reserved address (6to4)"),                  // RFC 3056
	newRange("2620:4f:8000::/48", "a private or reserved address (AS112)"),         // RFC 7534
	newUnusual("3fff::/20", "a private or reserved address (documentation)"),       // RFC 9637
	newRange("5f00::/16", "a private or reserved address (segment routing)"),       // RFC 9602
	newRange("fe80::/10", "a private or reserved address (link-local)"),            // RFC 4291
	newRange("fec0::/10", "a private or reserved address (site-local)"),            // RFC 3879
	newRange("ff00::/8", "a private or reserved address (multicast)"),              // RFC 4291
}

// unicast6 is where global IPv6 unicast addresses come from (IANA IPv6
// address space registry).
var unicast6 = netip.MustParsePrefix("2000::/3")

// Floor judges the address that would be dialled. It returns "" when it may
// be, else what the address is, such as "a cloud metadata address". The flag
// lifts loopback, RFC 1918 and unique-local addresses and nothing else.
func Floor(a netip.Addr, allowPrivate bool) string {
	if allowPrivate {
		return judgeAddress(a, liftPrivate)
	}
	return judgeAddress(a, liftNone)
}

// judgeAddress is Floor for what a grant lifts.
func judgeAddress(a netip.Addr, lifted lift) string {
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
		what, _ := findRange(special4[:], a, lifted)
		return what
	}
	what := floorIPv6(a, lifted)
	if what != "" && isMetadata(embeddedIPv4(a)) {
		return whatMetadata
	}
	return what
}

func floorIPv6(a netip.Addr, lifted lift) string {
	if what, found := findRange(special6[:], a, lifted); found {
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

// findRange returns what the first row that contains a says, "" when it is lifted.
func findRange(rows []floorRange, a netip.Addr, lifted lift) (what string, found bool) {
	for i := range rows {
		if s := &rows[i]; s.prefix.Contains(a) {
			if s.lift != liftNone && s.lift <= lifted {
				return "", true
			}
			return s.what, true
		}
	}
	return "", false
}

func isMetadata(a netip.Addr) bool {
	return slices.ContainsFunc(metadata[:], func(p netip.Prefix) bool { return p.Contains(a) })
}

// embeddedIPv4 returns the IPv4 address that a transition form carries: the last
// four bytes, or for 6to4 those after the prefix.
func embeddedIPv4(a netip.Addr) netip.Addr {
	b := a.As16()
	if b[0] == 0x20 && b[1] == 0x02 {
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return netip.AddrFrom4([4]byte(b[12:16]))
}
