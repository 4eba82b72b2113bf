package httpapi

import "time"

// Window and Decode are the functions that tests look at from the inside.
func Window(d time.Duration) string { return window(d) }

// Decoded is what a body says.
type Decoded struct {
	Params               string
	Session, Personality string
	DryRun               bool
}

func Decode(text []byte) (Decoded, error) {
	q, err := decode(text)
	return Decoded{string(q.params), q.session, q.personality, q.dryRun}, err
}

// Occupy takes every slot for long bodies and for files until release.
func (s *Server) Occupy() (release func()) {
	for range cap(s.large) {
		s.large <- struct{}{}
	}
	for range cap(s.files) {
		s.files <- struct{}{}
	}
	return func() {
		for range cap(s.large) {
			<-s.large
		}
		for range cap(s.files) {
			<-s.files
		}
	}
}
