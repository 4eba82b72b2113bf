package upstream

// adopt takes over what is known of a server that is declared in the same way:
// its tools are there at once, each judged anew, while it is asked again.
func (s *server) adopt(was *server) {
	was.mu.Lock()
	defer was.mu.Unlock()
	if was.accepted == nil {
		return
	}
	s.accepted, s.latest, s.role, s.health = was.latest, was.latest, was.role, was.health
}

// Adopted lists the servers whose tools are known from the mounts before: they
// can be mounted before they are asked.
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
