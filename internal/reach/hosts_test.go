package reach

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustHosts(t testing.TB, list ...string) []HostPattern {
	t.Helper()
	out, err := ParseHosts(list)
	if err != nil {
		t.Fatal(err)
	}
	if out == nil {
		out = []HostPattern{}
	}
	return out
}

func spell(ps []HostPattern) []string {
	out := []string{}
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

func TestParseHost(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"exact", "api.github.com", "api.github.com"},
		{"canonical", "API.GitHub.com.", "api.github.com"},
		{"port", "api.x.com:8443", "api.x.com:8443"},
		{"default port is kept", "api.x.com:443", "api.x.com:443"},
		{"wildcard", "*.Example.com", "*.example.com"},
		{"wildcard and port", "*.example.com:8443", "*.example.com:8443"},
		{"wildcard of a top level", "*.com", "*.com"},
		{"wildcard in Unicode", "*.bücher.example", "*.xn--bcher-kva.example"},
		{"any", "*", "*"},
		{"any and port", "*:8443", "*:8443"},
		{"IPv4", "10.0.0.1:80", "10.0.0.1:80"},
		{"IPv6 bare", "::1", "[::1]"},
		{"IPv6", "[0::1]", "[::1]"},
		{"IPv6 and port", "[::1]:8443", "[::1]:8443"},
		{"localhost", "localhost:3000", "localhost:3000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseHost(tt.in)
			if err != nil || got.String() != tt.want {
				t.Fatalf("ParseHost(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
			if again, err := ParseHost(got.String()); err != nil || again != got {
				t.Errorf("ParseHost(%q) = %v, %v, want %v", got, again, err, got)
			}
		})
	}
}

func TestParseHostRefuses(t *testing.T) {
	tests := []struct {
		name, in string
	}{
		{"empty", ""},
		{"URL", "https://api.github.com"},
		{"path", "api.github.com/repos"},
		{"query", "api.github.com?x"},
		{"fragment", "api.github.com#x"},
		{"backslash", `api.github.com\x`},
		{"user info", "user@api.github.com"},
		{"wildcard without a dot", "*github.com"},
		{"wildcard inside", "api.*.com"},
		{"wildcard at the end", "api.*"},
		{"wildcard within a label", "a*.github.com"},
		{"two wildcards", "*.*.com"},
		{"two asterisks", "**"},
		{"wildcard of nothing", "*."},
		{"wildcard of an address", "*.0.0.1"},
		{"wildcard of an IPv4 address", "*.127.0.0.1"},
		{"wildcard of an IPv6 address", "*.[::1]"},
		{"leading dot", ".github.com"},
		{"blank", " "},
		{"blank inside", "a b"},
		{"control", "a.b\r\n"},
		{"zone", "fe80::1%lo"},
		{"zone in brackets", "[fe80::1%lo]"},
		{"octal", "0177.0.0.1"},
		{"port zero", "a.b:0"},
		{"port of any", "*:0"},
		{"port word of any", "*:x"},
		{"empty port", "a.b:"},
		{"port range", "a.b:80-90"},
		{"any port", "a.b:*"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := ParseHost(tt.in); err == nil {
				t.Errorf("ParseHost(%q) = %v, want an error", tt.in, got)
			}
		})
	}
}

func TestParseHostsReportsEveryFault(t *testing.T) {
	_, err := ParseHosts([]string{"", "a.b", "*x"})
	want := "entry 1: empty host\n" + `entry 3: host "*x": a wildcard is "*" or "*." followed by a name`
	if err == nil || err.Error() != want {
		t.Errorf("ParseHosts = %v, want %s", err, want)
	}
	if got, err := ParseHosts(nil); got != nil || err != nil {
		t.Errorf("ParseHosts(nil) = %v, %v, want nil, nil", got, err)
	}
	if got, err := ParseHosts([]string{}); got == nil || err != nil {
		t.Errorf("ParseHosts([]) = %v, %v, want an empty list that is not nil", got, err)
	}
}

