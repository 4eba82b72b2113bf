package upstream

import "maps"

// adoptKnowledge takes over the known tools of an equally declared server. They are
// available at once, each judged anew, while the server is listed again.
func (s *mountedServer) adoptKnowledge(was *mountedServer) {
	was.mu.Lock()
	defer was.mu.Unlock()
	if was.accepted == nil {
		return
	}
	s.accepted, s.latest, s.role, s.health = was.latest, was.latest, was.role, was.health
}

// Adopted lists the servers whose tools are known from the previous mounts.
// They can be mounted before they are listed again.
func (m *Mounts) Adopted() (names []string) {
	for _, s := range m.servers {
		s.mu.Lock()
		if s.accepted != nil {
			names = append(names, s.Name)
		}
		s.mu.Unlock()
	}
	return names
}

// Outdated reports whether a server now offers something other than what is
// mounted. New mounts would then offer it.
func (m *Mounts) Outdated() bool {
	for _, s := range m.servers {
		s.mu.Lock()
		other := s.accepted != s.latest && s.accepted != nil && !s.accepted.offersSame(s.latest)
		s.mu.Unlock()
		if other {
			return true
		}
	}
	return false
}

// offersSame reports whether both listings offer the same definitions.
func (n *serverListing) offersSame(other *serverListing) bool {
	return maps.EqualFunc(n.byKey, other.byKey, func(a, b *offering) bool { return a.digest == b.digest && a.fault == b.fault }) &&
		maps.Equal(n.failed, other.failed)
}
