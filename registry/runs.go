package registry

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/scoped"
)

const (
	// defaultRunsPause is how often what runs is looked at: what an operator
	// stops ends within a second, in every process that uses the state.
	defaultRunsPause = 250 * time.Millisecond
	// unknownWait is how long what runs goes on while the state, which says whether
	// it may, cannot be read.
	unknownWait = 5 * time.Second
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
	// Says is the last report of a call for its user or the dashboard; the zero value
	// before one, and while no page is open.
	Says sallyport.Progress

	// call is that of a call, nil for what it has left running. scope is what it
	// runs under, nil while that is not known.
	call  *call
	scope *scoped.Scope
	// end and narrow are for what is no call.
	end    func(*Ended)
	narrow func(sallyport.NetworkGrant) bool // false: it has to end instead
	// narrowed is what it was narrowed to, nil when it was not.
	narrowed *sallyport.NetworkGrant
	// cleaner cleans what is recorded of what a call has left running; nil for
	// a call, which has its own record.
	cleaner *output.Cleaner
}

// Ended is why something that ran was ended by the gate.
type Ended struct {
	// Why is for the operator.
	Why string
}

// Error says it for the caller: without what the operator did, or why.
func (e *Ended) Error() string { return "the caller may not go on with it any more" }

// RunsOptions configure [Runs]. nil means the defaults.
type RunsOptions struct {
	// Switches says what an operator has stopped; nil stops nothing.
	Switches Switches
	// Standing says who may still call; nil means that everybody may.
	Standing Standing
	// Recorder keeps what was ended; nil keeps nothing.
	Recorder Recorder
	// Logger receives what was ended; nil discards it.
	Logger *slog.Logger
	// Pause is how often what runs is looked at; 0 means 250 ms.
	Pause time.Duration
}

// Runs is what runs, in one registry or in several that follow each other. It
// ends calls, and what they have left running, of a principal that was revoked,
// stopped or given another token, or whose session, tool or server was stopped,
// whichever process that was done in. It is safe for concurrent use.
type Runs struct {
	o RunsOptions
	// life ends with Close, and with it every check; checking counts those under way, and
	// recording the records that are being made.
	life                context.Context
	close               context.CancelFunc
	checking, recording sync.WaitGroup
	watchers            atomic.Int32 // see Watch

	mu     sync.Mutex
	all    map[*Run]struct{}
	armed  bool
	known  time.Time                                         // when it could be said last what may go on
	review func(run *Run) (now *sallyport.Grant, why string) // of the last review; nil before one
}

// NewRuns returns an empty set. A nil o means the defaults.
func NewRuns(o *RunsOptions) *Runs {
	r := &Runs{all: map[*Run]struct{}{}}
	r.life, r.close = context.WithCancel(context.Background())
	if o != nil {
		r.o = *o
	}
	if r.o.Pause <= 0 {
		r.o.Pause = defaultRunsPause
	}
	if r.o.Logger == nil {
		r.o.Logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// add adds a run, which is checked until it is over. A check costs nothing
// while nothing runs.
func (r *Runs) add(run *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[run] = struct{}{}
	if !r.armed {
		r.known = time.Now()
	}
	r.scheduleCheck()
}

// scheduleCheck has the runs checked after a pause. The caller holds the
// lock.
func (r *Runs) scheduleCheck() {
	if r.armed || r.life.Err() != nil || r.o.Switches == nil && r.o.Standing == nil {
		return
	}
	r.armed = true
	time.AfterFunc(r.o.Pause, r.checkAll)
}

// remove removes a run and reports whether it was there: the one that removes it
// ends it.
func (r *Runs) remove(run *Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.all[run]
	delete(r.all, run)
	return ok
}

func (r *Runs) setScope(run *Run, s *scoped.Scope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run.scope = s
}

// repeatReview reviews a run as the last review did, for a registry that
// another one has replaced: what it was about to begin then was not there to
// be reviewed.
func (r *Runs) repeatReview(run *Run) {
	r.mu.Lock()
	judge := r.review
	r.mu.Unlock()
	if judge != nil {
		r.reviewOne(run, judge)
	}
}

// currentGrant returns the grant under which a run goes on, nil while none is
// known, and what narrows it. The caller holds the lock.
func (run *Run) currentGrant() (g *sallyport.Grant, narrow func(sallyport.NetworkGrant) bool) {
	switch {
	case run.scope == nil:
		return nil, nil
	case run.call != nil:
		return run.scope.Grant(), run.scope.Narrow
	default:
		return run.scope.Grant(), run.narrow
	}
}

func (r *Runs) list() []*Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Run, 0, len(r.all))
	for run := range r.all {
		list = append(list, run)
	}
	return list
}

