package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

func lockCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "lock",
		Short: "Pin what MCP servers are and offer",
		Long: `Start each MCP server that a personality lists and that is not pinned yet, ask
what it offers, and write that into ` + app.LockName + ` beside the configuration.
From then on a server that is started in another way is not started, and a
definition that has changed is not offered to a model, until an operator has
approved it. Packages of launchers such as npx are installed first.

What is pinned already stays as it is: diff shows what has changed since, and
approve pins it. The exit code is 1 when a server could not be pinned, or is not
what is pinned any more.`,
		Example: `  sallyport lock
  sallyport lock --config prod.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLook(cmd.Context(), env, f, app.AskNew, func(rt *app.Runtime) error {
				return pinServers(cmd.Context(), rt, env, f)
			})
		},
	}
}

// withLook runs a command that asks servers what they offer now.
func withLook(ctx context.Context, env *environment, f *flags, l app.PinPolicy, do func(rt *app.Runtime) error) error {
	rt, err := app.OpenForLock(ctx, env.forGate(), f.config, l)
	if err != nil {
		return usageError(err)
	}
	err = do(rt)
	return errors.Join(err, rt.Close())
}

// The states of a server compared with its pins.
const (
	statePinned   = "pinned"   // as it was pinned
	stateAdded    = "added"    // pinned by this command
	stateChanged  = "changed"  // is or offers something else
	stateUnknown  = "unknown"  // does not answer, or cannot be started
	stateUnpinned = "unpinned" // was never pinned
	stateUnlisted = "unlisted" // no personality lists it
)

// serverState compares a server with its pins.
type serverState struct {
	Server string `json:"server"`
	State  string `json:"state"`
	// Why describes the fault of the server.
	Why string `json:"why,omitempty"`
	// Offers counts what the server offers.
	Offers int `json:"offers"`
	// Started is false when the server was not started, because its launch
	// differs from the pinned one. What it offers is then taken from the lock
	// file.
	Started bool `json:"started"`
	// SHA256 is the digest to expect of the server, and Approve the command
	// that approves it.
	SHA256  string `json:"sha256,omitempty"`
	Approve string `json:"approve,omitempty"`
	// Left lists what the server offers and what cannot be pinned.
	Left []leftOut `json:"left_out,omitempty"`
}

// observedLock holds the present state of servers in the form of the lock file.
type observedLock struct {
	file   *lock.File
	states []serverState
}

// lookAt asks the wanted servers.
func lookAt(ctx context.Context, rt *app.Runtime, wanted func(server string) bool) *observedLock {
	rt.DiscoverServers(ctx, "", wanted)
	now := &observedLock{file: &lock.File{Servers: map[string]lock.Server{}}}
	offers := rt.Servers.ListOffers()
	for _, f := range rt.Servers.Found {
		now.addServer(observeServer(&rt.Servers, f, offers[f.Name]))
	}
	slices.SortFunc(now.states, func(a, b serverState) int { return strings.Compare(a.Server, b.Server) })
	return now
}

// addServer adds a server. The argument s is nil when nothing is known of the server.
func (n *observedLock) addServer(s *lock.Server, state serverState) {
	if s != nil {
		n.file.Servers[state.Server] = *s
		state.Offers = len(s.Tools) + len(s.Prompts) + len(s.Resources) + len(s.Templates)
	}
	n.states = append(n.states, state)
}

// observeServer returns the present state of a server. A server that does not answer is
// reported and keeps its pinned definitions.
func observeServer(s *app.Servers, f *app.FoundServer, o *lock.Offer) (*lock.Server, serverState) {
	st := serverState{Server: f.Name, State: statePinned}
	was, known := s.Pins.PinnedServer(f.Name)
	l := s.Pins.Servers[f.Name]
	switch {
	case known && l.Refused != "" && l.Attempted != nil:
		now, _, err := lock.Take(f.Name, &lock.Offer{Launch: *l.Attempted}, s.Cleaner)
		if err != nil {
			st.State, st.Why = stateUnknown, err.Error()
			return &was, st
		}
		is := was
		is.Launch = now.Launch
		return &is, st
	case f.Role != "" && f.Why == "" && o != nil && l.Attempted != nil:
		o.Launch, st.Started = *l.Attempted, true
		now, refused, err := lock.Take(f.Name, o, s.Cleaner)
		for _, r := range refused {
			st.Left = append(st.Left, leftOut{string(r.Kind) + " " + r.Name, r.Why})
		}
		if err == nil {
			return &now, st
		}
		f.Why = err.Error()
	}
	st.State, st.Why = stateUnknown, f.Why
	switch {
	case f.Role == "":
		st.State = stateUnlisted
	case !known && s.Pins.Policy != app.AskNew:
		st.State, st.Why = stateUnpinned, "it is not pinned: sallyport lock starts it and pins what it is"
	}
	if known {
		return &was, st
	}
	return nil, st
}

// pinServers adds to the lock file what it does not hold yet.
func pinServers(ctx context.Context, rt *app.Runtime, env *environment, f *flags) error {
	p := rt.Servers.Pins
	now := lookAt(ctx, rt, app.EveryServer)
	next := &lock.File{Servers: map[string]lock.Server{}}
	if p.File != nil {
		next = p.File
	}
	var added []string
	conflicts := rt.FindConflicts(rt.Servers.ListOffers())
	for i := range now.states {
		st := &now.states[i]
		is, ok := now.file.Servers[st.Server]
		if _, known := p.PinnedServer(st.Server); known || !ok {
			continue
		}
		// The user approves a definition with a conflicting name separately.
		st.dropConflicting(&is, conflicts)
		now.file.Servers[st.Server] = is
		digest, err := now.file.Digest(lock.Scope{Server: st.Server})
		if err == nil {
			next, err = next.Approve(now.file, lock.Scope{Server: st.Server}, digest)
		}
		if err != nil {
			return usageError(err)
		}
		st.State, added = stateAdded, append(added, st.Server)
	}
	markChanges(rt, f, now)
	if len(added) > 0 {
		if err := writeLock(ctx, rt, next, app.ChangeEvent(audit.ActionPin, strings.Join(added, ", "), "into "+p.Path)); err != nil {
			return usageError(err)
		}
	}
	return printPinned(env.newPrinter(f), p.Path, now.states, len(added))
}

// dropConflicting removes from a server the tools whose names conflict with others.
func (st *serverState) dropConflicting(s *lock.Server, conflicts map[string]string) {
	tools := map[string]lock.Pin{}
	for name, pin := range s.Tools {
		if why := conflicts[pin.Name]; why != "" {
			st.Left = append(st.Left, leftOut{"tool " + text.PrintableLine(name), text.PrintableLine(why) + ": sallyport diff " + st.Server + " says how to approve it"})
			st.Offers--
			continue
		}
		tools[name] = pin
	}
	slices.SortFunc(st.Left, func(a, b leftOut) int { return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Why, b.Why)) })
	s.Tools = tools
}

// writeLock records a change of the lock file, then writes the file. Two
// commands that write at once must not lose what the first of them pinned.
func writeLock(ctx context.Context, rt *app.Runtime, next *lock.File, e *audit.Event) error {
	// No child process reaches the state folder, so that none can hold this
	// lock.
	private := filepath.Dir(rt.Packages.Dir())
	return rt.RecordFirst(ctx, e, func() error {
		if err := os.MkdirAll(private, 0o700); err != nil {
			return err
		}
		return lock.Exclusive(private, func() error {
			again, err := app.ReadPins(rt.Config, rt.Packages, app.HoldPins)
			if err != nil {
				return err
			}
			if changes := lock.Diff(rt.Servers.Pins.File, again.File); len(changes) > 0 {
				return fmt.Errorf("%s was changed while this command looked: run it again", again.Path)
			}
			return next.Save(again.Path)
		})
	})
}

// printPinned prints what lock has done.
func printPinned(p *printer, path string, states []serverState, added int) error {
	bad := slices.ContainsFunc(states, func(s serverState) bool { return s.State == stateChanged || s.State == stateUnknown })
	if p.json {
		err := p.printJSON(struct {
			File    string        `json:"file"`
			Written bool          `json:"written"`
			Servers []serverState `json:"servers"`
		}{path, added > 0, append([]serverState{}, states...)})
		if err == nil && bad {
			err = silentFailure()
		}
		return err
	}
	switch {
	case added > 0:
		p.printLine("wrote %s: look at it, and keep it with the configuration", path)
	case len(states) == 0:
		p.printLine("no MCP server is declared: there is nothing to pin")
	default:
		p.printLine("nothing is new in %s", path)
	}
	rows := [][]string{}
	for i := range states {
		rows = append(rows, []string{states[i].Server, p.pinState(states[i].State), countOf(states[i].Offers, "definition")})
	}
	p.printTable(rows)
	for i := range states {
		st := &states[i]
		if st.State == stateChanged {
			p.printLine("%s %s is not what is pinned: sallyport diff %s shows the changes", p.colourBad("changed"), st.Server, st.Server)
		}
		printState(p, st)
	}
	if bad {
		return silentFailure()
	}
	return nil
}

// printState prints the fault of a server.
func printState(p *printer, st *serverState) {
	if st.Why != "" {
		p.printLine("%s %s: %s", p.colourBad(st.State), st.Server, text.PrintableLine(st.Why))
	}
	for _, l := range st.Left {
		p.printLine("%s %s of %s: %s", p.colourBad("left out"), text.PrintableLine(l.Tool), st.Server, text.PrintableLine(l.Why))
	}
}

// countOf returns a number with the name of what it counts.
func countOf(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

func (p *printer) pinState(s string) string {
	if s == statePinned || s == stateAdded {
		return p.colourGood(s)
	}
	return p.colourBad(s)
}
