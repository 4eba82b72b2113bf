package registry

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// asker stands between a tool's questions and the edge that puts them: it
// cleans them, stops the call's clock while somebody thinks, and gives up when
// the rules of the call are replaced.
type asker struct {
	call  *call
	clock *clock
}

// input is the way to whoever called, nil when there is none.
func (c *call) input(clock *clock) sallyport.Input {
	if clock == nil {
		return nil
	}
	return &asker{c, clock}
}

func (a *asker) Can(kind sallyport.InputKind) bool { return a.call.caller.Input.Can(kind) }

func (a *asker) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	if err := a.clean(questions); err != nil {
		return nil, err
	}
	a.clock.stop()
	defer a.clock.start()
	waiting, stop := a.call.r.workers.until(ctx)
	defer stop()
	answers, err := a.call.caller.Input.Ask(waiting, questions...)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil, &sallyport.Error{
			Code: sallyport.CodeNotAvailable, Detail: "the configuration changed while the call waited for an answer", Err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	return answers, a.still(ctx)
}

// still holds the caller to what was decided before somebody thought: a
// principal that was revoked or stopped meanwhile gets no further.
func (a *asker) still(ctx context.Context) error {
	c, o := a.call, &a.call.r.o
	over := &sallyport.Error{Code: sallyport.CodePermissionDenied, Detail: "Permission denied: the caller may not call any more"}
	if o.Standing != nil {
		if ok, err := o.Standing.Stands(ctx, c.caller.Principal.Name, c.start); err != nil || !ok {
			over.Err = err
			return over
		}
	}
	if o.Switches != nil {
		if kind, _, err := o.Switches.Stopped(ctx, c.caller.Principal.Name, c.sessionKey, c.q.Tool); err != nil || kind != "" {
			over.Err = err
			return over
		}
	}
	return nil
}

// Inquires reports whether a tool declares that it asks whoever called. What a
// role leaves it of that is decided when it asks.
func (r *Registry) Inquires(id string) bool {
	e := r.find(id)
	return e != nil && len(e.tool.Capabilities.Input) > 0
}

// clean takes out of questions what may not leave the gate or would deceive
// who reads them. A form that the cleaning breaks is not put.
func (a *asker) clean(questions []sallyport.Question) error {
	cl := a.call.cleaner()
	for i := range questions {
		q := &questions[i]
		q.Message, q.System = cl.Text(q.Message), cl.Text(q.System)
		if len(q.Schema) == 0 {
			continue
		}
		tree, err := schema.Decode(q.Schema, nil)
		if err == nil {
			q.Schema, err = json.Marshal(cl.Value(tree))
		}
		if err == nil {
			_, err = schema.CompileForm(q.Schema)
		}
		if err != nil {
			return sallyport.InputInvalid("question " + q.Name + ": its form holds what may not leave")
		}
	}
	return nil
}

// errLate ends a call whose time is up.
var errLate = errors.New("the time is up")

// clock ends a context when it has run for a while. It can be stopped, once
// for each question that waits.
type clock struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	since time.Time
	waits int
}

// timed is the context of a run. Where a tool may ask somebody, the waiting
// does not count.
func (c *call) timed(ctx context.Context, limit time.Duration) (context.Context, *clock, context.CancelFunc) {
	if len(c.grant.Input) == 0 || c.caller.Input == nil {
		ctx, cancel := context.WithTimeout(ctx, limit)
		return ctx, nil, cancel
	}
	ctx, cancel := context.WithCancelCause(ctx)
	k := &clock{cancel: cancel, left: limit, waits: 1}
	k.start()
	return ctx, k, func() { k.stop(); cancel(nil) }
}

func (k *clock) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits++; k.waits == 1 {
		k.timer.Stop()
		k.left -= time.Since(k.since)
	}
}

func (k *clock) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits--; k.waits == 0 {
		k.since = time.Now()
		k.timer = time.AfterFunc(max(k.left, 0), func() { k.cancel(errLate) })
	}
}
