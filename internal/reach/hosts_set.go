package reach

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Hosts is a compiled set of patterns. Matching costs one map lookup per
// label of the host, whatever the number of patterns, and does not allocate.
// A nil *Hosts matches nothing. It is immutable and safe for concurrent use.
type Hosts struct {
	exact, below map[string]portSet
	any          portSet
}

// portSet is the ports of all patterns for one name.
type portSet struct {
	std   bool // 80 and 443
	all   bool
	other []uint16 // sorted
}

// NewHosts compiles a set that allows: an entry without a port means 80 and
// 443.
func NewHosts(patterns []HostPattern) *Hosts { return compileHosts(patterns, false) }

// NewDenyHosts compiles a set that denies: an entry without a port means
// every port, because a denied host must not come back by naming a port.
func NewDenyHosts(patterns []HostPattern) *Hosts { return compileHosts(patterns, true) }

func compileHosts(patterns []HostPattern, allPorts bool) *Hosts {
	h := &Hosts{exact: make(map[string]portSet), below: make(map[string]portSet)}
	for _, p := range patterns {
		switch p.kind {
		case hostExact:
			h.exact[p.host] = h.exact[p.host].withPort(p.port, allPorts)
		case hostBelow:
			h.below[p.host] = h.below[p.host].withPort(p.port, allPorts)
		case hostAny:
			h.any = h.any.withPort(p.port, allPorts)
		case hostNone:
		}
	}
	return h
}

func (s portSet) withPort(port uint16, allPorts bool) portSet {
	switch {
	case port != 0:
		if i, found := slices.BinarySearch(s.other, port); !found {
			s.other = slices.Insert(s.other, i, port)
		}
	case allPorts:
		s.all = true
	default:
		s.std = true
	}
	return s
}

func (s portSet) has(port uint16) bool {
	if s.all || s.std && (port == portHTTP || port == portHTTPS) {
		return true
	}
	_, found := slices.BinarySearch(s.other, port)
	return found
}

// Match reports whether a pattern of the set matches the host on the port.
// The host must be in the form that [CanonicalHost] returns. A set with "*"
// matches every host; whether an address behind it is public is for the
// caller to decide.
func (h *Hosts) Match(host string, port uint16) bool {
	if h == nil || host == "" {
		return false
	}
	if h.any.has(port) {
		return true
	}
	if s, ok := h.exact[host]; ok && s.has(port) {
		return true
	}
	return h.matchBelow(host, port)
}

// matchBelow looks for a "*.x" among the parents of host.
func (h *Hosts) matchBelow(host string, port uint16) bool {
	if len(h.below) == 0 {
		return false
	}
	for rest := host; ; {
		i := strings.IndexByte(rest, '.')
		if i < 0 {
			return false
		}
		// A name such as ".x" has no first label to stand for the asterisk.
		parent := rest[i+1:]
		if s, ok := h.below[parent]; ok && i > 0 && s.has(port) {
			return true
		}
		rest = parent
	}
}

// Covers reports whether the set matches everything that the pattern matches.
func (h *Hosts) Covers(p HostPattern) bool {
	if h == nil {
		return false
	}
	first, second := p.portPair()
	switch p.kind {
	case hostExact:
		return h.Match(p.host, first) && h.Match(p.host, second)
	case hostBelow:
		return h.coversBelow(p.host, first) && h.coversBelow(p.host, second)
	case hostAny:
		return h.any.has(first) && h.any.has(second)
	default:
		return false
	}
}

func (h *Hosts) coversBelow(parent string, port uint16) bool {
	if h.any.has(port) {
		return true
	}
	if s, ok := h.below[parent]; ok && s.has(port) {
		return true
	}
	return h.matchBelow(parent, port)
}

// Lists reports whether a canonical host is in the set by itself and not only
// by a wildcard.
func (h *Hosts) Lists(host string, port uint16) bool {
	if h == nil {
		return false
	}
	set, ok := h.exact[host]
	return ok && set.has(port)
}

// Names returns the names that are in the set by themselves for a port, without
// wildcards and addresses, sorted.
func (h *Hosts) Names(port uint16) []string {
	if h == nil {
		return nil
	}
	var names []string
	for host, set := range h.exact {
		if _, err := netip.ParseAddr(host); err != nil && set.has(port) {
			names = append(names, host)
		}
	}
	slices.Sort(names)
	return names
}

// Ports returns every port that a pattern of the set means, sorted; of a set
// that denies only those that are written.
func (h *Hosts) Ports() []uint16 {
	if h == nil {
		return nil
	}
	var ports []uint16
	add := func(s portSet) {
		ports = append(ports, s.other...)
		if s.std {
			ports = append(ports, portHTTP, portHTTPS)
		}
	}
	add(h.any)
	for _, sets := range []map[string]portSet{h.exact, h.below} {
		for _, s := range sets {
			add(s)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Exact returns the names and addresses that are in the set by themselves,
// sorted.
func (h *Hosts) Exact() []string {
	if h == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(h.exact))
}
