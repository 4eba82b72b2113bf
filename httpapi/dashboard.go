package httpapi

import (
	"net/http"
	"slices"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// maxWatches bounds those who watch at once, maxOwnWatches those of one principal.
const maxWatches, maxOwnWatches = 64, 8

// watchPermission lets a principal watch the calls of all others, too.
const watchPermission = "progress:read"

// watchProgress streams the progress of running calls, for a dashboard: that of the
// principal's own calls on every surface, and with a permission that of all.
func (s *Server) watchProgress(w http.ResponseWriter, r *http.Request) {
	p, _ := auth.PrincipalFrom(r.Context())
	if p.Delegation != "" {
		Refuse(w, http.StatusForbidden, "a sub-agent sees no other calls of its principal")
		return
	}
	all := slices.Contains(p.Permissions, watchPermission)
	ctx, done, ok := s.watches.Begin(r.Context(), p.Name)
	defer done()
	if !ok {
		writeBusy(w, "Too many watch the progress of calls; try again")
		return
	}
	events, stop := s.o.Dashboard.Watch(func(principal string) bool { return all || principal == p.Name })
	defer stop()
	e := newEventWriter(w)
	beat := time.NewTicker(s.o.Heartbeat)
	defer beat.Stop()
	for !e.gone {
		select {
		case event := <-events:
			e.sendEvent("progress", event)
		case <-beat.C:
			e.sendComment()
		case <-ctx.Done():
			for !e.gone && len(events) > 0 { // what happened before is told
				e.sendEvent("progress", <-events)
			}
			return
		}
	}
}
