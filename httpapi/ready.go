package httpapi

import (
	"errors"
	"net/http"
)

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	why := error(nil)
	switch {
	case s.running.Stopped():
		why = errors.New("shutting down")
	case s.o.Ready != nil:
		why = s.o.Ready(r.Context())
	}
	if why == nil {
		write(w, http.StatusOK, map[string]string{"status": "ready"})
		return
	}
	s.o.Logger.Warn("not ready", "error", why)
	write(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable"})
}
