package app

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/replay"
)

// ReplayedCall is a call whose verdict changed, or that cannot be decided again.
type ReplayedCall struct {
	// CallID is the gate's id of the call.
	CallID string `json:"call_id"`
	// Time is when it ended.
	Time time.Time `json:"time"`
	// Tool, Principal and Personality are those of the call.
	Tool string `json:"tool"`
	// Principal is who called.
	Principal string `json:"principal"`
	// Personality is the role; it may be empty.
	Personality string `json:"personality,omitempty"`
	// Args is the recorded arguments.
	Args string `json:"args,omitempty"`
	// Was is what the record says, nil when it says nothing that can be compared.
	Was *replay.Verdict `json:"was,omitempty"`
	// Is is what the configuration says; nil when it says nothing.
	Is *replay.Verdict `json:"is,omitempty"`
	// Unknown says why the call cannot be decided again; empty for a flip.
	Unknown string `json:"not_replayable,omitempty"`
}

// ReplaySummary counts what a replay found.
type ReplaySummary struct {
	// Calls is the number of calls in the record.
	Calls int `json:"calls"`
	// Same is the number of those with the same verdict.
	Same int `json:"same"`
	// Flips is the number of those with another one.
	Flips int `json:"flips"`
	// Unknown is the number of those that cannot be decided again.
	Unknown int `json:"not_replayable"`
}

// Replay decides the calls of the record again that ended at a time or later, and passes
// on each that flips or cannot be decided again, in the order of the record.
func (rt *Runtime) Replay(ctx context.Context, since time.Time, show func(*ReplayedCall) error) (ReplaySummary, error) {
	sum := ReplaySummary{}
	err := rt.judgePast(ctx, since, false, func(j *judgedCall) error { return sum.countCall(j, show) })
	return sum, err
}

// countCall counts a call, and shows it unless its verdict is the same.
func (s *ReplaySummary) countCall(j *judgedCall, show func(*ReplayedCall) error) error {
	s.Calls++
	call := newReplayedCall(j.event)
	switch call.Unknown = j.unknown; {
	case j.unknown != "":
		s.Unknown++
	case j.is.Outcome != "" && j.is.Outcome != j.was.Outcome:
		s.Flips++
		call.Is = &j.is
	default:
		s.Same++
		return nil
	}
	if j.was.Outcome != "" {
		call.Was = &j.was
	}
	return show(&call)
}

// judgedCall is a call of the record that was decided again.
type judgedCall struct {
	event *audit.Event // what a replay reads of its outcome, or of its intent
	was   replay.Verdict
	is    replay.Verdict // without an outcome where there is no such tool, then and now
	ran   bool
	read  []sallyport.FactMark // before it
	// unknown says why the verdicts cannot be compared; empty when they can.
	unknown string
}

