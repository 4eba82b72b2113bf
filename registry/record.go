package registry

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/deadline"
	"github.com/sallyport/sallyport/output"
)

// Bounds of one record. A record is evidence, not a copy of the data.
const (
	// recordArgs bounds the recorded arguments, in bytes of JSON.
	recordArgs = 8 << 10
	// recordFull bounds the value kept for the operator when a reducer
	// shortened it, in code points.
	recordFull = 64 << 10
	// recordWait bounds how long the outcome's record may take once the
	// caller's own context no longer counts.
	recordWait = 10 * time.Second
)

// recordIntent records that the tool is about to run. When the record cannot
// be kept, a call that may change something, or reach out, does not run. Nor
// does one whose caller has gone.
//
// What the call brings into its conversation is part of that record, and counts
// everywhere from then on. So are the approvals that it uses: then it waits for the disk
// in any case, and for nothing else.
func (c *call) recordIntent(ctx context.Context) (recorded bool) {
	var err error
	if c.r.o.Recorder != nil && ctx.Err() == nil {
		if err := c.watchBefore(ctx); err != nil {
			return c.refuseUnknownFacts(ctx, err)
		}
		defer func() {
			if !recorded && c.before != nil {
				_, _ = c.before()
			}
		}()
		e := c.newEvent(audit.KindIntent)
		e.Grant, e.Brought, e.Used = c.grant, c.brought(), c.used()
		used := e.Used
		e.Durable = c.mustRecord() || used != nil
		if err = c.r.o.Recorder.Record(ctx, e); err == nil {
			c.noteRecorded(used)
		}
	}
	c.intended = true
	how := endReason(ctx, ctx, 0)
	if e := c.ending.Load(); e != nil {
		how = "was ended: " + e.Error()
	}
	if how != "" {
		return c.refuse(sallyport.Decision{Step: sallyport.StepIntent, Why: how + c.endedSuffix()}, sallyport.CodeExecutionFailed, "The call "+how)
	}
	if err := c.settleUses(); err != nil {
		return c.refuseUnsettled(err)
	}
	if err == nil {
		return c.allowStep(sallyport.StepIntent)
	}
	c.logFault("intent not recorded", err)
	d := sallyport.Decision{Step: sallyport.StepIntent, Why: "the record could not be kept: " + err.Error()}
	if !c.mustRecord() {
		if err := c.keepUnrecorded(); err != nil {
			return c.refuseUnknownFacts(ctx, err)
		}
		d.Allowed = true
		c.addDecision(d)
		return true
	}
	return c.refuse(d, sallyport.CodeNotAvailable,
		"The call was not made: its record cannot be kept (call "+c.id+")")
}

// mustRecord reports whether the call needs its intent on the disk. A request
// that only reads can still carry something out.
func (c *call) mustRecord() bool { return c.entry.tool.Effects() || c.entry.tool.OpenWorld() }

// recordOutcome records the outcome and returns the result. The caller's
// cancellation does not reach it: what happened is recorded even if no client
// listens.
func (c *call) recordOutcome(ctx context.Context) sallyport.Result {
	c.settleCost(ctx)
	if err := c.settleUses(); err != nil { // of a call that did not get to its intent
		c.logFault("approval", err)
	}
	res := c.cleaned.result()
	if c.r.o.Recorder == nil {
		return res
	}
	e := c.newEvent(audit.KindOutcome)
	e.Decisions = c.trail.decisions()
	cl := c.cleaner()
	for i := range e.Decisions {
		// A tool chooses what it asks for, and may ask for a host or path
		// that holds a secret.
		d := &e.Decisions[i]
		for _, text := range [...]*string{&d.Resource, &d.Why, &d.Source, &d.Fix} {
			*text = string(cl.Text(*text))
		}
	}
	e.OK, e.Code, e.Error = res.OK, res.Code, c.cleaned.err
	e.Stage, e.DryRun, e.Cached = c.stage, c.caller.DryRun, c.from != nil
	if e.Cached || c.lateRead {
		e.Brought = c.brought() // there is no intent, or it did not know
	}
	e.Used, e.Carried = c.used(), c.recordedCarried()
	e.ValueChars = utf8.RuneCountInString(res.Value)
	e.Parts, e.PartBytes = partsSize(res.Parts)
	e.CostUSD = res.CostUSD
	e.Duration = time.Since(c.start)
	e.Full, _ = output.Trim(c.cleaned.full, recordFull)

	recording := &c.recorded.recording
	recording.Start(context.WithoutCancel(ctx), time.Now().Add(recordWait))
	defer recording.Cancel()
	if err := c.r.o.Recorder.Record(recording, e); err != nil {
		c.logFault("outcome not recorded", err)
		if e.Cached || c.lateRead {
			if err := c.keepUnrecorded(); err != nil {
				c.logFault("session facts", err)
			}
		}
	}
	return res
}

// newEvent returns an event with what intent and outcome share. That part is cleaned
// once, and again when the call has been given a secret since, which has to be removed
// from it too.
func (c *call) newEvent(kind audit.Kind) *audit.Event {
	if c.recorded == nil {
		c.recorded = new(recordedCall)
	}
	if cl := c.cleaner(); c.recorded.cleaner != cl {
		c.recorded.cleaner, c.recorded.event = cl, c.describeCall(cl)
	}
	e := &c.recorded.outcome
	if kind == audit.KindIntent {
		e = &c.recorded.intent
	}
	*e = c.recorded.event
	e.Kind, e.Time, e.Level = kind, time.Now(), c.recordedLevel()
	return e
}

// recordedCall is what the records of a call say of it, what cleaned it, and the
// records, which recorders may keep.
type recordedCall struct {
	cleaner         *output.Cleaner
	event           audit.Event
	intent, outcome audit.Event
	recording       deadline.Context // of the outcome
}

// describeCall returns what every record of the call says of it.
func (c *call) describeCall(cl *output.Cleaner) audit.Event {
	o := c.caller
	e := audit.Event{
		CallID: c.id, ToolCallID: cleanWord(cl, c.q.ID), Tool: cleanWord(cl, c.q.Tool),
		Principal: o.Principal.Name, Session: cleanWord(cl, c.session), Personality: cleanWord(cl, o.Personality),
		Platform: o.Platform, Agent: cleanWord(cl, o.Agent), Team: cleanWord(cl, o.Team),
	}
	if c.sub != nil {
		e.DelegatedBy = c.sub.Chain()
	}
	if c.entry != nil {
		e.Definition = c.entry.definition
	}
	if c.doc.JSON != nil {
		e.ArgsDigest, e.Args = c.doc.Digest(), c.redactedArgs(cl)
	}
	return e
}