// checkAll ends the runs that may not go on, and schedules the next check
// while something runs.
func (r *Runs) checkAll() {
	r.mu.Lock()
	if r.life.Err() != nil {
		r.mu.Unlock()
		return
	}
	r.checking.Add(1)
	r.mu.Unlock()
	defer r.checking.Done()
	ctx, cancel := context.WithTimeout(r.life, stopWait)
	defer cancel()
	v := runCheck{r: r, stopped: map[stopKey]string{}, gone: map[standKey]string{}}
	for _, run := range r.list() {
		if why := v.endReason(ctx, run); why != "" {
			r.endRun(run, why)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.failed == nil {
		r.known = time.Now()
	}
	r.armed = false
	if len(r.all) > 0 {
		r.scheduleCheck()
	}
}

// Close ends looking, and waits for the records of what was ended. It is for the end of
// all that runs.
func (r *Runs) Close() {
	r.mu.Lock()
	r.close()
	r.mu.Unlock()
	r.checking.Wait()
	r.recording.Wait()
}

func (r *Runs) endRun(run *Run, why string) {
	if !r.remove(run) {
		return
	}
	r.o.Logger.Warn("ended what ran", "what", run.What, "tool", run.Tool, "principal", run.Principal.Name, "call", run.CallID, "why", why)
	if e := (&Ended{why}); run.call != nil {
		run.call.endRun(e)
	} else {
		run.end(e)
	}
	// The outcome of a call is its record.
	if run.What != calling {
		r.recordChange(run, audit.ActionEnd, why)
	}
}

// calling is a [Run.What].
const calling = "call"

// Review asks about everything that runs, when what may run has changed. judge
// returns why a run may not go on, or, when why is empty, what it would be granted
// now; a nil grant leaves it as it is. What has lost more than hosts ends.
func (r *Runs) Review(judge func(run *Run) (now *sallyport.Grant, why string)) {
	r.mu.Lock()
	r.review = judge
	r.mu.Unlock()
	for _, run := range r.list() {
		r.reviewOne(run, judge)
	}
}

func (r *Runs) reviewOne(run *Run, judge func(run *Run) (now *sallyport.Grant, why string)) {
	r.mu.Lock()
	own := *run
	r.mu.Unlock()
	now, why := judge(&own)
	r.mu.Lock()
	was, narrow := run.currentGrant()
	last := run.narrowed
	if now != nil && was != nil && (last != nil || !sameNetwork(&was.Network, &now.Network)) {
		run.narrowed = &now.Network
	}
	r.mu.Unlock()
	if why == "" && now != nil && was != nil {
		why = group.Lost(was, now)
	}
	switch {
	case why != "":
		r.endRun(run, "the configuration changed: "+why)
	case now == nil || was == nil || last == nil && sameNetwork(&was.Network, &now.Network):
	case narrow == nil || !narrow(now.Network):
		if isNarrower(&was.Network, &now.Network) {
			r.endRun(run, "the configuration changed: hosts of it are not granted any more")
		}
	case isNarrower(&was.Network, &now.Network) && (last == nil || !sameNetwork(last, &now.Network)):
		why := "the configuration changed: hosts of it are not granted any more"
		r.o.Logger.Warn("narrowed what runs", "what", run.What, "tool", run.Tool, "principal", run.Principal.Name, "call", run.CallID, "why", why)
		r.recordChange(run, audit.ActionNarrow, why)
	}
}

// stopKey and standKey are what is asked once about several runs.
type stopKey struct{ principal, session, tool string }

type standKey struct {
	principal string
	since     int64
}

// runCheck remembers the answers of one check, so that each question is asked
// once.
type runCheck struct {
	r       *Runs
	stopped map[stopKey]string
	gone    map[standKey]string
	failed  error
}

// endReason says why a run may not go on, empty when it may. What cannot be
// read for long counts as no.
func (v *runCheck) endReason(ctx context.Context, run *Run) string {
	why, err := v.stopReason(ctx, run)
	if why == "" && err == nil {
		why, err = v.standingReason(ctx, run)
	}
	if err == nil {
		return why
	}
	if v.failed == nil && v.r.life.Err() == nil {
		v.r.o.Logger.Error("whether what runs may go on cannot be read", "error", err)
	}
	v.failed = err
	v.r.mu.Lock()
	defer v.r.mu.Unlock()
	if time.Since(v.r.known) < unknownWait || v.r.life.Err() != nil {
		return ""
	}
	return "whether it may go on cannot be read"
}

// stopReason says what an operator has stopped of a run, empty when nothing
// is.
func (v *runCheck) stopReason(ctx context.Context, run *Run) (why string, err error) {
	if v.r.o.Switches == nil {
		return "", nil
	}
	k := stopKey{run.Principal.Name, run.SessionKey, run.Tool}
	why, asked := v.stopped[k]
	if !asked {
		if _, why, err = v.r.o.Switches.Stopped(ctx, k.principal, k.session, k.tool); err == nil {
			v.stopped[k] = why
		}
	}
	return why, err
}

// standingReason says why the principal of a run may not call any more, empty
// when it may.
func (v *runCheck) standingReason(ctx context.Context, run *Run) (why string, err error) {
	name := run.Principal.Name
	if v.r.o.Standing == nil || name == "" {
		return "", nil
	}
	k := standKey{name, run.Since.UnixNano()}
	why, asked := v.gone[k]
	if !asked {
		ok, err := v.r.o.Standing.Stands(ctx, name, run.Since)
		if err != nil {
			return "", err
		}
		if !ok {
			why = "principal " + name + " was revoked, removed, expired or given another token"
		}
		v.gone[k] = why
	}
	return why, nil
}
