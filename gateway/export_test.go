package gateway

import "time"

// Pace sets how long a client may take to read. It must be called before the
// server serves.
func (s *Server) Pace(wait time.Duration) { s.writeWait = wait }

// Parked returns how many calls wait for another round.
func (s *Server) Parked() int {
	s.parked.mu.Lock()
	defer s.parked.mu.Unlock()
	return len(s.parked.waiting)
}

// BoundTasks lowers the bounds of tasks and of what they keep. It must be
// called before the server serves.
func (s *Server) BoundTasks(most, each, mostBytes, eachBytes int) {
	s.tasks.most, s.tasks.each, s.tasks.mostBytes, s.tasks.eachBytes = most, each, mostBytes, eachBytes
}

// TaskBounds returns the bounds, in the same order.
func (s *Server) TaskBounds() [4]int {
	return [4]int{s.tasks.most, s.tasks.each, s.tasks.mostBytes, s.tasks.eachBytes}
}

// KeptTasks returns how many tasks run or are kept.
func (s *Server) KeptTasks() int {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	return len(s.tasks.byID)
}

// SessionsOf returns how many sessions of HTTP a principal has.
func (s *Server) SessionsOf(principal string) int { return s.sessions.countOf(principal) }

// OpenSessions returns how many sessions of HTTP the library has.
func (s *Server) OpenSessions() (n int) {
	for session := range s.mcp.Sessions() {
		if session.ID() != "" {
			n++
		}
	}
	return n
}
