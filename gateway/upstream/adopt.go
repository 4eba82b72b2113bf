package upstream

import (
	"encoding/json"
	"maps"
	"slices"
)

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

// AdoptPinned takes what a server offers from elsewhere, such as a lock file, so that its
// tools are known though it is never asked. They are not available for calls until it
// is. A server that is not declared is left out.
func (m *Mounts) AdoptPinned(server string, offers map[Kind][]json.RawMessage) {
	s := m.findServer(server)
	if s == nil {
		return
	}
	n := &serverListing{all: map[Kind][]json.RawMessage{}, byKey: map[definitionKey]*offering{}, failed: map[Kind]string{}}
	for _, kind := range kinds {
		n.addDefinitions(kind, slices.Clone(offers[kind]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted, s.latest = n, n
}

// Adopted lists the servers whose tools are known from the previous mounts, or from pins.
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
