package reach

import (
	"fmt"
	"net/netip"
	"strings"
)

// WhyDenied is what a refusal says of a host, or of its address, that a deny list holds.
const WhyDenied = "is on the deny list"

// DescribeDenied says for the operator which address of a host a deny list holds, or which
// host on the list has the address, too; that is empty for the address itself.
func DescribeDenied(host string, a netip.Addr, owner string) error {
	if owner == "" {
		return fmt.Errorf("%s has the address %s", host, a)
	}
	return fmt.Errorf("%s has the address %s, which %s has, too; to let it pass, list it by itself in network.allow", host, a, owner)
}

// FindDenied returns what [DescribeDenied] said in the reason of a refusal that a deny list
// holds: an address or the name of a host. Denied is false for any other refusal; the name is
// empty where the reason names none.
func FindDenied(why string) (name string, denied bool) {
	_, rest, denied := strings.Cut(why, WhyDenied)
	if !denied {
		return "", false
	}
	_, rest, _ = strings.Cut(rest, " has the address ")
	addr, _, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
	if owner, _, ok := strings.Cut(strings.TrimPrefix(rest, addr+", which "), " has, too;"); ok {
		return owner, true
	}
	return addr, true
}
