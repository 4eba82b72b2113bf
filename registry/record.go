package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
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
func (c *call) recordIntent(ctx context.Context) bool {
	var err error
	if c.r.o.Recorder != nil && ctx.Err() == nil {
		e := c.newEvent(audit.KindIntent)
		e.Grant, e.Durable = c.grant, c.mustRecord()
		err = c.r.o.Recorder.Record(ctx, e)
	}
	how := endReason(ctx, ctx, 0)
	if e := c.ending.Load(); e != nil {
		how = "was ended: " + e.Error()
	}
	if how != "" {
		return c.refuse(sallyport.Decision{Step: sallyport.StepIntent, Why: how + c.endedSuffix()}, sallyport.CodeExecutionFailed, "The call "+how)
	}
	if err == nil {
		return c.allowStep(sallyport.StepIntent)
	}
	c.logFault("intent not recorded", err)
	d := sallyport.Decision{Step: sallyport.StepIntent, Why: "the record could not be kept: " + err.Error()}
	if !c.mustRecord() {
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
	e.ValueChars = utf8.RuneCountInString(res.Value)
	e.Parts, e.PartBytes = partsSize(res.Parts)
	e.CostUSD = res.CostUSD
	e.Duration = time.Since(c.start)
	e.Full, _ = output.Trim(c.cleaned.full, recordFull)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	if err := c.r.o.Recorder.Record(ctx, e); err != nil {
		c.logFault("outcome not recorded", err)
	}
	return res
}

// newEvent returns an event with what intent and outcome share. What both clean
// alike is made once; a secret that the call was handed meanwhile has it made
// anew.
func (c *call) newEvent(kind audit.Kind) *audit.Event {
	if cl := c.cleaner(); c.recorded.cleaner != cl {
		c.recorded.cleaner, c.recorded.event = cl, c.describeCall(cl)
	}
	e := c.recorded.event
	e.Kind, e.Time, e.Level = kind, time.Now(), c.recordedLevel()
	return &e
}

// recordedCall is what the records of a call say of it, and what cleaned it.
type recordedCall struct {
	cleaner *output.Cleaner
	event   audit.Event
}

// describeCall returns what every record of the call says of it.
func (c *call) describeCall(cl *output.Cleaner) audit.Event {
	o := c.caller
	e := audit.Event{
		CallID: c.id, ToolCallID: cleanWord(cl, c.q.ID), Tool: cleanWord(cl, c.q.Tool),
		Principal: o.Principal.Name, Session: cleanWord(cl, c.session), Personality: cleanWord(cl, o.Personality),
		Platform: o.Platform, Agent: cleanWord(cl, o.Agent), Team: cleanWord(cl, o.Team),
	}
	if c.entry != nil {
		e.Definition = c.entry.definition
	}
	if c.doc.JSON != nil {
		digest := sha256.Sum256(c.doc.Canonical())
		e.ArgsDigest = hex.EncodeToString(digest[:])
		e.Args = c.redactedArgs(cl)
	}
	return e
}
