package seccomp

import (
	"slices"
	"testing"
)

// A watched call whose arguments nobody described would be reported empty.
func TestEveryWatchedCallHasAShape(t *testing.T) {
	t.Parallel()
	for name, s := range shapes {
		known := func(n number) bool { return n.name == name }
		if len(s.paths) == 0 && s.address == 0 || !slices.ContainsFunc(numbers, known) {
			t.Errorf("%s has no shape or no number", name)
		}
	}
}

func TestPeer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, address, want string }{
		{"inet", "\x02\x00\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", "127.0.0.1:80"},
		{"inet6", "\x0a\x00\x01\xbb\x00\x00\x00\x00" +
			"\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", "[2001:db8::1]:443"},
		{"unix", "\x01\x00/run/s\x00rest", "/run/s"},
		{"abstract", "\x01\x00\x00name", "@name"},
		{"unix without a name", "\x01\x00", ""},
		{"inet cut short", "\x02\x00\x00\x50\x7f", ""},
		{"inet6 cut short", "\x0a\x00\x00\x50\x7f\x00\x00\x00\x00", ""},
		{"netlink", "\x10\x00\x00\x00\x00\x00\x00\x00", ""},
		{"nothing", "", ""},
	} {
		if got := formatPeer([]byte(tt.address)); got != tt.want {
			t.Errorf("%s: peer(%q) = %q, want %q", tt.name, tt.address, got, tt.want)
		}
	}
}

// The bytes come from the memory of the child.
func FuzzPeer(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x50\x7f\x00\x00\x01"))
	f.Add([]byte("\x0a\x00\x00\x50"))
	f.Add([]byte("\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := formatPeer(b); len(got) > max(64, len(b)) {
			t.Errorf("peer of %d bytes has %d", len(b), len(got))
		}
	})
}
