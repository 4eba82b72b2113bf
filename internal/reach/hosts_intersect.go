package reach

import (
	"slices"
	"strings"
)

// IntersectHosts returns what a tool that declares the one list may reach
// under a personality that allows the other, sorted and without duplicates,
// and the declared entries of which nothing is granted, in their order.
//
// Of two entries the narrower wins, either way round, ports included. "*" on
// the declared side stands for whatever is allowed; on the allowed side it
// covers every declared host, on the ports that it means. A nil allowed list
// is no list: the declaration stands, except "*", which then stands for
// nothing. An empty allowed list allows nothing.
func IntersectHosts(declared, allowed []HostPattern) (granted, dropped []HostPattern) {
	inputs := make(map[HostPattern]bool, len(declared)+len(allowed))
	for _, p := range declared {
		inputs[p] = true
	}
	for _, p := range allowed {
		inputs[p] = true
	}
	found := make(map[HostPattern]bool)
	for _, d := range declared {
		n := 0
		switch {
		case allowed == nil:
			if d.kind != hostAny && d.kind != hostNone {
				found[d] = true
				n++
			}
		default:
			for _, a := range allowed {
				if p, ok := intersectEntry(d, a); ok {
					found[p] = true
					n++
				}
			}
		}
		if n == 0 {
			dropped = append(dropped, d)
		}
	}
	return minimalEntries(found, inputs), dropped
}

// intersectEntry intersects a declared with an allowed entry. A bare "*" as a
// declaration takes the allowed entry with whatever port it names.
func intersectEntry(d, a HostPattern) (HostPattern, bool) {
	if d.kind == hostAny && d.port == 0 {
		return a, a.kind != hostNone
	}
	return d.intersect(a)
}

// minimalEntries sorts the found entries. An entry that neither side wrote (it
// took its name from one and its port from the other) and that another entry
// covers is left out: it adds nothing, and without it the intersection of a
// grant with itself is the grant.
func minimalEntries(found, inputs map[HostPattern]bool) []HostPattern {
	out := make([]HostPattern, 0, len(found))
	for p := range found {
		if inputs[p] || !coveredByOther(p, found) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b HostPattern) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func coveredByOther(p HostPattern, found map[HostPattern]bool) bool {
	for q := range found {
		if q != p && q.Covers(p) {
			return true
		}
	}
	return false
}

// intersect returns the pattern that matches exactly what both match; ok is
// false when nothing does. Two patterns are always nested or disjoint in
// their names and in their ports, so one pattern is enough.
func (p HostPattern) intersect(q HostPattern) (r HostPattern, ok bool) {
	switch {
	case p.kind == hostNone || q.kind == hostNone:
		return HostPattern{}, false
	case p.kind > q.kind, p.kind == hostBelow && q.kind == hostBelow && len(p.host) < len(q.host):
		p, q = q, p // p is the narrower one now, if they overlap at all.
	}
	switch q.kind {
	case hostAny:
	case hostBelow:
		if !isBelow(p.host, q.host) && (p.kind != hostBelow || p.host != q.host) {
			return HostPattern{}, false
		}
	default:
		if p.host != q.host {
			return HostPattern{}, false
		}
	}
	port, ok := intersectPorts(p.port, q.port)
	return HostPattern{kind: p.kind, host: p.host, port: port}, ok
}

// intersectPorts narrows two ports of patterns, where 0 means 80 and 443.
func intersectPorts(a, b uint16) (uint16, bool) {
	switch {
	case a == b:
		return a, true
	case a == 0:
		return b, b == portHTTP || b == portHTTPS
	case b == 0:
		return a, a == portHTTP || a == portHTTPS
	default:
		return 0, false
	}
}
