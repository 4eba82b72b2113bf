package egress

import (
	"errors"
	"net/netip"
	"sync"
)

// maxWildNames bounds the names below wildcards that get addresses in one child,
// which makes them up; maxNames bounds them together with those of the grant.
const (
	maxWildNames = 4096
	maxNames     = 1<<16 - 1
)

// nameRange is the range of IPv4 addresses that stand for names inside a child,
// nameRange6 that of IPv6. The first is reserved for tests of networks
// (RFC 2544), the second is a local one (RFC 4193): neither is a host of the
// internet, and a grant of an address of theirs is refused by the floor.
var (
	nameRange  = netip.MustParsePrefix("198.18.0.0/15")
	nameRange6 = netip.MustParsePrefix("fd73:616c:6c79::/64")
)

// errNamesFull is why a name gets no address.
var errNamesFull = errors.New("the child has asked for as many names as get addresses")

// childNames gives names addresses that mean something inside one child only. An
// address is never given to a second name. The zero value knows none.
type childNames struct {
	mu     sync.Mutex
	byName map[string]int
	names  []string
	wild   int // how many of them are not in the grant by themselves
}

// numberOf returns the number of a name, a new one if it has none yet. listed says
// that the name is in the grant by itself.
func (n *childNames) numberOf(name string, listed bool) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, ok := n.byName[name]; ok {
		return i, nil
	}
	if !listed {
		if n.wild >= maxWildNames {
			return 0, errNamesFull
		}
		n.wild++
	}
	if len(n.names) >= maxNames {
		return 0, errNamesFull
	}
	if n.byName == nil {
		n.byName = map[string]int{}
	}
	n.names = append(n.names, name)
	n.byName[name] = len(n.names)
	return len(n.names), nil
}

// nameAt returns the name that an address stands for.
func (n *childNames) nameAt(a netip.Addr) (name string, ok bool) {
	i := numberAt(a)
	n.mu.Lock()
	defer n.mu.Unlock()
	if i < 1 || i > len(n.names) {
		return "", false
	}
	return n.names[i-1], true
}

// addressesOf returns the addresses with a number, which is less than 1<<16.
func addressesOf(number int) (v4, v6 netip.Addr) {
	a4, a6 := nameRange.Addr().As4(), nameRange6.Addr().As16()
	a4[2], a4[3] = byte(number>>8), byte(number)
	a6[14], a6[15] = a4[2], a4[3]
	return netip.AddrFrom4(a4), netip.AddrFrom16(a6)
}

// numberAt returns the number of an address, 0 for one of another kind.
func numberAt(a netip.Addr) int {
	a = a.Unmap()
	b := a.AsSlice()
	if len(b) < 2 {
		return 0
	}
	number := int(b[len(b)-2])<<8 | int(b[len(b)-1])
	if v4, v6 := addressesOf(number); a != v4 && a != v6 {
		return 0
	}
	return number
}
