//go:build unix

package serverlist

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openListener opens one, and returns its port.
func openListener(t *testing.T, l *Listeners, address string) uint16 {
	t.Helper()
	n, err := l.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n.Addr().(*net.TCPAddr).AddrPort().Port()
}

// addressOfMachine returns one that is not loopback; the test is skipped without one.
func addressOfMachine(t *testing.T) netip.Addr {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		if n, ok := one.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			a, _ := netip.AddrFromSlice(n.IP.To4())
			return a
		}
	}
	t.Skip("this machine has loopback addresses only")
	return netip.Addr{}
}

func TestListenersOfEveryProcessAreRefused(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "servers")
	here, elsewhere := NewListeners(folder, nil), NewListeners(folder, nil)
	loopback := openListener(t, here, "127.0.0.1:0")
	wild := openListener(t, here, ":0")
	outside := addressOfMachine(t)
	for _, tt := range []struct {
		address string
		port    uint16
		refused bool
	}{
		{"127.0.0.1", loopback, true},
		{"::ffff:127.0.0.1", loopback, true},
		{"0.0.0.0", loopback, true},
		{"::", loopback, true},
		{"127.0.0.1", loopback ^ 1, false},
		{"127.0.0.2", loopback, false},
		{outside.String(), loopback, false},
		{"93.184.215.14", loopback, false},
		{"127.0.0.1", wild, true},
		{"127.0.0.2", wild, true},
		{"::1", wild, true},
		{"fe80::1%lo", wild, false},
		{outside.String(), wild, true},
		{"::ffff:" + outside.String(), wild, true},
		{"93.184.215.14", wild, false},
	} {
		to := netip.AddrPortFrom(netip.MustParseAddr(tt.address), tt.port)
		for who, l := range map[string]*Listeners{"its process": here, "another process": elsewhere} {
			if what, err := l.Refuse(to); (what != "") != tt.refused || err != nil {
				t.Errorf("%s: Refuse(%s) = %q, %v, want refused %t", who, to, what, err, tt.refused)
			}
		}
	}
}

func TestAClosedListenerIsForgotten(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "servers")
	l := NewListeners(folder, nil)
	n, err := l.Open(t.Context(), "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	at := n.Addr().(*net.TCPAddr).AddrPort()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	_ = n.Close() // a server closes it, and so does its owner
	// A second one at the same address, as after a restart.
	if n, err = l.Open(t.Context(), at.String()); err != nil {
		t.Fatal(err)
	}
	if what, err := NewListeners(folder, nil).Refuse(at); what == "" || err != nil {
		t.Errorf("Refuse() while it listens = %q, %v", what, err)
	}
	if _, err := l.Open(t.Context(), at.String()); err == nil {
		t.Error("two listen at one address")
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for _, who := range []*Listeners{l, NewListeners(folder, nil)} {
		if what, err := who.Refuse(at); what != "" || err != nil {
			t.Errorf("Refuse() after the end = %q, %v", what, err)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("%d entries are left", len(left))
	}
}

func TestAListThatCannotBeReadRefusesThisMachine(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, folder string){
		"a folder that others write": func(t *testing.T, folder string) {
			if err := os.Chmod(folder, 0o777); err != nil {
				t.Fatal(err)
			}
		},
		"an entry of a process that runs is no JSON": func(t *testing.T, folder string) {
			names, _ := filepath.Glob(filepath.Join(folder, "*.json"))
			if err := os.WriteFile(names[0], []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"an entry is a link": func(t *testing.T, folder string) {
			if err := os.Symlink("/etc/passwd", filepath.Join(folder, "1.json")); err != nil {
				t.Fatal(err)
			}
		},
		"too many entries": func(t *testing.T, folder string) {
			for i := range maxEntries {
				if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.json", i)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a file instead of a folder": func(t *testing.T, folder string) {
			if err := os.Rename(folder, folder+"2"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(folder, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "servers")
			openListener(t, NewListeners(folder, nil), "127.0.0.1:0")
			spoil(t, folder)
			l := NewListeners(folder, nil)
			if what, err := l.Refuse(netip.MustParseAddrPort("127.0.0.1:1")); what == "" || err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
				t.Errorf("Refuse() = %q, %v, want a refusal with what to do", what, err)
			}
			if what, err := l.Refuse(netip.MustParseAddrPort("93.184.215.14:1")); what != "" || err != nil {
				t.Errorf("another machine: Refuse() = %q, %v", what, err)
			}
		})
	}
}

func TestAListThatCannotExistRefusesThisMachine(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, refused := range map[string]bool{
		"":                             true,
		filepath.Join(file, "servers"): true,
		filepath.Join(base, "not", "yet", "servers"): false,
	} {
		what, err := NewListeners(folder, nil).Refuse(netip.MustParseAddrPort("127.0.0.1:1"))
		if (what != "") != refused || (err != nil) != refused {
			t.Errorf("%q: Refuse() = %q, %v, want refused %t", folder, what, err, refused)
		}
	}
	// What this process opened, it knows nevertheless.
	l := NewListeners("", nil)
	port := openListener(t, l, "127.0.0.1:0")
	if what, err := l.Refuse(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)); what != whatListener || err != nil {
		t.Errorf("Refuse() of its own = %q, %v", what, err)
	}
}
