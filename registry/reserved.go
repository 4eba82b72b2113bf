package registry

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// loopback lists the addresses that a name of this machine itself may have.
var loopback = [...]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// describeReserved says what an address is to which nothing is connected whatever is
// granted; empty for every other host. The addresses of a name are judged when it is
// dialled, but for those of localhost.
func (r *Registry) describeReserved(host string, port uint16) string {
	n := r.backends.Network
	if n == nil || n.RefuseAddress == nil {
		return ""
	}
	addrs := loopback[:]
	if host != "localhost" {
		a, err := netip.ParseAddr(host)
		if err != nil {
			return ""
		}
		addrs = []netip.Addr{a}
	}
	for _, a := range addrs {
		if what, cause := n.RefuseAddress(netip.AddrPortFrom(a, port)); cause != nil {
			return fmt.Sprintf("%s (%v)", what, cause)
		} else if what != "" {
			return what
		}
	}
	return ""
}

// dropUselessFix takes the change off a refusal that would not lift it: nothing
// opens an address that is reserved.
func (r *Registry) dropUselessFix(d sallyport.Decision) sallyport.Decision {
	if d.Capability != group.Network || d.Fix == "" {
		return d
	}
	host, port, err := reach.SplitHostPort(d.Resource)
	if err != nil {
		return d
	}
	if what := r.describeReserved(strings.Trim(host, "[]"), cmp.Or(port, 443)); what != "" {
		d.Why, d.Source, d.Fix = d.Why+"; it is "+what, reach.FloorSource, ""
	}
	return d
}
