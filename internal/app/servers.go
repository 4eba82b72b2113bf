package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/registry"
)

const (
	// serveWait bounds how long serve waits for all upstream servers together: its
	// clients wait for it. Servers of npm take one to three seconds on a small
	// machine.
	serveWait = 20 * time.Second
	// pinWait bounds the start of one server for a command that pins it: the user
	// waits, and a machine that unpacks and starts many servers is slow.
	pinWait = time.Minute
	// discoverAtOnce bounds how many servers are started at the same time.
	discoverAtOnce = 8
)

// errServeWait is why a server is not known that serve did not wait for.
var errServeWait = fmt.Errorf("it did not list its tools within the %v s that serve waits for all servers together; while serve runs, it asks again", serveWait.Seconds())

// Servers holds the upstream servers of a deployment. The zero value has none.
type Servers struct {
	// Declared lists the servers of the configuration.
	Declared []upstream.Server
	// Mounts are the connections to them; nil without servers.
	Mounts *upstream.Mounts
	// Finder runs the calls that ask servers for their tools.
	Finder *registry.Registry
	// Found holds the result for each server that was asked.
	Found []*FoundServer
	// Pins compares the servers with the lock file; installer installs what it
	// pins.
	Pins      *LockPins
	installer *packageInstaller
	missing   missingTools
	// Cleaner removes the secrets of the configuration from texts of servers.
	Cleaner *output.Cleaner
	// EveryRole is true when a server is asked in every role that may use it, for
	// check: a refusal in one role is no property of the server.
	EveryRole bool
	// repeat is the command that a user runs again for a server that was too slow;
	// empty for serve, which asks it again itself.
	repeat string
}

// FoundServer is what is known of a server after it was asked.
type FoundServer struct {
	upstream.Server
	// Part is the declaration.
	Part *config.Part
	// Role is the role in which the server was asked; empty when no role lists
	// it.
	Role string
	// Why is the reason why the server did not answer. hint says what an operator
	// does about it, where it differs from its pin.
	Why, hint string
	// refused maps other roles to the reason why it did not answer in them.
	refused map[string]string
	// Tools lists the names of its tools that are mounted.
	Tools []string
	// Left lists what it offers and what is not mounted.
	Left []upstream.Left
	// missing lists the same with what changes it.
	missing []missingTool
	// Held is true when a definition in Left differs from its pin.
	Held bool
	// again is when the server was asked again.
	again time.Time
	// Pause is the wait before the server is asked the next time.
	Pause time.Duration
}

// DecodeServers reads the upstream servers that a configuration declares. The error
// is yamldoc.Faults, each with its position.
func DecodeServers(c *config.Config, home string) ([]upstream.Server, error) {
	var list []upstream.Server
	var faults yamldoc.Faults
	for i := range c.Servers {
		p := &c.Servers[i]
		s, err := upstream.Decode(p.ID, p.JSON, &upstream.DecodeOptions{Dir: p.Dir, Workspace: c.Workspace, Home: home})
		if err != nil {
			faults = append(faults, faultsIn(p, err)...)
			continue
		}
		s.Sources = sourcesOf(p)
		list = append(list, s)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return list, nil
}

// cleanerOf returns a cleaner for the secrets of a source; nil is a source
// without secrets.
func cleanerOf(ctx context.Context, source sallyport.SecretSource) (*output.Cleaner, error) {
	if source == nil {
		return output.Plain(), nil
	}
	known, err := source.Known(ctx)
	if err != nil {
		return nil, err
	}
	return output.New(&output.Options{Secrets: known})
}

// EveryServer selects all servers, for discover.
func EveryServer(string) bool { return true }

// DiscoverServers asks the wanted servers what they offer, discoverAtOnce at the same
// time, and registers their tools. A server that fails becomes a warning and does not
// affect the others: the time of each begins with its own start. Each server is asked
// in the given role when that role may use it. A server whose tools are registered
// already is only asked whether it still answers.
func (t *Deployment) DiscoverServers(ctx context.Context, role string, wanted func(server string) bool) {
	s := &t.Servers
	var installing installTurns
	for i := range s.Declared {
		if l := s.Pins.Servers[s.Declared[i].Name]; wanted(s.Declared[i].Name) && t.lacksPackage(l) {
			// An installation has a time limit of its own.
			installing.run(func() { t.installMissingPackage(ctx, l) })
		}
	}
	installing.wait()
	turns := make(chan struct{}, discoverAtOnce)
	var asking sync.WaitGroup
	var fresh []string
	for i := range s.Declared {
		if !wanted(s.Declared[i].Name) {
			continue
		}
		f, known := t.foundOf(&s.Declared[i])
		if !known {
			s.Found, fresh = append(s.Found, f), append(fresh, f.Name)
		}
		if l := s.Pins.Servers[f.Name]; l.Why != "" {
			if roles := t.RolesWith(f.Name); len(roles) > 0 {
				f.Role, f.Why, f.hint = roles[0], l.Why, l.hint
				continue
			}
		}
		begin, done := t.showStart(f.Name)
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			begin()
			defer done()
			if known {
				s.Mounts.Probe(ctx, f.Name, func(ctx context.Context) { t.askServer(ctx, f, role) })
				return
			}
			t.askServer(ctx, f, role)
		})
	}
	asking.Wait()
	if len(fresh) > 0 && s.Pins.Policy == HoldPins {
		t.registerFound(func(server string) bool { return slices.Contains(fresh, server) })
	}
}

