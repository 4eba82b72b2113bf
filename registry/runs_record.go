package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
)

// recordChange records that a run was ended or narrowed, on a goroutine of its own: while
// no record can be kept, the other runs end all the same.
func (r *Runs) recordChange(run *Run, action audit.Action, why string) {
	if r.o.Recorder == nil {
		return
	}
	id := run.CallID
	if id == "" {
		id = "change-" + strings.ToLower(rand.Text())
	}
	cl := cmp.Or(run.cleaner, output.Plain())
	e := &audit.Event{
		Kind: audit.KindChange, Time: time.Now(), CallID: id, Tool: cl.Text(run.Tool), Principal: run.Principal.Name, Session: cl.Text(run.Session),
		Personality: cl.Text(run.Personality), Platform: run.Platform, Durable: true,
		Change: &audit.Change{Action: action, Target: cl.Text(run.What + " of call " + run.CallID), Detail: cl.Text(why)},
	}
	r.recording.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), recordWait)
		defer cancel()
		if err := r.o.Recorder.Record(ctx, e); err != nil {
			r.o.Logger.Error("there is no record of what was ended", "call", run.CallID, "error", err)
		}
	})
}
