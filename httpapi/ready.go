package httpapi

import (
	"cmp"
	"errors"
	"net/http"
)

// Reason says in one word why calls cannot be served. It tells no path, no
// address and no text of an error: anybody may ask.
type Reason string

// The reasons.
const (
	// ReasonEnding: the server is being shut down.
	ReasonEnding Reason = "ending"
	// ReasonDisk: the disk of the state is full.
	ReasonDisk Reason = "disk"
	// ReasonState: the state cannot be written or read.
	ReasonState Reason = "state"
	// ReasonKey: the key of the record cannot be read.
	ReasonKey Reason = "key"
	// ReasonOther: something else.
	ReasonOther Reason = "other"
)

// Unready is the error of Options.Ready with a reason to be shown.
type Unready struct {
	// Reason is shown.
	Reason Reason
	// Err is logged.
	Err error
}

// Error is the text for the log.
func (u *Unready) Error() string { return string(u.Reason) + ": " + u.Err.Error() }

// Unwrap returns Err.
func (u *Unready) Unwrap() error { return u.Err }

func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	why := error(nil)
	switch {
	case s.running.Stopped():
		why = &Unready{ReasonEnding, errors.New("shutting down")}
	case s.o.Ready != nil:
		why = s.o.Ready(r.Context())
	}
	if why == nil {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
		return
	}
	s.o.Logger.Warn("not ready", "error", why)
	reason := ReasonOther
	if u, ok := errors.AsType[*Unready](why); ok {
		reason = cmp.Or(u.Reason, ReasonOther)
	}
	writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable", "reason": string(reason)})
}
