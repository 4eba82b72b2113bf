package gateway

import "time"

// Pace sets how long a client may take to read. It must be called before the
// server serves.
func (s *Server) Pace(wait time.Duration) { s.http.writeWait = wait }

// Parked returns how many calls wait for another round.
func (s *Server) Parked() int {
	s.core.parked.mu.Lock()
	defer s.core.parked.mu.Unlock()
	return len(s.core.parked.waiting)
}

// BoundTasks lowers the bounds of tasks and of what they keep. It must be
// called before the server serves.
func (s *Server) BoundTasks(most, each, mostBytes, eachBytes int) {
	s.core.tasks.most, s.core.tasks.each, s.core.tasks.mostBytes, s.core.tasks.eachBytes = most, each, mostBytes, eachBytes
}

// TaskBounds returns the bounds, in the same order.
func (s *Server) TaskBounds() [4]int {
	return [4]int{s.core.tasks.most, s.core.tasks.each, s.core.tasks.mostBytes, s.core.tasks.eachBytes}
}

// KeptTasks returns how many tasks run or are kept.
func (s *Server) KeptTasks() int {
	s.core.tasks.mu.Lock()
	defer s.core.tasks.mu.Unlock()
	return len(s.core.tasks.byID)
}

// SessionsOf returns how many sessions of HTTP a principal has.
func (s *Server) SessionsOf(principal string) int {
	s.http.sessions.mu.Lock()
	defer s.http.sessions.mu.Unlock()
	return s.http.sessions.countLocked()[principal]
}

// OpenSessions returns how many sessions of HTTP are open.
func (s *Server) OpenSessions() int {
	s.http.sessions.mu.Lock()
	defer s.http.sessions.mu.Unlock()
	return len(s.http.sessions.open)
}
