package command

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
	// discoverWait bounds how long a start waits for all upstream servers.
	// Servers of npm take one to three seconds on a small machine.
	discoverWait = 20 * time.Second
	// discoverAtOnce bounds how many servers are started at the same time.
	discoverAtOnce = 8
)

// upstreamServers holds the upstream servers of a turn. The zero value has none.
type upstreamServers struct {
	declared []upstream.Server
	mounts   *upstream.Mounts
	// finder runs the calls that ask servers for their tools.
	finder *registry.Registry
	// found holds the result for each server that was asked.
	found []*foundServer
	// pins compares the servers with the lock file; installer installs what it
	// pins.
	pins      *lockPins
	installer *packageInstaller
	cleaner   *output.Cleaner
	// every is true when a server is asked in every role that may use it, for
	// check: a refusal in one role is no property of the server.
	every bool
}

// foundServer is what is known of a server after it was asked.
type foundServer struct {
	upstream.Server
	part *config.Part
	// role is the role in which the server was asked; empty when no role lists
	// it.
	role string
	// why is the reason why the server did not answer.
	why string
	// refused maps other roles to the reason why it did not answer in them.
	refused map[string]string
	tools   []string
	left    []upstream.Left
	// held is true when a definition in left differs from its pin.
	held bool
	// again is when the server was asked again, pause the wait before the next
	// time.
	again time.Time
	pause time.Duration
}

// serversOf reads the upstream servers that a configuration declares. The error
// is yamldoc.Faults, each with its position.
func serversOf(c *config.Config, home string) ([]upstream.Server, error) {
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
		return output.New(nil)
	}
	known, err := source.Known(ctx)
	if err != nil {
		return nil, err
	}
	return output.New(&output.Options{Secrets: known})
}

// everyServer selects all servers, for discover.
func everyServer(string) bool { return true }

// discoverServers asks the wanted servers at the same time what they offer, and
// registers their tools. A server that fails becomes a warning and does not
// affect the others. Each server is asked in the given role when that role may
// use it. A server whose tools are registered already is only asked whether it
// still answers.
func (t *deployment) discoverServers(ctx context.Context, role string, wanted func(server string) bool) {
	s := &t.servers
	for i := range s.declared {
		if wanted(s.declared[i].Name) {
			// An installation has a time limit of its own.
			t.fetchPackage(ctx, s.pins.of[s.declared[i].Name])
		}
	}
	ctx, cancel := context.WithTimeout(ctx, discoverWait)
	defer cancel()
	turns := make(chan struct{}, discoverAtOnce)
	var asking sync.WaitGroup
	var fresh []string
	for i := range s.declared {
		if !wanted(s.declared[i].Name) {
			continue
		}
		f, known := t.foundOf(&s.declared[i])
		if !known {
			s.found, fresh = append(s.found, f), append(fresh, f.Name)
		}
		if l := s.pins.of[f.Name]; l.why != "" {
			if roles := t.rolesWith(f.Name); len(roles) > 0 {
				f.role, f.why = roles[0], l.why
				continue
			}
		}
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if known {
				s.mounts.Probe(ctx, f.Name, func(ctx context.Context) { t.askServer(ctx, f, role) })
				return
			}
			t.askServer(ctx, f, role)
		})
	}
	asking.Wait()
	if len(fresh) > 0 && s.pins.look == lookHold {
		t.registerFound(func(server string) bool { return slices.Contains(fresh, server) })
	}
}

// foundOf returns what is known of a server; known reports that its tools are
// registered already.
func (t *deployment) foundOf(declared *upstream.Server) (f *foundServer, known bool) {
	for _, f := range t.servers.found {
		if f.Name == declared.Name {
			return f, true
		}
	}
	return &foundServer{Server: t.servers.pins.of[declared.Name].mounted, part: t.declarationPart(declared.Name)}, false
}

// registerAdopted registers the tools of servers that the previous
// configuration already knew, so that an unrelated change removes no tool.
func (t *deployment) registerAdopted() {
	s := &t.servers
	if s.mounts == nil || s.pins.look != lookHold {
		return
	}
	adopted := s.mounts.Adopted()
	for i := range s.declared {
		if roles := t.rolesWith(s.declared[i].Name); len(roles) > 0 && slices.Contains(adopted, s.declared[i].Name) {
			f, _ := t.foundOf(&s.declared[i])
			f.role = roles[0]
			s.found = append(s.found, f)
		}
	}
	if len(s.found) > 0 {
		t.registerFound(func(server string) bool { return slices.Contains(adopted, server) })
	}
}

// expectedReason returns the reason why a tool of a server that is being asked is not
// available yet.
func (t *deployment) expectedReason(tool string) string {
	server := serverOf(tool)
	if server == "" || !t.asking.Load() || !slices.ContainsFunc(t.config.Servers, func(p config.Part) bool { return p.ID == server }) {
		return ""
	}
	return "the MCP server " + server + " has not said yet what it offers, since the configuration was put in force"
}

