package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
)

// changeWait bounds how long the record of a change may take.
const changeWait = 10 * time.Second

// keep records a change that an operator made, or tried to make: who is the
// local user unless the event names another.
func (g *gate) keep(ctx context.Context, e *audit.Event) error {
	if g.log == nil {
		if err := g.openLog(ctx); err != nil {
			return err
		}
	}
	e.Kind, e.Durable = audit.KindChange, true
	if e.Principal == "" {
		e.Principal = sallyport.LocalPrincipal
	}
	if e.CallID == "" {
		e.CallID = "change-" + strings.ToLower(rand.Text())
	}
	e.Change.User = systemUser()
	// What was done is recorded, also when nobody waits any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeWait)
	defer cancel()
	return g.log.Record(ctx, e)
}

// keepDone records a change that was made. It is for changes that take
// something away, which no fault of the record may hold up, and for those that
// give nobody anything before their answer is printed.
func (g *gate) keepDone(ctx context.Context, e *audit.Event, unless string) error {
	if err := g.keep(ctx, e); err != nil {
		return fmt.Errorf("this is done, and there is no record of it%s: %w", unless, err)
	}
	return nil
}

// keepFirst records a change before it is made, and once more when it could
// not be: what lets somebody do more is not done without a record.
func (g *gate) keepFirst(ctx context.Context, e *audit.Event, change func() error) error {
	if err := g.keep(ctx, e); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	err := change()
	if err == nil {
		return nil
	}
	again, what := *e, *e.Change
	again.Time, again.Change, again.Error = time.Time{}, &what, err.Error()
	return errors.Join(err, g.keep(ctx, &again))
}

// changed is the event of a change.
func changed(action audit.Action, target, detail string) *audit.Event {
	return &audit.Event{Change: &audit.Change{Action: action, Target: target, Detail: detail}}
}

// switched is the event of a kill switch.
func switched(action audit.Action, kind auth.SwitchKind, name, reason string) *audit.Event {
	e := changed(action, string(kind)+" "+name, reason)
	if kind == auth.SwitchTool {
		e.Tool = name
	}
	return e
}

// describeRecord says what a principal holds. Nothing of its token is in it.
func describeRecord(r *auth.Record) string {
	return fmt.Sprintf("permissions %q, personalities %q, expires %s", r.Permissions, r.Personalities, ends(r.Expires))
}

// describeChange says in a line what was changed.
func describeChange(e *audit.Event) string {
	c := e.Change
	text := fmt.Sprintf("%s %s by %s", c.Action, c.Target, e.Principal)
	if c.User != "" {
		text += " (user " + c.User + ")"
	}
	if c.Detail != "" {
		text += ": " + c.Detail
	}
	if e.Error != "" {
		text += " -> not done: " + shorten(e.Error, 160)
	}
	// A reason, or the name of a session, is somebody else's text.
	return legible(text)
}

// systemUser is who runs this program, for the record. The number comes first:
// without an entry for it, the name is what the environment says.
func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(u.Uid + " " + u.Username)
}