// judgePast decides the calls of the record again that ended at a time or later, and
// passes each on, in the order of the record.
func (rt *Runtime) judgePast(ctx context.Context, since time.Time, trails bool, pass func(*judgedCall) error) error {
	p := newReplayer(rt, pass)
	p.since = since
	for r, err := range readPast(ctx, rt.past, trails) {
		if err == nil {
			err = p.takeRecord(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return p.passUnfinished()
}

// replayer goes through a record once.
type replayer struct {
	rt    *Runtime
	since time.Time
	pass  func(*judgedCall) error

	tools   map[string]bool // by their ids
	read    *facts.Memory   // what conversations had read up to the event at hand
	open    map[string]*pastIntent
	callers map[string]*pastPrincipal
}

// pastIntent is a call that has begun, and what its conversation had read by then.
type pastIntent struct {
	record audit.Record
	read   []sallyport.FactMark
}

// pastPrincipal is what the configuration says of a principal now.
type pastPrincipal struct {
	sallyport.Principal
	unknown string
}

// newReplayer returns one that passes on each call that is decided again.
func newReplayer(rt *Runtime, pass func(*judgedCall) error) *replayer {
	p := &replayer{rt: rt, pass: pass, read: facts.NewMemory(), open: map[string]*pastIntent{}, callers: map[string]*pastPrincipal{}, tools: map[string]bool{}}
	for _, tool := range rt.InForce().Registry.Tools() {
		p.tools[tool.ID()] = true
	}
	return p
}

func (p *replayer) takeRecord(ctx context.Context, r *pastRecord) error {
	if p.isOwnQuestion(r.Tool) {
		return nil
	}
	e := &r.event
	p.rt.past.now = e.Time
	switch e.Kind {
	case audit.KindIntent:
		read, err := p.readBefore(ctx, e)
		if err != nil {
			return err
		}
		p.open[e.CallID] = &pastIntent{r.Record, read}
		return p.noteBrought(ctx, e)
	case audit.KindOutcome:
		if err := p.decideOutcome(ctx, e); err != nil {
			return err
		}
		return p.endCall(ctx, e)
	case audit.KindChange:
		if name, ok := strings.CutPrefix(string(e.Change.Target), "principal "); ok && e.Change.Action == audit.ActionForget {
			_, err := p.read.Forget(ctx, name)
			return err
		}
	}
	return nil
}

// endCall notes what a call brought that has ended.
func (p *replayer) endCall(ctx context.Context, e *audit.Event) error {
	delete(p.open, e.CallID)
	return p.noteBrought(ctx, e)
}

// sessionOf returns the caller's session of a recorded call; empty when it had none.
func sessionOf(e *audit.Event) string {
	if string(e.Session) == e.CallID {
		return ""
	}
	return string(e.Session)
}

// readBefore returns the marks of what the conversation of a call had read before it.
func (p *replayer) readBefore(ctx context.Context, e *audit.Event) ([]sallyport.FactMark, error) {
	session := ""
	if e.Brought != nil {
		session = e.Brought.Session
	} else {
		session = facts.Digest(sessionOf(e))
	}
	marks, err := p.read.Facts(ctx, e.Principal, session)
	return slices.DeleteFunc(marks, func(m sallyport.FactMark) bool { return !m.Counts(e.Time) }), err
}

func (p *replayer) noteBrought(ctx context.Context, e *audit.Event) error {
	if e.Brought == nil {
		return nil
	}
	_, err := p.read.Note(ctx, e.Principal, e.Brought.Session, e.Brought.Marks(string(e.Tool), e.CallID, e.Time))
	return err
}

// decideOutcome decides a call again, by the record of its outcome.
func (p *replayer) decideOutcome(ctx context.Context, e *audit.Event) (err error) {
	j := judgedCall{event: e}
	if j.read, err = p.readUntil(ctx, e); err != nil {
		return err
	}
	if j.was, j.ran = replay.ReadOutcome(e); j.was.Unknown != "" {
		return p.passUnknown(&j, j.was.Unknown)
	}
	caller, unknown, err := p.callerOf(ctx, e)
	switch {
	case err != nil:
		return err
	case unknown != "":
		return p.passUnknown(&j, unknown)
	case j.was.Step == sallyport.StepFind && !p.tools[string(e.Tool)]:
		return p.passCall(&j)
	}
	task, unknown, err := p.taskOf(ctx, e, caller)
	switch {
	case err != nil:
		return err
	case unknown != "":
		return p.passUnknown(&j, unknown)
	}
	j.is = p.rt.InForce().Registry.DecideAgain(ctx, caller, &replay.Call{
		Tool: string(e.Tool), Args: json.RawMessage(e.Args), Digest: e.ArgsDigest, Read: j.read, Carried: e.Carried, Task: task, Ran: j.ran,
	})
	switch {
	case j.is.Unknown != "":
		return p.passUnknown(&j, j.is.Unknown)
	case j.was.Step == sallyport.StepFind:
		return p.passUnknown(&j, "there was no such tool then")
	}
	return p.passCall(&j)
}

// readUntil returns the marks of what the conversation of a call had read by the time at
// which it was decided, as far as the record tells.
func (p *replayer) readUntil(ctx context.Context, e *audit.Event) (read []sallyport.FactMark, err error) {
	if in := p.open[e.CallID]; in != nil {
		read = in.read
	} else if read, err = p.readBefore(ctx, e); err != nil {
		return read, err
	}
	return replay.AddRead(read, e), nil
}

// passUnfinished passes on the calls that have no outcome.
func (p *replayer) passUnfinished() error {
	for _, id := range slices.Sorted(maps.Keys(p.open)) { // ids sort by time
		r := pastRecord{Record: p.open[id].record}
		if err := r.decodeCall(false); err != nil {
			return err
		}
		if err := p.passUnknown(&judgedCall{event: &r.event, read: p.open[id].read}, "its outcome is not recorded"); err != nil {
			return err
		}
	}
	return nil
}

// passUnknown passes on a call that cannot be decided again.
func (p *replayer) passUnknown(j *judgedCall, why string) error {
	j.unknown = why
	return p.passCall(j)
}

// passCall passes on a call that ended in time.
func (p *replayer) passCall(j *judgedCall) error {
	if j.event.Time.Before(p.since) {
		return nil
	}
	return p.pass(j)
}

// callerOf returns who made a recorded call, with the rights of now.
func (p *replayer) callerOf(ctx context.Context, e *audit.Event) (c *sallyport.Caller, unknown string, err error) {
	who := p.callers[e.Principal]
	if who == nil {
		who = &pastPrincipal{}
		var ok bool
		switch who.Principal, ok, err = p.rt.Callers.Named(ctx, e.Principal); {
		case err != nil:
			return nil, "", err
		case strings.HasPrefix(e.Principal, auth.OIDCPrefix):
			who.unknown = "the rights of its principal came with a token"
		case !ok:
			who.unknown = "its principal may not call any more"
		}
		p.callers[e.Principal] = who
	}
	return &sallyport.Caller{
		Principal: who.Principal, Session: sessionOf(e), Personality: string(e.Personality), Platform: e.Platform,
		Agent: string(e.Agent), Team: string(e.Team),
	}, who.unknown, nil
}

// taskOf returns what the session of a recorded call was narrowed to by then.
func (p *replayer) taskOf(ctx context.Context, e *audit.Event, caller *sallyport.Caller) (t *conversation.Task, unknown string, err error) {
	if caller.Session != "" {
		now, err := p.rt.past.tasks.Task(ctx, sallyport.SessionKey(e.Principal, caller.Session))
		if err != nil {
			return nil, "", err
		}
		then, sure := now.AsOf(e.CallID, e.Time.Add(-e.Duration), e.Time)
		if !sure {
			return nil, replay.UnknownTask, nil
		}
		t = then
	}
	if t == nil && caller.Principal.Task == nil && replay.WasNarrowed(e) {
		return nil, replay.UnknownTask, nil
	}
	return t, "", nil
}

func newReplayedCall(e *audit.Event) ReplayedCall {
	return ReplayedCall{
		CallID: e.CallID, Time: e.Time, Tool: string(e.Tool), Principal: e.Principal, Personality: string(e.Personality), Args: string(e.Args),
	}
}

// isOwnQuestion reports whether a record is of a question that the gate asked a server by
// itself. An action may have the name of one.
func (p *replayer) isOwnQuestion(tool string) bool {
	own := strings.HasPrefix(tool, upstream.DiscoveryName("")) || strings.HasPrefix(tool, upstream.CloseSessionName(""))
	return own && !p.tools[tool]
}
