package httpapi

import (
	"context"
	"time"
)

// Window and Decode are the functions that tests look at from the inside.
func Window(d time.Duration) string { return durationText(d) }

// Decoded is what a body says.
type Decoded struct {
	Params               string
	Session, Personality string
	DryRun               bool
}

func Decode(text []byte) (Decoded, error) {
	q, err := decodeRequest(text)
	return Decoded{string(q.params), q.session, q.personality, q.dryRun}, err
}

// Occupy has principals hold all the room for long bodies, and requests with
// files, that they may until release.
func (s *Server) Occupy(principals ...string) (release func()) {
	var releases []func()
	for _, p := range principals {
		for {
			h := s.long.Hold("", p, nil)
			if h.Grow(defaultBody) != nil {
				break
			}
			releases = append(releases, h.Release)
		}
		for {
			_, done, ok := s.files.Begin(context.Background(), p)
			if !ok {
				break
			}
			releases = append(releases, done)
		}
	}
	return func() {
		for _, f := range releases {
			f()
		}
	}
}
