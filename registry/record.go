package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/text"
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
	e.Duration = c.elapsedTime()
	e.Full, _ = output.Trim(c.cleaned.full, recordFull)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	if err := c.r.o.Recorder.Record(ctx, e); err != nil {
		c.logFault("outcome not recorded", err)
	}
	return res
}

// newEvent returns an event with what intent and outcome share.
func (c *call) newEvent(kind audit.Kind) *audit.Event {
	o, cl := c.caller, c.cleaner()
	e := &audit.Event{
		Kind: kind, Time: time.Now(), CallID: c.id, ToolCallID: cleanWord(cl, c.q.ID), Tool: cleanWord(cl, c.q.Tool),
		Principal: o.Principal.Name, Session: cleanWord(cl, c.session), Personality: cleanWord(cl, o.Personality),
		Platform: o.Platform, Agent: cleanWord(cl, o.Agent), Team: cleanWord(cl, o.Team), Level: c.recordedLevel(),
	}
	if c.entry != nil {
		e.Definition = c.entry.definition
	}
	if c.doc.JSON != nil {
		digest := sha256.Sum256(c.doc.Canonical())
		e.ArgsDigest = hex.EncodeToString(digest[:])
		e.Args = c.redactedArgs()
	}
	return e
}

// cleanWord cleans and bounds a word that a caller chose: cleaning comes
// first, so that no cut leaves half of a secret.
func cleanWord(cl *output.Cleaner, s string) output.Clean {
	const most = 256
	word := cl.Text(s)
	return word[:len(text.FirstBytes(string(word), most))]
}

// cleanWords is cleanWord for a list; nil for an empty one.
func cleanWords(cl *output.Cleaner, list []string) []string {
	var clean []string
	for _, s := range list {
		clean = append(clean, string(cleanWord(cl, s)))
	}
	return clean
}

// logFault tells the operator's log what went wrong. Words of tools and
// backends may hold a secret there too.
func (c *call) logFault(what string, why any, more ...any) {
	cl := c.cleaner()
	c.r.o.Logger.With("call", c.id, "tool", string(cleanWord(cl, c.q.Tool))).
		Error(what, append([]any{"error", string(cl.Text(fmt.Sprint(why)))}, more...)...)
}

// redactedArgs is the arguments as JSON without secrets, bounded; longer ones
// are recorded by their digest alone.
func (c *call) redactedArgs() output.Clean {
	text, err := c.cleaner().JSON(c.doc.Value)
	if err != nil || len(text) > recordArgs {
		return ""
	}
	return text
}

// knownSecrets is the cleaner over every value that the secrets backend could
// hand out, and when it was asked.
type knownSecrets struct {
	values  []sallyport.Secret
	cleaner *output.Cleaner
	asked   time.Time
}

// secretsAge is how long the list of known values may be used: backends that
// read files do not look more often either. A value that an accessor hands
// out is known at once.
const secretsAge = time.Second

// knownCleaner returns the cleaner, asking the backend again when its answer
// is old. When it cannot answer, the old list stays in force.
func (r *Registry) knownCleaner(ctx context.Context) (*output.Cleaner, error) {
	now := time.Now()
	known := r.cleaner.Load()
	if known != nil && now.Sub(known.asked) < secretsAge {
		return known.cleaner, nil
	}
	var values []sallyport.Secret
	var err error
	if r.backends.Secrets != nil {
		if values, err = r.backends.Secrets.Known(ctx); err != nil {
			if known == nil {
				return nil, err
			}
			r.o.Logger.Error("known secrets", "error", err)
			values = known.values
		}
	}
	if known != nil && slices.Equal(values, known.values) {
		r.cleaner.Store(&knownSecrets{values, known.cleaner, now})
		return known.cleaner, nil
	}
	fresh, err := output.New(&output.Options{Secrets: r.searchableSecrets(values)})
	if err != nil {
		return nil, err
	}
	r.cleaner.Store(&knownSecrets{values, fresh, now})
	return fresh, nil
}

// searchableSecrets returns the secrets that can be told from ordinary text,
// unlike a value of eight blanks, which no accessor hands out. No accessor
// hands one out.
func (r *Registry) searchableSecrets(values []sallyport.Secret) []sallyport.Secret {
	out := make([]sallyport.Secret, 0, len(values))
	for _, v := range values {
		if err := output.CheckSecret(v); err != nil {
			r.o.Logger.Warn("a secret is not handed out", "reason", err)
			continue
		}
		out = append(out, v)
	}
	return out
}

// cleaner returns what cleans this call: every known value and those that
// its accessors handed out.
func (c *call) cleaner() *output.Cleaner {
	base, err := c.r.knownCleaner(context.Background())
	if err != nil {
		// The list was read at construction, so an old one is in force; a
		// failure here means that a fresh one could not be compiled.
		c.r.o.Logger.Error("known secrets", "error", err)
		base = c.r.cleaner.Load().cleaner
	}
	return base.With(c.binder.Revealed()...)
}
