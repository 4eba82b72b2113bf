package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// asker stands between a tool's questions and the edge that puts them: it
// cleans them, stops the call's clock while a person thinks, and gives up when
// the rules of the call are replaced.
type asker struct {
	call  *call
	clock *runClock
}

// input asks the caller; nil when it cannot be asked.
func (c *call) input(clock *runClock) sallyport.Input {
	if clock == nil {
		return nil
	}
	return &asker{c, clock}
}

func (a *asker) Can(kind sallyport.InputKind) bool { return a.call.caller.Input.Can(kind) }

func (a *asker) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	if err := a.cleanQuestions(questions); err != nil {
		return nil, err
	}
	waiting, stop := a.call.r.workers.withClosing(ctx)
	defer stop()
	a.clock.stop()
	answers, err := a.call.caller.Input.Ask(waiting, questions...)
	a.clock.start()
	if why := a.goneReason(ctx, err); why != "" {
		// A tool may go on without an answer; this call may not go on at all.
		a.call.addDecision(sallyport.Decision{Step: sallyport.StepVisible, Why: why})
		a.clock.cancel(errGone)
		return nil, errGone
	}
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil, &sallyport.Error{
			Code: sallyport.CodeNotAvailable, Detail: "the configuration changed while the call waited for an answer", Err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// goneReason says why the call may not go on after a question, whether it was
// answered or not: its principal was revoked or stopped in between, or the
// edge says that it may do something else by now.
func (a *asker) goneReason(ctx context.Context, err error) (why string) {
	c, o := a.call, &a.call.r.o
	if ctx.Err() != nil {
		return "" // it is over anyway
	}
	if e, ok := errors.AsType[*sallyport.Error](err); ok && e.Code == sallyport.CodePermissionDenied {
		return e.Detail
	}
	if o.Standing != nil {
		ok, err := o.Standing.Stands(ctx, c.caller.Principal.Name, c.start)
		switch {
		case err != nil:
			c.logFault("standing of the caller", err)
			return "whether the principal may still call cannot be read"
		case !ok:
			return "principal " + c.caller.Principal.Name + " was revoked, removed, expired or given another token while the call waited for an answer"
		}
	}
	if o.Switches != nil {
		kind, why, err := o.Switches.Stopped(ctx, c.caller.Principal.Name, c.sessionKey, c.q.Tool)
		switch {
		case err != nil:
			c.logFault("kill switches", err)
			return "what is stopped cannot be read"
		case kind != "":
			return why
		}
	}
	return ""
}

// cleanQuestions removes from questions what may not leave the gate or would
// deceive their reader. A form that the cleaning breaks is not put.
func (a *asker) cleanQuestions(questions []sallyport.Question) error {
	cl := a.call.cleaner()
	for i := range questions {
		q := &questions[i]
		if !cl.Accepts(q.Name) {
			return sallyport.InputInvalid("the name of a question holds what may not leave")
		}
		q.Message, q.System = string(cl.Text(q.Message)), string(cl.Text(q.System))
		if q.Message == "" && q.Kind != sallyport.InputFolders {
			return sallyport.InputInvalid("question " + q.Name + ": its message has nothing to read")
		}
		a.call.rememberSaid(q.Name, q.Message, q.System, string(q.Schema))
		if len(q.Schema) == 0 {
			continue
		}
		q.Schema = bytes.Clone(q.Schema) // from here on it is what is checked
		tree, err := schema.Decode(q.Schema, nil)
		if err != nil {
			return sallyport.InputInvalid("question " + q.Name + ": " + err.Error())
		}
		// A form keeps the order of its fields unless something has to go.
		if clean := cl.Value(tree); !reflect.DeepEqual(clean, tree) {
			q.Schema, err = json.Marshal(clean)
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

// errLate ends a call whose time is up, errGone one whose caller may not call any
// more.
var (
	errLate = fmt.Errorf("the time is up: %w", context.DeadlineExceeded)
	errGone = &sallyport.Error{
		Code: sallyport.CodePermissionDenied, Operation: "ask", Detail: "Permission denied: the caller may not call any more",
	}
)

// runClock ends a context when it has run for a while. It can be stopped, once
// for each question that waits.
type runClock struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	since time.Time
	waits int
}

// startRunning starts the context of the run. Where a tool may ask a person, the
// waiting does not count: a clock that can be stopped ends the context then. It is
// nil where the deadline is certain.
func (c *call) startRunning(ctx context.Context, limit time.Duration) *runClock {
	if len(c.grant.Input) == 0 || c.caller.Input == nil {
		c.running.Start(ctx, time.Now().Add(limit))
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.running.Start(ctx, time.Time{})
	k := &runClock{cancel: cancel, left: limit, waits: 1}
	k.start()
	return k
}

// stopRunning ends the context of the run.
func (c *call) stopRunning(clock *runClock) {
	c.running.Cancel()
	if clock != nil {
		clock.stop()
		clock.cancel(nil)
	}
}

func (k *runClock) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits++; k.waits == 1 {
		k.timer.Stop()
		k.left -= time.Since(k.since)
	}
}

func (k *runClock) start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits--; k.waits == 0 {
		k.since = time.Now()
		k.timer = time.AfterFunc(max(k.left, 0), func() { k.cancel(errLate) })
	}
}
