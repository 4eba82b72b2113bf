package registry

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// denyKey is the key of the hosts that are out of reach of a role, whatever it is granted.
const denyKey = "safety.network.deny"

// addDenyRule adds to the refusal of a host the entries of the personality's own deny list
// that hold its name, one of its addresses, or another host with one of them; ok is false
// where none does, or where what nothing lifts refuses the host anyway.
func (ro *compiledRole) addDenyRule(d sallyport.Decision) (ruled sallyport.Decision, ok bool) {
	host, port, err := reach.SplitHostPort(d.Resource)
	if d.Source != reach.FloorSource || d.Capability != group.Network || err != nil || ro.personality == nil || ro.personality.Network == nil {
		return d, false
	}
	name, denied := reach.FindDenied(d.Why)
	source, entries := ro.findDenying(host, port)
	if denied && len(entries) == 0 && name != "" {
		source, entries = ro.findDenying(strings.Trim(name, "[]"), port)
	}
	address := privateAddressOf(d)
	switch {
	case !denied && len(entries) > 0 && address != "":
		d.Source = source
		d.Fix = "take " + strings.Join(entries, " and ") + " off " + ro.fullKey(denyKey) + ", and add " + address + " to " + ro.fullKey("safety.network.allow_private")
	case denied && len(entries) > 0:
		d.Source, d.Fix = source, "take "+strings.Join(entries, " and ")+" off "+ro.fullKey(denyKey)
	case denied && name == "" && len(ro.personality.Network.Deny) > 0:
		// A child is told of no address, and so is its record.
		d.Source, d.Fix = ro.sourceOf(denyKey), "take what covers an address of "+d.Resource+" off "+ro.fullKey(denyKey)
	default:
		return d, false
	}
	if strings.Contains(d.Why, " has, too;") {
		d.Fix += ", or list " + d.Resource + " by itself in " + ro.fullKey("safety.network.allow")
	}
	return d, true
}

// findDenying returns the entries of the personality's deny list that hold a host, and the
// place of the first. Whatever port an entry names, a host may be given without one.
func (ro *compiledRole) findDenying(host string, port uint16) (source string, entries []string) {
	for i, entry := range ro.personality.Network.Deny {
		list, err := reach.ParseHosts([]string{entry})
		if err != nil {
			continue
		}
		deny := reach.NewDenyHosts(list)
		if deny.Match(host, cmp.Or(port, 443)) || port == 0 && deny.Match(host, 80) {
			source = cmp.Or(source, ro.sourceOf(denyKey+"."+strconv.Itoa(i)))
			entries = append(entries, entry)
		}
	}
	return source, entries
}
