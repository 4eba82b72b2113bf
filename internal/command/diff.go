package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

func diffCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "diff [SERVER]",
		Short: "Show what changed of MCP servers since they were pinned",
		Long: `Ask each pinned MCP server what it offers now, or one of them, and show what is
not as ` + app.LockName + ` has it: how severe a change is, what was, what is, and the
command that approves it. A server that would be started in another way is not
started: its launch is approved first, what it then offers after that.

The exit code is 1 when something differs or a server does not answer.`,
		Example: `  sallyport diff
  sallyport diff notes
  sallyport diff --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLook(cmd.Context(), env, f, app.AskChanged, func(rt *app.Runtime) error {
				scope := lock.Scope{}
				if len(args) > 0 {
					scope.Server = args[0]
				}
				r, err := compareLock(cmd.Context(), rt, f, scope)
				if err != nil {
					return err
				}
				return r.printDiff(env.newPrinter(f))
			})
		},
	}
}

// lockDiff compares the pinned definitions with the present ones.
type lockDiff struct {
	File    string        `json:"file"`
	Same    bool          `json:"same"`
	Servers []serverState `json:"servers"`
	Changes []lock.Change `json:"changes"`
	// Tools maps each changed tool, as SERVER/TOOL, to the command that
	// approves that tool alone.
	Tools map[string]string `json:"tools,omitempty"`
	// SHA256 is the digest to expect when everything is approved.
	SHA256  string `json:"sha256,omitempty"`
	Approve string `json:"approve,omitempty"`

	now *observedLock
}

// compareLock compares a part of the lock file with what the servers offer now.
func compareLock(ctx context.Context, rt *app.Runtime, f *flags, s lock.Scope) (*lockDiff, error) {
	p := rt.Servers.Pins
	if p.File == nil {
		return nil, usageError(fmt.Errorf("nothing is pinned: there is no %s; sallyport lock writes it", p.Path))
	}
	_, pinned := p.PinnedServer(s.Server)
	if s.Server != "" && !pinned && p.Servers[s.Server] == nil {
		return nil, usageError(fmt.Errorf("%s is neither declared nor pinned", text.PrintableLine(s.Server)))
	}
	now := lookAt(ctx, rt, func(server string) bool { return s.Server == "" || s.Server == server })
	d := &lockDiff{File: p.Path, Changes: markChanges(rt, f, now), now: now, Tools: map[string]string{}}
	if s.Server == "" {
		if digest, err := now.file.Digest(s); err == nil && len(d.Changes) > 0 {
			d.SHA256, d.Approve = digest, approvalCommand(f, s, digest)
		}
	} else {
		d.Changes = slices.DeleteFunc(d.Changes, func(c lock.Change) bool { return c.Server != s.Server })
	}
	for _, c := range d.Changes {
		one := lock.Scope{Server: c.Server, Tool: c.Name}
		if digest, err := now.file.Digest(one); c.Kind == lock.KindTool && err == nil {
			d.Tools[one.String()] = approvalCommand(f, one, digest)
		}
	}
	d.Servers = append([]serverState{}, now.states...)
	d.Same = len(d.Changes) == 0 && !slices.ContainsFunc(d.Servers, func(s serverState) bool {
		return s.State == stateUnknown || s.State == stateUnpinned
	})
	return d, nil
}

// markChanges marks the servers that differ and returns the changes.
func markChanges(rt *app.Runtime, f *flags, now *observedLock) []lock.Change {
	own := []string{}
	for _, tool := range rt.Tools {
		own = append(own, tool.Name)
	}
	asked := &lock.File{Servers: map[string]lock.Server{}}
	for name, s := range rt.Servers.Pins.PinnedServers() {
		if rt.Servers.Pins.Servers[name] == nil || slices.ContainsFunc(now.states, func(st serverState) bool { return st.Server == name }) {
			asked.Servers[name] = s
		}
	}
	changes := lock.Diff(asked, now.file, own...)
	changes = slices.DeleteFunc(changes, func(c lock.Change) bool {
		// A server that this command has just added is no change of a pin.
		return slices.ContainsFunc(now.states, func(st serverState) bool { return st.Server == c.Server && st.State == stateAdded })
	})
	for i := range now.states {
		st := &now.states[i]
		if !slices.ContainsFunc(changes, func(c lock.Change) bool { return c.Server == st.Server }) {
			continue
		}
		if st.State == statePinned {
			st.State = stateChanged
		}
		if digest, err := now.file.Digest(lock.Scope{Server: st.Server}); err == nil {
			st.SHA256, st.Approve = digest, approvalCommand(f, lock.Scope{Server: st.Server}, digest)
		}
	}
	return changes
}

// approvalCommand returns the command that approves a part as it was shown.
func approvalCommand(f *flags, s lock.Scope, digest string) string {
	words := []string{"sallyport", "approve"}
	for _, path := range f.config {
		words = append(words, "--config", text.ShellWord(path))
	}
	if s.Server != "" {
		words = append(words, text.ShellWord(s.String()))
	}
	return strings.Join(append(words, "--expect", digest), " ")
}

// printDiff prints the changes, the most serious change of each server first.
func (d *lockDiff) printDiff(p *printer) error {
	var err error
	if p.json {
		err = p.printJSON(d)
	} else {
		d.printText(p)
	}
	if err == nil && !d.Same {
		err = silentFailure()
	}
	return err
}

func (d *lockDiff) printText(p *printer) {
	if d.Same {
		p.printLine("everything is as %s has it", d.File)
	}
	order := printChanges(p, d.Changes, func(server string) { d.printApprovals(p, server) })
	for i := range d.Servers {
		printState(p, &d.Servers[i])
	}
	// Only the approval of everything removes a server that is no longer
	// declared.
	alone := len(order) == 1 && slices.ContainsFunc(d.Servers, func(st serverState) bool { return st.Server == order[0] })
	if d.Approve != "" && !alone {
		p.printLine("approve all of it: %s", d.Approve)
	}
}

// printChanges prints the changes below the names of their servers and returns
// these names. It calls after behind the changes of each server.
func printChanges(p *printer, changes []lock.Change, after func(server string)) (order []string) {
	byServer := map[string][]lock.Change{}
	for _, c := range changes {
		byServer[c.Server] = append(byServer[c.Server], c)
	}
	order = slices.Sorted(maps.Keys(byServer))
	for _, server := range order {
		p.printLine("%s", server)
		for _, c := range byServer[server] {
			printChange(p, &c)
		}
		after(server)
	}
	return order
}

// printApprovals prints the commands that approve the present state of a
// server.
func (d *lockDiff) printApprovals(p *printer, server string) {
	for _, st := range d.Servers {
		if st.Server != server || st.Approve == "" {
			continue
		}
		if !st.Started {
			p.printLine("  It was not started: approve its launch, then ask again what it offers.")
		}
		p.printLine("  approve: %s", st.Approve)
	}
	for _, c := range d.Changes {
		one := lock.Scope{Server: c.Server, Tool: c.Name}.String()
		if command := d.Tools[one]; c.Server == server && command != "" {
			p.printLine("  approve %s alone: %s", text.PrintableLine(c.Name), command)
			delete(d.Tools, one)
		}
	}
}

func printChange(p *printer, c *lock.Change) {
	severity := string(c.Severity)
	if c.Severity.AtLeast(lock.SeverityHigh) {
		severity = p.colourBad(severity)
	}
	what := []string{string(c.Kind)}
	for _, s := range []string{c.Name, c.Field} {
		if s != "" {
			what = append(what, text.PrintableLine(s))
		}
	}
	p.printLine("  %s %s: %s", severity, strings.Join(what, " "), c.Message)
	for _, side := range []struct{ word, text string }{{"was", c.Was}, {"is ", c.Is}} {
		if side.text != "" {
			p.printLine("    %s %s", side.word, text.PrintableLine(side.text))
		}
	}
	if c.Cut {
		p.printLine("    more of it differs than is shown: read the definition itself before you approve it")
	}
}

// scopeOf parses SERVER or SERVER/TOOL.
func scopeOf(args []string) (s lock.Scope, err error) {
	if len(args) == 0 {
		return s, nil
	}
	s.Server, s.Tool, _ = strings.Cut(args[0], "/")
	if s.Server == "" || strings.HasSuffix(args[0], "/") && s.Tool == "" {
		return s, usageError(errors.New("expected SERVER or SERVER/TOOL"))
	}
	return s, nil
}