// The names of the cases up to "contract:" quote the table "Hosts" of the
// contract, section 2: "tool declares | personality allows".
func TestIntersectHosts(t *testing.T) {
	tests := []struct {
		name              string
		declared, allowed []string // allowed nil: no network block
		granted, dropped  []string
	}{
		{"contract: api.exa.ai | api.exa.ai, api.openai.com", []string{"api.exa.ai"}, []string{"api.exa.ai", "api.openai.com"}, []string{"api.exa.ai"}, nil},
		{"contract: api.exa.ai | *.exa.ai", []string{"api.exa.ai"}, []string{"*.exa.ai"}, []string{"api.exa.ai"}, nil},
		{"contract: *.github.com | api.github.com", []string{"*.github.com"}, []string{"api.github.com"}, []string{"api.github.com"}, nil},
		{"contract: api.exa.ai | api.openai.com", []string{"api.exa.ai"}, []string{"api.openai.com"}, nil, []string{"api.exa.ai"}},
		{"contract: api.exa.ai | no network block", []string{"api.exa.ai"}, nil, []string{"api.exa.ai"}, nil},
		{"contract: api.exa.ai | allow: []", []string{"api.exa.ai"}, []string{}, nil, []string{"api.exa.ai"}},
		{"contract: * | api.github.com, *.openai.com", []string{"*"}, []string{"api.github.com", "*.openai.com"}, []string{"*.openai.com", "api.github.com"}, nil},
		{"contract: * | no network block", []string{"*"}, nil, nil, []string{"*"}},
		{`contract: * | ["*"]`, []string{"*"}, []string{"*"}, []string{"*"}, nil},
		{"contract: *.b matches any name that ends in .b and not b", []string{"github.com"}, []string{"*.github.com"}, nil, []string{"github.com"}},
		{"contract: without a port, 80 and 443 are meant", []string{"a.b:443", "a.b:8443"}, []string{"a.b"}, []string{"a.b:443"}, []string{"a.b:8443"}},

		{"* | allow: []", []string{"*"}, []string{}, nil, []string{"*"}},
		{"* takes the ports of the personality", []string{"*"}, []string{"db.x:5432"}, []string{"db.x:5432"}, nil},
		{"*:8443 takes one port", []string{"*:8443"}, []string{"a.b", "c.d:8443", "*:8443"}, []string{"*:8443", "c.d:8443"}, nil},
		{"*:8443 without a network block", []string{"*:8443"}, nil, nil, []string{"*:8443"}},
		{"allowed * covers names and addresses", []string{"a.b", "*.c.d", "[::1]", "10.0.0.1"}, []string{"*"}, []string{"*.c.d", "10.0.0.1", "[::1]", "a.b"}, nil},
		{"allowed * means two ports", []string{"a.b:8443", "a.b:80"}, []string{"*"}, []string{"a.b:80"}, []string{"a.b:8443"}},
		{"narrower wildcard", []string{"*.b.c"}, []string{"*.c"}, []string{"*.b.c"}, nil},
		{"narrower wildcard, other way round", []string{"*.c"}, []string{"*.b.c"}, []string{"*.b.c"}, nil},
		{"look-alike suffix", []string{"*.evilgithub.com"}, []string{"*.github.com"}, nil, []string{"*.evilgithub.com"}},
		{"name from one side, port from the other", []string{"*.b:443"}, []string{"a.b"}, []string{"a.b:443"}, nil},
		{"a covered mixture adds nothing", []string{"*.b:443", "a.b"}, []string{"*.b:443", "a.b"}, []string{"*.b:443", "a.b"}, nil},
		{"covered entries that were written stay", []string{"*.b", "a.b"}, []string{"*.b"}, []string{"*.b", "a.b"}, nil},
		{"duplicates", []string{"a.b", "A.B."}, []string{"a.b", "*.b"}, []string{"a.b"}, nil},
		{"spelling", []string{"BÜCHER.example"}, []string{"xn--bcher-kva.example"}, []string{"xn--bcher-kva.example"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			allowed, err := ParseHosts(tt.allowed)
			if err != nil {
				t.Fatal(err)
			}
			granted, dropped := IntersectHosts(mustHosts(t, tt.declared...), allowed)
			if diff := cmp.Diff(append([]string{}, tt.granted...), spell(granted)); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(append([]string{}, tt.dropped...), spell(dropped)); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestZeroPatternGrantsNothing(t *testing.T) {
	zero := []HostPattern{{}}
	for _, allowed := range [][]HostPattern{nil, zero, mustHosts(t, "*")} {
		if granted, _ := IntersectHosts(zero, allowed); len(granted) != 0 {
			t.Errorf("IntersectHosts(zero, %v) = %v, want nothing", allowed, granted)
		}
	}
	if granted, _ := IntersectHosts(mustHosts(t, "*"), zero); len(granted) != 0 {
		t.Errorf("IntersectHosts(*, zero) = %v, want nothing", granted)
	}
	h := NewHosts(zero)
	if h.Match("", 443) || h.Match("a.b", 443) || h.Covers(HostPattern{}) || (HostPattern{}).String() != "" {
		t.Error("the zero pattern matches or prints")
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name     string
		patterns []string
		host     string
		port     uint16
		want     bool
	}{
		{"exact", []string{"a.b"}, "a.b", 443, true},
		{"exact on 80", []string{"a.b"}, "a.b", 80, true},
		{"exact on another port", []string{"a.b"}, "a.b", 8443, false},
		{"port", []string{"a.b:8443"}, "a.b", 8443, true},
		{"port only", []string{"a.b:8443"}, "a.b", 443, false},
		{"several ports", []string{"a.b:9", "a.b:7", "a.b:8", "a.b:8"}, "a.b", 8, true},
		{"port 0", []string{"a.b"}, "a.b", 0, false},
		{"child of exact", []string{"a.b"}, "x.a.b", 443, false},
		{"wildcard", []string{"*.b"}, "a.b", 443, true},
		{"wildcard, deep", []string{"*.b"}, "x.y.a.b", 443, true},
		{"wildcard, apex", []string{"*.b"}, "b", 443, false},
		{"wildcard, look-alike", []string{"*.github.com"}, "evilgithub.com", 443, false},
		{"wildcard, prefix", []string{"*.github.com"}, "github.com.evil.com", 443, false},
		{"wildcard, empty label", []string{"*.b"}, ".b", 443, false},
		{"wildcard port", []string{"*.b:1"}, "a.b", 1, true},
		{"any", []string{"*"}, "a.b", 443, true},
		{"any, other port", []string{"*"}, "a.b", 22, false},
		{"any with port", []string{"*:22"}, "a.b", 22, true},
		{"empty set", nil, "a.b", 443, false},
		{"empty host", []string{"*"}, "", 443, false},
		{"dot is no regexp", []string{"api.github.com"}, "api-github.com", 443, false},
		{"IPv6", []string{"[::1]"}, "::1", 80, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewHosts(mustHosts(t, tt.patterns...)).Match(tt.host, tt.port); got != tt.want {
				t.Errorf("Match(%q, %d) = %t, want %t", tt.host, tt.port, got, tt.want)
			}
		})
	}
	if (*Hosts)(nil).Match("a.b", 443) || (*Hosts)(nil).Covers(mustHosts(t, "a.b")[0]) {
		t.Error("a nil set matches")
	}
}

func TestDenyMeansEveryPort(t *testing.T) {
	h := NewDenyHosts(mustHosts(t, "a.b", "*.c", "p.q:22"))
	for _, port := range []uint16{1, 80, 443, 8443} {
		if !h.Match("a.b", port) || !h.Match("x.c", port) {
			t.Errorf("Match on port %d = false, want true", port)
		}
	}
	if !h.Match("p.q", 22) || h.Match("p.q", 443) {
		t.Error("a denied port is not the one that was written")
	}
}

func TestCovers(t *testing.T) {
	tests := []struct {
		name     string
		patterns []string
		pattern  string
		want     bool
	}{
		{"same", []string{"a.b"}, "a.b", true},
		{"one of two ports", []string{"a.b:443"}, "a.b", false},
		{"both ports one by one", []string{"a.b:443", "a.b:80"}, "a.b", true},
		{"named port", []string{"a.b"}, "a.b:443", true},
		{"foreign port", []string{"a.b"}, "a.b:22", false},
		{"by wildcard", []string{"*.b"}, "a.b", true},
		{"wildcard by itself", []string{"*.b"}, "*.b", true},
		{"wildcard by its parent", []string{"*.c"}, "*.b.c", true},
		{"wildcard by its child", []string{"*.b.c"}, "*.c", false},
		{"wildcard by any", []string{"*"}, "*.c", true},
		{"wildcard by exact", []string{"c", "b.c"}, "*.c", false},
		{"any by any", []string{"*"}, "*", true},
		{"any by others", []string{"*.com"}, "*", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewHosts(mustHosts(t, tt.patterns...)).Covers(mustHosts(t, tt.pattern)[0]); got != tt.want {
				t.Errorf("Covers(%s) = %t, want %t", tt.pattern, got, tt.want)
			}
		})
	}
	if (HostPattern{}).Any() || !mustHosts(t, "*:22")[0].Any() {
		t.Error("Any is true for the asterisk only")
	}
}

func TestHostsSayWhatTheyHold(t *testing.T) {
	t.Parallel()
	set := NewHosts(mustHosts(t, "b.example.org:5432", "*.a.example.org", "a.example.org", "10.0.0.1:9", "*:8080", "c.example.org:443"))
	if diff := cmp.Diff([]uint16{9, 80, 443, 5432, 8080}, set.Ports()); diff != "" {
		t.Errorf("Ports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10.0.0.1", "a.example.org", "b.example.org", "c.example.org"}, set.Exact()); diff != "" {
		t.Errorf("Exact (-want +got):\n%s", diff)
	}
	var none *Hosts
	if none.Ports() != nil || none.Exact() != nil {
		t.Errorf("a nil set holds %v, %v", none.Ports(), none.Exact())
	}
}
