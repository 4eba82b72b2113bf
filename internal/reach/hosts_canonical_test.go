package reach

import (
	"strings"
	"testing"
)

func TestCanonicalHost(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"plain", "api.github.com", "api.github.com"},
		{"case", "API.GitHub.COM", "api.github.com"},
		{"trailing dot", "api.github.com.", "api.github.com"},
		{"single label", "db", "db"},
		{"underscore", "my_bucket.s3.amazonaws.com", "my_bucket.s3.amazonaws.com"},
		{"hyphens in third and fourth place", "r3---sn-x.googlevideo.com", "r3---sn-x.googlevideo.com"},
		{"unicode", "bücher.example", "xn--bcher-kva.example"},
		{"punycode", "XN--bcher-kva.example", "xn--bcher-kva.example"},
		{"sharp s is not ss", "straße.example", "xn--strae-oqa.example"},
		{"full-width letters", "ｇｉｔｈｕｂ.com", "github.com"},
		{"ideographic dot", "api。github。com。", "api.github.com"},
		{"soft hyphen", "git\u00adhub.com", "github.com"},
		{"IPv4", "192.0.2.1", "192.0.2.1"},
		{"IPv4 with trailing dot", "127.0.0.1.", "127.0.0.1"},
		{"full-width digits", "１２７.０.０.１", "127.0.0.1"},
		{"enclosed digits", "①②⑦.⓪.⓪.①", "127.0.0.1"},
		{"IPv6", "::1", "::1"},
		{"IPv6 in brackets", "[0:0:0:0:0:0:0:1]", "::1"},
		{"IPv6 upper case", "[FD00:EC2::254]", "fd00:ec2::254"},
		{"mapped", "[::ffff:7f00:1]", "::ffff:127.0.0.1"},
		{"name that ends in a number-like label", "a.1b", "a.1b"},
		{"name that begins with a number", "1.example.com", "1.example.com"},
		{"0x in front", "0x7f.example", "0x7f.example"},
		{"63 octets", strings.Repeat("a", 63) + ".b", strings.Repeat("a", 63) + ".b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := CanonicalHost(tt.in)
			if err != nil || got != tt.want {
				t.Errorf("CanonicalHost(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestCanonicalHostRefuses(t *testing.T) {
	tests := []struct {
		name, in string
	}{
		{"empty", ""},
		{"dot", "."},
		{"two trailing dots", "a.b.."},
		{"leading dot", ".a.b"},
		{"empty label", "a..b"},
		{"blank", "a b"},
		{"leading blank", " a.b"},
		{"tab", "a\tb"},
		{"newline", "a.b\nc"},
		{"nul", "a.b\x00.c"},
		{"del", "a.b\x7f"},
		{"user info", "user@a.b"},
		{"percent", "a.b%23.c"},
		{"slash", "a/b"},
		{"backslash", `a\b`},
		{"comma", "a.b,c.d"},
		{"angle brackets", "<a.b>"},
		{"braces", "{a.b}"},
		{"asterisk", "*.a.b"},
		{"full-width asterisk", "＊.a.b"},
		{"character that maps to a/c", "℀.com"},
		{"name in brackets", "[api.github.com]"},
		{"IPv4 in brackets", "[127.0.0.1]"},
		{"unclosed bracket", "[::1"},
		{"zone", "fe80::1%eth0"},
		{"zone in brackets", "[fe80::1%25eth0]"},
		{"port", "a.b:80"},
		{"decimal", "2130706433"},
		{"hexadecimal", "0x7f000001"},
		{"hexadecimal parts", "0x7f.0x0.0x0.0x1"},
		{"hexadecimal last part", "127.0.0.0x1"},
		{"bare 0x", "127.0.0.0x"},
		{"octal", "0177.0.0.1"},
		{"padded octal", "0000177.0.0.01"},
		{"padded decimal", "127.000.000.001"},
		{"short", "127.1"},
		{"three parts", "169.254.43518"},
		{"zero", "0"},
		{"five parts", "1.2.3.4.5"},
		{"out of range", "256.0.0.1"},
		{"numeric last label", "example.123"},
		{"leading hyphen", "-a.b"},
		{"trailing hyphen", "a-.b"},
		{"64 octets", strings.Repeat("a", 64) + ".b"},
		{"254 octets", strings.Repeat("a.", 127)[:253] + "b"},
		{"invalid UTF-8", "a\xff.b"},
		{"bad punycode", "xn--a.com"},
		{"punycode of plain ASCII", "xn--github-.com"},
		{"absurd length", strings.Repeat("ü", 10_000)},
		{"right-to-left override", "a\u202eb.com"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := CanonicalHost(tt.in); err == nil {
				t.Errorf("CanonicalHost(%q) = %q, want an error", tt.in, got)
			}
		})
	}
}

func TestSplitHostPort(t *testing.T) {
	tests := []struct {
		name, in, host string
		port           uint16
		ok             bool
	}{
		{"name", "a.b", "a.b", 0, true},
		{"name and port", "A.b:8443", "a.b", 8443, true},
		{"highest port", "a.b:65535", "a.b", 65535, true},
		{"IPv6", "[::1]", "::1", 0, true},
		{"IPv6 and port", "[0::1]:80", "::1", 80, true},
		{"no host", ":443", "", 0, false},
		{"no port", "a.b:", "", 0, false},
		{"port zero", "a.b:0", "", 0, false},
		{"port too high", "a.b:65536", "", 0, false},
		{"port overflow", "a.b:18446744073709551617", "", 0, false},
		{"padded port", "a.b:00443", "", 0, false},
		{"signed port", "a.b:+443", "", 0, false},
		{"port name", "a.b:https", "", 0, false},
		{"blank port", "a.b: 80", "", 0, false},
		{"underscore in port", "a.b:8_0", "", 0, false},
		{"full-width port", "a.b:４４３", "", 0, false},
		{"two ports", "a.b:80:80", "", 0, false},
		{"bare IPv6", "::1", "", 0, false},
		{"text after bracket", "[::1]x:80", "", 0, false},
		{"unclosed", "[::1", "", 0, false},
		{"name in brackets", "[a.b]:80", "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host, port, err := SplitHostPort(tt.in)
			if (err == nil) != tt.ok || tt.ok && (host != tt.host || port != tt.port) {
				t.Errorf("SplitHostPort(%q) = %q, %d, %v, want %q, %d, ok %t",
					tt.in, host, port, err, tt.host, tt.port, tt.ok)
			}
		})
	}
}

// FuzzCanonicalHost holds the form to be a fixed point: what it returns is
// accepted again and unchanged, and consists of safe characters.
func FuzzCanonicalHost(f *testing.F) {
	for _, s := range []string{"a.b", "BÜCHER.example.", "[::1]", "①.①", "xn--a", "0x7f.1", "ﬀ.com", "a｡b", "::ffff:1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := CanonicalHost(s)
		if err != nil {
			return
		}
		if again, err := CanonicalHost(got); err != nil || again != got {
			t.Errorf("CanonicalHost(%q) = %q, but CanonicalHost(%q) = %q, %v", s, got, got, again, err)
		}
		if i := strings.IndexFunc(got, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789.-_:", r)
		}); i >= 0 || got == "" {
			t.Errorf("CanonicalHost(%q) = %q, with a character outside the form", s, got)
		}
	})
}
