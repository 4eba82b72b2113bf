package registry

import (
	"log/slog"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// Run is something that runs under a grant: a call, or what a call has left
// running. What it says does not change.
type Run struct {
	// What says in words what runs: "call", or "process bash".
	What string
	// CallID is the call that began it.
	CallID string
	// Tool is what was called. A tool of an upstream server has left running what
	// serves all of the server's: it is "mcp__<server>__*" then.
	Tool string
	// Session is the session of the call and SessionKey its key; both are empty
	// for what serves every session of its principal.
	Session, SessionKey string
	// Principal is who called; without a name it serves every principal.
	Principal sallyport.Principal
	// Personality is the role of the call.
	Personality string
	// Platform is the surface of the call.
	Platform sallyport.Platform
	// Since is when the call began.
	Since time.Time
}

// RunsOptions configure [Runs]. nil means the defaults.
type RunsOptions struct {
	// Logger receives what was ended; nil discards it.
	Logger *slog.Logger
}

// Runs is what runs, in one registry or in several that follow each other. It
// is safe for concurrent use.
type Runs struct {
	o   RunsOptions
	mu  sync.Mutex
	all map[*Run]struct{}
}

// NewRuns returns an empty set. A nil o means the defaults.
func NewRuns(o *RunsOptions) *Runs {
	r := &Runs{all: map[*Run]struct{}{}}
	if o != nil {
		r.o = *o
	}
	if r.o.Logger == nil {
		r.o.Logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// add takes a run in.
func (r *Runs) add(run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[run] = struct{}{}
}

// remove takes a run out and reports whether it was there.
func (r *Runs) remove(run *Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.all[run]
	delete(r.all, run)
	return ok
}

// calling is a [Run.What].
const calling = "call"
