package app

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
	"github.com/sallyport/sallyport/output"
)

// changeWait bounds how long the record of a change may take.
const changeWait = 10 * time.Second

// recordChange records a change that an operator made or tried to make. The principal
// of the record is the local user unless the event names another one.
func (rt *Runtime) recordChange(ctx context.Context, e *audit.Event) error {
	if err := rt.openRecord(ctx); err != nil {
		return err
	}
	e.Kind, e.Durable = audit.KindChange, true
	if e.Principal == "" {
		e.Principal = sallyport.LocalPrincipal
	}
	if e.CallID == "" {
		e.CallID = "change-" + strings.ToLower(rand.Text())
	}
	e.Change.User = systemUser()
	// Record the change even when the caller has stopped waiting.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeWait)
	defer cancel()
	return rt.log.Record(ctx, e)
}

// openRecord opens the state and its record, for commands that opened neither yet.
func (rt *Runtime) openRecord(ctx context.Context) error {
	if rt.State == nil {
		if err := rt.openStore(ctx); err != nil {
			return err
		}
	}
	if rt.log == nil {
		return rt.openLog(ctx)
	}
	return nil
}

// RecordDone records a change after it was made. Two kinds of changes use it:
// those that take rights away, which a fault of the record must not hold up,
// and those that give no rights before their answer is printed.
func (rt *Runtime) RecordDone(ctx context.Context, e *audit.Event, unless string) error {
	if err := rt.recordChange(ctx, e); err != nil {
		return fmt.Errorf("the change is made, but it is not recorded%s: %w", unless, err)
	}
	return nil
}

// RecordFirst records a change before it is made, and records it once more when
// it fails. A change that gives rights is never made without a record.
func (rt *Runtime) RecordFirst(ctx context.Context, e *audit.Event, change func() error) error {
	if err := rt.recordChange(ctx, e); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	err := change()
	if err == nil {
		return nil
	}
	again, what := *e, *e.Change
	again.Time, again.Change, again.Error = time.Time{}, &what, output.Plain().Text(err.Error())
	return errors.Join(err, rt.recordChange(ctx, &again))
}

// ChangeEvent returns the event for a change.
func ChangeEvent(action audit.Action, target, detail string) *audit.Event {
	clean := output.Plain()
	return &audit.Event{Change: &audit.Change{Action: action, Target: clean.Text(target), Detail: clean.Text(detail)}}
}

// SwitchEvent returns the event for a kill switch.
func SwitchEvent(action audit.Action, kind auth.SwitchKind, name, reason string) *audit.Event {
	e := ChangeEvent(action, string(kind)+" "+name, reason)
	if kind == auth.SwitchTool {
		e.Tool = output.Plain().Text(name)
	}
	return e
}

// systemUser returns the user of this process, for the record. The numeric id
// comes first: without an account entry, the name comes from the environment.
func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(u.Uid + " " + u.Username)
}
