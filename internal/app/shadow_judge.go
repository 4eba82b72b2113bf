package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/internal/text"
)

// actionFlip: a shadow decided otherwise about a call. The target is the fingerprint of
// the shadow.
const actionFlip audit.Action = "shadow.flip"

// shadowJudge is one text of a second configuration, and how far it has read the record.
type shadowJudge struct {
	*Runtime
	replayer *replayer
	files    configFollower // sees when they change; it exchanges nothing
	sums     bool           // a role bounds sums, which earlier calls add to
	cursor   int64          // the number of the last record that was read
}

// openJudge opens the second configuration as for a replay, over the state of the
// server.
func (s *serverShadow) openJudge(ctx context.Context) (*shadowJudge, error) {
	rt, err := openWith(ctx, s.rt.Env, []string{s.name}, func(rt *Runtime, ctx context.Context) error {
		rt.views, rt.beside = true, s.rt
		return rt.usePast(ctx, s.rt.State)
	})
	if err != nil {
		return nil, err
	}
	j := &shadowJudge{Runtime: rt, files: configFollower{g: rt, seen: rt.InForce().Config.Digest + rt.InForce().Servers.Pins.digest}}
	for _, p := range rt.InForce().Config.Personalities {
		for _, says := range p.Arguments {
			j.sums = j.sums || strings.Contains(string(says), `"`+strings.TrimPrefix(ceiling.WordSum, ".")+`"`)
		}
	}
	return j, nil
}

// judgeCalls reads the record up to its end, and judges those of its calls that wait.
// What the record does not have is not judged.
func (s *serverShadow) judgeCalls(ctx context.Context) {
	waiting := s.queue.Recorded()
	j := s.judge
	if j.replayer == nil {
		j.replayer = newReplayer(j.Runtime, nil)
	}
	j.replayer.pass = func(c *judgedCall) error { s.noteCall(ctx, c); return nil }
	clear(j.replayer.callers) // one may have been revoked since
	for {
		batch, err := j.readBatch(ctx, s.rt.State)
		j.past.lookAgain() // after it: what a call narrowed is kept before its record
		for i := range batch {
			r := &batch[i]
			err := j.takeRecord(ctx, r, s.queue.Has(r.Call))
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				s.rt.Logger.Warn("the shadow does not judge a record", "record", r.Seq, "error", err)
			}
			j.cursor = r.Seq
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.rt.Logger.Warn("the shadow cannot read the record", "error", err)
			return
		case len(batch) < readBatch:
			s.queue.Drop(waiting)
			return
		}
	}
}

// readBatch reads the next records.
func (j *shadowJudge) readBatch(ctx context.Context, r audit.Reader) (batch []pastRecord, err error) {
	for rec, err := range r.Read(ctx, audit.Query{After: j.cursor}) {
		if err != nil {
			return batch, err
		}
		if rec.Kind == "" {
			continue // it stands for one that is lost
		}
		if batch = append(batch, pastRecord{Record: rec}); len(batch) == readBatch {
			break
		}
	}
	return batch, nil
}

// takeRecord judges a call that waits. Of any other it takes what later calls depend on.
func (j *shadowJudge) takeRecord(ctx context.Context, r *pastRecord, waits bool) error {
	if r.Kind == audit.KindOutcome && !waits && !j.sums {
		r.fillEvent()
		r.event.Brought = r.FindBrought()
		return j.replayer.endCall(ctx, &r.event)
	}
	if r.decode(false); r.err != nil {
		return r.err
	}
	return j.replayer.takeRecord(ctx, r)
}

// noteCall counts a call that waits, and records a flip.
func (s *serverShadow) noteCall(ctx context.Context, c *judgedCall) {
	e := c.event
	inForce, ok := s.queue.Take(e.CallID)
	if !ok {
		return
	}
	r := s.reportFor(inForce)
	switch {
	case c.unknown != "":
		r.NotReplayable++
	case c.is.Outcome == "" || !c.was.Differs(&c.is):
		r.NoteSame(e.Time)
	default:
		if err := s.recordFlip(ctx, c, inForce); err != nil {
			s.rt.Logger.Warn("a flip is not recorded, and does not count as judged", "call", e.CallID, "error", err)
			r.NotJudged++
			return
		}
		r.NoteFlip(string(e.Tool), e.CallID, e.Time, &c.was, &c.is)
	}
}

// recordFlip records that the shadow decides otherwise about a call. The record of the
// call has the arguments.
func (s *serverShadow) recordFlip(ctx context.Context, c *judgedCall, inForce string) error {
	past := c.event
	e := ChangeEvent(actionFlip, s.judge.InForce().Config.Digest, fmt.Sprintf("was %s; would be %s; decided under %s", describeVerdict(&c.was), describeVerdict(&c.is), inForce))
	e.Kind, e.CallID, e.Tool, e.Principal, e.Personality = audit.KindChange, past.CallID, past.Tool, past.Principal, past.Personality
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeWait)
	defer cancel()
	return s.rt.log.Record(ctx, e)
}

// maxVerdict bounds a reason within the record of a flip, in characters.
const maxVerdict = 300

func describeVerdict(v *replay.Verdict) string {
	line := string(v.Outcome)
	if v.Code != "" {
		line += " (" + string(v.Code) + ")"
	}
	if v.Why != "" {
		line += ": " + text.Clip(v.Why, maxVerdict)
	}
	if v.Source != "" {
		line += " (" + text.ClipMiddle(v.Source, 60) + ")"
	}
	return line
}
