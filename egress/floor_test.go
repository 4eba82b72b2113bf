package egress

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// refusedRanges is written down from the IANA special-purpose address
// registries and the multicast registries, not from the code. The flag says
// whether allow_private_urls lifts the range.
var refusedRanges = []struct {
	prefix string
	lifted bool
}{
	{"0.0.0.0/8", false},
	{"10.0.0.0/8", true},
	{"100.64.0.0/10", false},
	{"127.0.0.0/8", true},
	{"169.254.0.0/16", false},
	{"172.16.0.0/12", true},
	{"192.0.0.0/24", false},
	{"192.0.2.0/24", false},
	{"192.31.196.0/24", false},
	{"192.52.193.0/24", false},
	{"192.88.99.0/24", false},
	{"192.168.0.0/16", true},
	{"192.175.48.0/24", false},
	{"198.18.0.0/15", false},
	{"198.51.100.0/24", false},
	{"203.0.113.0/24", false},
	{"224.0.0.0/4", false},
	{"240.0.0.0/4", false},
	{"::/128", false},
	{"::1/128", true},
	{"::/96", false},
	{"::ffff:0:0/96", false},
	{"::ffff:0:0:0/96", false},
	{"64:ff9b::/96", false},
	{"64:ff9b:1::/48", false},
	{"100::/64", false},
	{"100:0:0:1::/64", false},
	{"2001::/23", false},
	{"2001::/32", false},
	{"2001:2::/48", false},
	{"2001:10::/28", false},
	{"2001:20::/28", false},
	{"2001:db8::/32", false},
	{"2002::/16", false},
	{"2620:4f:8000::/48", false},
	{"3fff::/20", false},
	{"4000::/3", false},
	{"5f00::/16", false},
	{"e000::/4", false},
	{"fc00::/7", true},
	{"fe80::/10", false},
	{"fec0::/10", false},
	{"ff00::/8", false},
}

func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestFloorRefusesBothEndsOfEveryRange(t *testing.T) {
	t.Parallel()
	for _, r := range refusedRanges {
		p := netip.MustParsePrefix(r.prefix)
		for _, a := range []netip.Addr{p.Addr(), last(p)} {
			if got := Floor(a, false); got == "" {
				t.Errorf("Floor(%s, false) allows an address of %s", a, p)
			}
			lifted := Floor(a, true) == ""
			// ::/96 begins with addresses that have rows of their own.
			if lifted != r.lifted {
				t.Errorf("Floor(%s, true) lifts %s = %t, want %t", a, p, lifted, r.lifted)
			}
		}
	}
}

func TestFloorAllowsTheNeighbours(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.1.255",
		"192.0.3.0", "192.31.195.255", "192.31.197.0", "192.52.192.255", "192.52.194.0", "192.88.98.255", "192.88.100.0",
		"192.167.255.255", "192.169.0.0", "192.175.47.255", "192.175.49.0", "198.17.255.255", "198.20.0.0", "198.51.99.255",
		"198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "168.63.129.15", "168.63.129.17", "8.8.8.8",
		"2000::", "2001:200::", "2001:db7:ffff::1", "2001:db9::", "2001:4860:4860::8888", "2003::", "2606:4700::1111",
		"2620:4f:7fff:ffff::", "2620:4f:8001::", "3ffe:ffff::", "3fff:1000::", "2a00::5efd:1.2.3.4",
	} {
		if got := Floor(netip.MustParseAddr(s), false); got != "" {
			t.Errorf("Floor(%s) = %s, want it allowed", s, got)
		}
	}
}

func TestFloorNamesMetadata(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23", "169.254.42.42", "100.100.100.200",
		"168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe",
		"::ffff:169.254.169.254", "::169.254.169.254", "::ffff:0:169.254.169.254", "64:ff9b::169.254.169.254",
		"64:ff9b:1::169.254.169.254", "2002:a9fe:a9fe::1", "::ffff:168.63.129.16", "2002:a83f:8110::",
	} {
		for _, private := range []bool{false, true} {
			if got := Floor(netip.MustParseAddr(s), private); got != whatMetadata {
				t.Errorf("Floor(%s, %t) = %q, want %q", s, private, got, whatMetadata)
			}
		}
	}
}

func TestFloorOddAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   netip.Addr
		want string
	}{
		{"zero", netip.Addr{}, whatInvalid},
		{"zone on link-local", netip.MustParseAddr("fe80::1%eth0"), whatZone},
		{"zone on loopback", netip.MustParseAddr("::1%lo"), whatZone},
		{"zone on public", netip.MustParseAddr("2606:4700::1111%eth0"), whatZone},
		{"ISATAP, private", netip.MustParseAddr("2a00:1:2:3:0:5efe:10.0.0.1"), whatISATAP},
		{"ISATAP, global", netip.MustParseAddr("2a00:1:2:3:200:5efe:8.8.8.8"), whatISATAP},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, private := range []bool{false, true} {
				if got := Floor(tt.in, private); got != tt.want {
					t.Errorf("Floor(%s, %t) = %q, want %q", tt.in, private, got, tt.want)
				}
			}
		})
	}
}

// FuzzFloor holds that the lift only ever opens, and that no transition form
// opens, lifted or not.
func FuzzFloor(f *testing.F) {
	for _, r := range refusedRanges {
		f.Add(netip.MustParsePrefix(r.prefix).Addr().AsSlice())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		strict, lifted := Floor(a, false), Floor(a, true)
		if strict == "" && lifted != "" {
			t.Errorf("Floor(%s) is stricter with private addresses allowed: %s", a, lifted)
		}
		if lifted == "" && strict != "" && !a.IsPrivate() && !a.IsLoopback() {
			t.Errorf("Floor(%s, true) lifts %s", a, strict)
		}
		if strict == "" && (!a.IsGlobalUnicast() || a.IsPrivate()) {
			t.Errorf("Floor(%s) allows what net/netip calls private or not global", a)
		}
		if !a.Is4() {
			return
		}
		b4 := a.As4()
		for _, form := range []string{
			"::ffff:%s", "::%s", "::ffff:0:%s", "64:ff9b::%s", "64:ff9b:1::%s", "2a00::5efe:%s",
			fmt.Sprintf("2002:%02x%02x:%02x%02x::1%%.0s", b4[0], b4[1], b4[2], b4[3]),
		} {
			if in := netip.MustParseAddr(fmt.Sprintf(form, a)); Floor(in, true) == "" && in != netip.IPv6Loopback() {
				t.Errorf("Floor(%s) allows a form of %s", in, a)
			}
		}
	})
}

func TestFloorHost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		host              string
		strict, permitted string
	}{
		{"example.com", "", ""},
		{"foo.internal", "", ""},
		{"fc-something.com", "", ""},
		{"fd.example.com", "", ""},
		{"localhosts.example", "", ""},
		{"notlocalhost", "", ""},
		{"metadata.example.com", "", ""},
		{"my.metadata", "", ""},
		{"metadata", whatMetadata, whatMetadata},
		{"instance-data", whatMetadata, whatMetadata},
		{"metadata.google.internal", whatMetadata, whatMetadata},
		{"x.metadata.google.internal", whatMetadata, whatMetadata},
		{"xmetadata.google.internal", "", ""},
		{"metadata.goog", whatMetadata, whatMetadata},
		{"metadata.azure.com", whatMetadata, whatMetadata},
		{"metadata.aws.amazon.com", whatMetadata, whatMetadata},
		{"localhost", whatLoopback, ""},
		{"foo.localhost", whatLoopback, ""},
		{"localhost.localdomain", whatLoopback, ""},
		{"ip6-localhost", whatLoopback, ""},
		{"printer.local", whatMDNS, ""},
		{"127.0.0.1", whatLoopback, ""},
		{"10.0.0.1", whatRFC1918, ""},
		{"::1", whatLoopback, ""},
		{"fd00::1", whatUnique, ""},
		{"169.254.169.254", whatMetadata, whatMetadata},
		{"8.8.8.8", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			if got := (&hostRules{}).floorHost(tt.host, 80); got != tt.strict {
				t.Errorf("floorHost(%s, false) = %q, want %q", tt.host, got, tt.strict)
			}
			if got := (&hostRules{allowPrivate: true}).floorHost(tt.host, 80); got != tt.permitted {
				t.Errorf("floorHost(%s, true) = %q, want %q", tt.host, got, tt.permitted)
			}
		})
	}
}

func TestEveryReasonSaysPrivateOrMetadata(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]floorRange{special4[:], special6[:]} {
		for _, s := range rows {
			if !strings.Contains(s.what, "private") {
				t.Errorf("%s is %q, want a text with the word private", s.prefix, s.what)
			}
		}
	}
}