// DiscoverForServing is DiscoverServers for serve, which waits for all servers together
// no longer than serveWait, and asks those that were too slow again.
func (t *Deployment) DiscoverForServing(ctx context.Context, role string) {
	ctx, cancel := context.WithTimeoutCause(ctx, serveWait, errServeWait)
	defer cancel()
	t.DiscoverServers(ctx, role, EveryServer)
}

// showStart tells of the start of a server where a terminal shows how far a command is
// that looks at servers.
func (t *Deployment) showStart(server string) (begin, done func()) {
	p := t.Servers.installer.progress
	if _, plain := p.(*plainProgress); plain || t.Servers.Pins.Policy == HoldPins {
		return func() {}, func() {}
	}
	p.Expect(1)
	return func() { p.Begin("starting " + server) }, p.Done
}

// foundOf returns what is known of a server; known reports that its tools are
// registered already.
func (t *Deployment) foundOf(declared *upstream.Server) (f *FoundServer, known bool) {
	for _, f := range t.Servers.Found {
		if f.Name == declared.Name {
			return f, true
		}
	}
	return &FoundServer{Server: t.Servers.Pins.Servers[declared.Name].mounted, Part: t.declarationPart(declared.Name)}, false
}

// registerAdopted registers the tools of servers that the previous
// configuration already knew, so that an unrelated change removes no tool.
func (t *Deployment) registerAdopted() {
	s := &t.Servers
	if s.Mounts == nil || s.Pins.Policy != HoldPins {
		return
	}
	adopted := s.Mounts.Adopted()
	for i := range s.Declared {
		if roles := t.RolesWith(s.Declared[i].Name); len(roles) > 0 && slices.Contains(adopted, s.Declared[i].Name) {
			f, _ := t.foundOf(&s.Declared[i])
			f.Role = roles[0]
			s.Found = append(s.Found, f)
		}
	}
	if len(s.Found) > 0 {
		t.registerFound(func(server string) bool { return slices.Contains(adopted, server) })
	}
}

// expectedReason returns the reason why a tool of a server that is being asked is not
// available yet.
func (t *Deployment) expectedReason(tool string) string {
	server := ServerOf(tool)
	if server == "" || !t.asking.Load() || !slices.ContainsFunc(t.Config.Servers, func(p config.Part) bool { return p.ID == server }) {
		return ""
	}
	return "the MCP server " + server + " is still being asked what it offers: try again"
}

// askServer asks one server, in each role that may use it until it answers. The
// process of the server is confined to what that role grants.
func (t *Deployment) askServer(ctx context.Context, f *FoundServer, role string) {
	roles := t.RolesWith(f.Name)
	if slices.Contains(roles, role) {
		roles = append([]string{role}, slices.DeleteFunc(roles, func(name string) bool { return name == role })...)
	}
	f.Why, f.hint = "no personality lists it in mcp_servers, so no caller can use it", ""
	f.refused = map[string]string{}
	for _, name := range roles {
		res := t.CallFinder(ctx, name, upstream.DiscoveryName(f.Name), nil)
		if !res.OK {
			f.refused[name] = text.PrintableLine(res.Error)
		}
		late := !res.OK && t.Servers.Mounts.WasLate(f.Name)
		if f.Why != "" {
			f.Role, f.Why = name, text.PrintableLine(res.Error)
			switch {
			case !res.OK && errors.Is(context.Cause(ctx), errServeWait):
				f.Why = errServeWait.Error()
			case late:
				f.Why += t.Servers.adviseRepeat()
			}
		}
		refused := t.Servers.Pins.LastRefusal(f.Name) != ""
		if refused {
			f.hint = t.Servers.Pins.hintFor(f.Name)
		}
		// A server that is too slow in one role is so in each.
		if res.OK && !t.Servers.EveryRole || refused || ctx.Err() != nil || late && f.Why != "" {
			break
		}
	}
	if f.Why != "" || ctx.Err() != nil {
		// Nothing is known of any single role.
		clear(f.refused)
	}
}

