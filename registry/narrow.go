package registry

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// sameNetwork reports whether two grants let the same through.
func sameNetwork(a, b *sallyport.NetworkGrant) bool {
	return slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Deny, b.Deny) && a.AllowPrivate == b.AllowPrivate && a.AnyAddress == b.AnyAddress &&
		slices.Equal(a.Private, b.Private) && a.ReadOnly == b.ReadOnly
}

// isNarrower reports whether the second grant lets less through than the
// first. What cannot be read does.
func isNarrower(was, now *sallyport.NetworkGrant) bool {
	before, err := reach.ParseHosts(was.Allow)
	allowed, bad := reach.ParseHosts(now.Allow)
	if err != nil || bad != nil || was.AllowPrivate && !now.AllowPrivate || was.AnyAddress && !now.AnyAddress || !was.ReadOnly && now.ReadOnly {
		return true
	}
	lost := func(address string) bool { return !slices.Contains(now.Private, address) }
	if !now.AllowPrivate && slices.ContainsFunc(was.Private, lost) {
		return true
	}
	set := reach.NewHosts(allowed)
	return slices.ContainsFunc(before, func(p reach.HostPattern) bool { return !set.Covers(p) }) ||
		slices.ContainsFunc(now.Deny, func(d string) bool { return !slices.Contains(was.Deny, d) })
}
