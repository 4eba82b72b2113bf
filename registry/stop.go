package registry

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// The kinds of what is stopped.
const (
	stoppedEverything = "everything"
	stoppedPrincipal  = "principal"
	stoppedServer     = "server"
	stoppedTool       = "tool"
)

// stopWait bounds how long a listing waits for the switches; a call has its
// caller's context.
const stopWait = 5 * time.Second

// checkStopped refuses a call whose caller, server or tool an operator has
// stopped.
func (c *call) checkStopped(ctx context.Context) bool {
	if c.r.o.Switches == nil {
		return true
	}
	d := sallyport.Decision{Step: sallyport.StepVisible}
	kind, why, err := c.r.o.Switches.Stopped(ctx, c.caller.Principal.Name, c.sessionKey, c.q.Tool)
	if err != nil {
		c.logFault("kill switches", err)
		d.Why = "what is stopped cannot be read"
		return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
	}
	d.Why = why
	switch kind {
	case "":
		return true
	case stoppedTool:
		d.Fix = c.r.o.CommandLine("principals start --tool " + c.q.Tool)
		return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
	case stoppedServer:
		d.Fix = c.r.o.CommandLine("principals start --server " + text.ShellWord(c.entry.tool.Server()))
		return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
	case stoppedEverything:
		d.Fix = c.r.o.CommandLine("principals start --everything")
		return c.refuse(d, sallyport.CodePermissionDenied, "Permission denied: every call is stopped")
	case stoppedPrincipal:
		d.Fix = c.r.o.CommandLine("principals start " + text.ShellWord(c.caller.Principal.Name))
		return c.refuse(d, sallyport.CodePermissionDenied,
			"Permission denied: principal "+c.caller.Principal.Name+" is stopped")
	default:
		d.Fix = c.r.o.CommandLine("principals start " + text.ShellWord(c.caller.Principal.Name) + " --session " + text.ShellWord(c.session))
		return c.refuse(d, sallyport.CodePermissionDenied, "Permission denied: the session is stopped")
	}
}

// stillAuthorized refuses a held call whose caller may not call any more: an
// approval may come long after the edge let the caller in.
func (c *call) stillAuthorized(ctx context.Context) bool {
	if c.r.o.Standing == nil {
		return true
	}
	name := c.caller.Principal.Name
	ok, err := c.r.o.Standing.Stands(ctx, name, c.start)
	d := sallyport.Decision{Step: sallyport.StepVisible}
	switch {
	case err != nil:
		c.logFault("standing of the caller", err)
		d.Why = "whether the principal may still call cannot be read"
		return c.refuse(d, sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
	case !ok:
		d.Why = "principal " + name + " was revoked, removed, expired or given another token while the call was held"
		return c.refuse(d, sallyport.CodePermissionDenied, "Permission denied: principal "+name+" may not call any more")
	}
	return true
}

// stopFilter returns a function that reports whether a listing leaves a tool
// out because it is stopped. What cannot be read is stopped.
func (r *Registry) stopFilter(caller *sallyport.Caller) func(tool string) bool {
	if r.o.Switches == nil {
		return func(string) bool { return false }
	}
	session := sallyport.SessionKey(caller.Principal.Name, caller.Session)
	return func(tool string) bool {
		ctx, cancel := context.WithTimeout(context.Background(), stopWait)
		defer cancel()
		kind, _, err := r.o.Switches.Stopped(ctx, caller.Principal.Name, session, tool)
		if err != nil {
			r.o.Logger.Error("kill switches", "error", err)
		}
		return err != nil || kind != ""
	}
}