// adviseRepeat says what a user does about a server that was too slow.
func (s *Servers) adviseRepeat() string {
	if s.repeat == "" {
		return ""
	}
	return "; run " + s.repeat + " again, or start the server by hand to see what it waits for"
}

// RolesWith lists the personalities that may use a server.
func (t *Deployment) RolesWith(server string) []string {
	return slices.DeleteFunc(t.Config.Names(), func(name string) bool {
		p, _ := t.Config.Personality(name)
		return !slices.Contains(t.serversOf(p), server)
	})
}

// Reason says why the server did not answer, and what an operator does about it;
// empty when it answered.
func (f *FoundServer) Reason() string { return f.Why + f.hint }

// listWarnings describes the faults of a server, at the position of its
// declaration, and the tools left out that about selects.
func (f *FoundServer) listWarnings(about func(l *upstream.Left) bool) (list []string) {
	if f.Why != "" {
		list = append(list, f.Part.Fault("", f.Reason()).Error())
	}
	for i := range f.Left {
		if l := &f.Left[i]; about(l) {
			list = append(list, f.Part.Fault("", "its "+string(cmp.Or(l.Kind, lock.KindTool))+" "+l.Tool+" is left out: "+l.Why).Error())
		}
	}
	return list
}

// EveryLeft selects all tools, for commands that list tools.
func EveryLeft(*upstream.Left) bool { return true }

// FindServers asks the named servers, and warns of those that do not answer and of the
// tools that are left out.
func (rt *Runtime) FindServers(ctx context.Context, caller *sallyport.Caller, names []string, about func(l *upstream.Left) bool) {
	rt.InForce().DiscoverServers(ctx, caller.Personality, func(server string) bool { return slices.Contains(names, server) })
	for _, f := range rt.InForce().Servers.Found {
		for _, w := range f.listWarnings(about) {
			fmt.Fprintf(rt.Env.Stderr, "sallyport: warning: %s\n", w)
		}
	}
}

// ServersOfRole returns the servers of a personality.
func (t *Deployment) ServersOfRole(role string) []string {
	if p, ok := t.Config.Personality(role); ok {
		return t.serversOf(p)
	}
	return nil
}

// Failed lists the servers that a role may use and that did not answer, or that
// offer something other than what is pinned.
func (s *Servers) Failed() (names []string) {
	for _, f := range s.Found {
		if f.Role != "" && f.Why != "" || f.Held {
			names = append(names, f.Name)
		}
	}
	return names
}

// declarationPart returns the declaration of a server.
func (t *Deployment) declarationPart(server string) *config.Part {
	i := slices.IndexFunc(t.Config.Servers, func(p config.Part) bool { return p.ID == server })
	return &t.Config.Servers[i]
}

// MisfitsOf collects what servers declare beyond the grant of a personality. It
// reports each server once for all its tools, even when the server does not
// start.
func (t *Deployment) MisfitsOf(role string) (faults registry.Faults) {
	p, ok := t.Config.Personality(role)
	if t.Servers.Finder == nil || !ok {
		return nil
	}
	for _, m := range t.Servers.Finder.Misfits(role) {
		for _, name := range t.serversOf(p) {
			if m.Tool == upstream.DiscoveryName(name) {
				m.Tool = toolsNamed(name)
				faults = append(faults, m)
			}
		}
	}
	for _, f := range t.Servers.Found {
		known := slices.ContainsFunc(faults, func(m registry.Fault) bool { return m.Tool == toolsNamed(f.Name) })
		if why, ok := f.refused[role]; ok && !known {
			faults = append(faults, registry.Fault{Tool: toolsNamed(f.Name), Personality: role, Message: why, Source: f.Part.Source("")})
		}
	}
	return faults
}

// toolsNamed returns the pattern for all tools of a server.
func toolsNamed(server string) string { return "mcp__" + server + "__*" }

// ServerOf returns the server to which a tool's name belongs, or an empty text
// for any other name.
func ServerOf(id string) string {
	_, name := sallyport.ParseID(id)
	return (&sallyport.Tool{Name: name}).Server()
}

// faultsIn returns the faults of a declaration with their positions.
func faultsIn(p *config.Part, err error) (faults yamldoc.Faults) {
	found, ok := errors.AsType[upstream.Faults](err)
	if !ok {
		return yamldoc.Faults{p.Fault("", err.Error())}
	}
	for _, f := range found {
		faults = append(faults, p.Fault(f.Pointer, f.Message))
	}
	return faults
}