// askServer asks one server, in each role that may use it until it answers. The
// process of the server is confined to what that role grants.
func (t *deployment) askServer(ctx context.Context, f *foundServer, role string) {
	roles := t.rolesWith(f.Name)
	if slices.Contains(roles, role) {
		roles = append([]string{role}, slices.DeleteFunc(roles, func(name string) bool { return name == role })...)
	}
	f.why = "no personality lists it in mcp_servers, so that nobody can use it"
	f.refused = map[string]string{}
	for _, name := range roles {
		res := t.callFinder(ctx, name, upstream.DiscoveryName(f.Name), nil)
		if !res.OK {
			f.refused[name] = text.PrintableLine(res.Error)
		}
		if f.why != "" {
			f.role, f.why = name, text.PrintableLine(res.Error)
		}
		refused := t.servers.pins.lastRefusal(f.Name) != ""
		if refused {
			f.why += t.servers.pins.hintFor(f.Name)
		}
		if res.OK && !t.servers.every || refused || ctx.Err() != nil {
			break
		}
	}
	if f.why != "" || ctx.Err() != nil {
		// Nothing is known of any single role.
		clear(f.refused)
	}
}

// rolesWith lists the personalities that may use a server.
func (t *deployment) rolesWith(server string) []string {
	return slices.DeleteFunc(t.config.Names(), func(name string) bool {
		p, _ := t.config.Personality(name)
		return !slices.Contains(p.MCPServers, server)
	})
}

// listWarnings describes the faults of a server, at the position of its
// declaration, and the tools left out that about selects.
func (f *foundServer) listWarnings(about func(l *upstream.Left) bool) (list []string) {
	if f.why != "" {
		list = append(list, f.part.Fault("", f.why).Error())
	}
	for i := range f.left {
		if l := &f.left[i]; about(l) {
			list = append(list, f.part.Fault("", "its "+string(cmp.Or(l.Kind, lock.KindTool))+" "+l.Tool+" is left out: "+l.Why).Error())
		}
	}
	return list
}

// everyLeft selects all tools, for commands that list tools.
func everyLeft(*upstream.Left) bool { return true }

// findServers asks the named servers, and warns of those that do not answer and of the
// tools that are left out.
func (g *gate) findServers(ctx context.Context, caller *sallyport.Caller, names []string, about func(l *upstream.Left) bool) {
	g.discoverServers(ctx, caller.Personality, func(server string) bool { return slices.Contains(names, server) })
	for _, f := range g.servers.found {
		for _, w := range f.listWarnings(about) {
			fmt.Fprintf(g.env.stderr, "sallyport: warning: %s\n", w)
		}
	}
}

// serversOfRole returns the servers of a personality.
func (t *deployment) serversOfRole(role string) []string {
	if p, ok := t.config.Personality(role); ok {
		return p.MCPServers
	}
	return nil
}

// failedServers lists the servers that a role may use and that did not answer, or that
// offer something other than what is pinned.
func (s *upstreamServers) failedServers() (names []string) {
	for _, f := range s.found {
		if f.role != "" && f.why != "" || f.held {
			names = append(names, f.Name)
		}
	}
	return names
}

// declarationPart returns the declaration of a server.
func (t *deployment) declarationPart(server string) *config.Part {
	i := slices.IndexFunc(t.config.Servers, func(p config.Part) bool { return p.ID == server })
	return &t.config.Servers[i]
}

// misfitsOf collects what servers declare beyond the grant of a personality. It
// reports each server once for all its tools, even when the server does not
// start.
func (t *deployment) misfitsOf(role string) (faults registry.Faults) {
	p, ok := t.config.Personality(role)
	if t.servers.finder == nil || !ok {
		return nil
	}
	for _, m := range t.servers.finder.Misfits(role) {
		for _, name := range p.MCPServers {
			if m.Tool == upstream.DiscoveryName(name) {
				m.Tool = toolsNamed(name)
				faults = append(faults, m)
			}
		}
	}
	for _, f := range t.servers.found {
		known := slices.ContainsFunc(faults, func(m registry.Fault) bool { return m.Tool == toolsNamed(f.Name) })
		if why, ok := f.refused[role]; ok && !known {
			faults = append(faults, registry.Fault{Tool: toolsNamed(f.Name), Personality: role, Message: why, Source: f.part.Source("")})
		}
	}
	return faults
}

// toolsNamed returns the pattern for all tools of a server.
func toolsNamed(server string) string { return "mcp__" + server + "__*" }

// serverOf returns the server to which a tool's name belongs, or an empty text
// for any other name.
func serverOf(id string) string {
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
