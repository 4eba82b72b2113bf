package registry

import (
	"slices"

	"github.com/sallyport/sallyport"
)

// Watch has the calls that begin from now on say how far they are, for [Runs.List], until
// stop is called. Calls cost nothing for it while no page is open.
func (r *Runs) Watch() (stop func()) {
	r.watchers.Add(1)
	return func() { r.watchers.Add(-1) }
}

// List returns copies of what runs, what began first at the beginning. The caller owns
// the slice.
func (r *Runs) List() []Run {
	r.mu.Lock()
	list := make([]Run, 0, len(r.all))
	for run := range r.all {
		list = append(list, *run)
	}
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b Run) int { return a.Since.Compare(b.Since) })
	return list
}

// EndCall ends the call with this id, and what it has left running, and returns how many
// of them there were. The reason is for the operator. The outcome of the call is recorded
// as that of a call that the gate ended.
func (r *Runs) EndCall(id, why string) (ended int) {
	for _, run := range r.list() {
		if id != "" && run.CallID == id {
			r.endRun(run, why)
			ended++
		}
	}
	return ended
}

// noteProgress keeps the last report of a call for those who watch.
func (r *Runs) noteProgress(run *Run, e sallyport.Progress) {
	if r.watchers.Load() == 0 || e.Audience == sallyport.AudienceInternal {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	run.Says = e
}

// Len returns how many run.
func (r *Runs) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}
