package registry

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
)

// Tasks returns what a tool declares about tasks; nothing for an unknown one.
func (r *Registry) Tasks(id string) sallyport.TaskSupport {
	if e := r.findEntry(id); e != nil {
		return e.tool.Tasks
	}
	return sallyport.TaskNever
}

// Stands reports whether a caller whom an edge let in at a moment may still hear
// of a call of a tool that it made then: the operator has not revoked it, or stopped it,
// its session or the tool. When that cannot be told, it may not.
func (r *Registry) Stands(ctx context.Context, caller *sallyport.Caller, tool string, since time.Time) bool {
	p := caller.Principal.Name
	if s := r.o.Standing; s != nil {
		if ok, err := s.Stands(ctx, p, since); err != nil || !ok {
			return false
		}
	}
	if s := r.o.Switches; s != nil {
		kind, _, err := s.Stopped(ctx, p, sallyport.SessionKey(p, caller.Session), tool)
		return err == nil && kind == ""
	}
	return true
}
