package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/lock"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/registry"
)

const (
	// discoverWait bounds how long a start waits for all upstream servers.
	// Servers of npm take one to three seconds on a small machine.
	discoverWait = 20 * time.Second
	// discoverAtOnce bounds how many are started at the same time.
	discoverAtOnce = 8
)

// servers are the upstream servers of a turn. The zero value has none.
type servers struct {
	declared []upstream.Server
	mounts   *upstream.Mounts
	// finder runs what asks servers for their tools.
	finder *registry.Registry
	// found says how each went that was asked.
	found []*foundServer
	// pins hold them to the lock file; installer installs what it pins.
	pins      *pins
	installer *installer
	cleaner   *output.Cleaner
	// every has a server asked in every role that may use it, for check: what
	// stops it in one of them is no property of the server.
	every bool
}

// foundServer is what is known of a server after it was asked.
type foundServer struct {
	upstream.Server
	part *config.Part
	// role is the one in which it was asked; empty when no role lists it.
	role string
	// why says why it did not answer.
	why string
	// refused says why it did not answer in other roles.
	refused map[string]string
	tools   []string
	left    []upstream.Left
	// held is true when some of left is not what is pinned.
	held bool
	// again is when it was asked again, pause how long not.
	again time.Time
	pause time.Duration
}

// serversOf reads the upstream servers that a configuration declares. The error
// is config.Faults, each at its place.
func serversOf(c *config.Config, home string) ([]upstream.Server, error) {
	var list []upstream.Server
	var faults config.Faults
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

// cleanerOf knows the secrets of a source; nil is a source without any.
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

// everyServer is for discover.
func everyServer(string) bool { return true }

// discover asks the servers that are wanted what they offer, all at once, and
// registers their tools. One that fails harms nobody else: it is a warning. The
// role is the one in which a server is asked when it may use it. Servers whose
// tools are there already are asked whether they still answer.
func (t *turn) discover(ctx context.Context, role string, wanted func(server string) bool) {
	s := &t.servers
	for i := range s.declared {
		if wanted(s.declared[i].Name) {
			// An installation takes its own time.
			t.fetch(ctx, s.pins.of[s.declared[i].Name])
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
				s.mounts.Probe(ctx, f.Name, func(ctx context.Context) { t.ask(ctx, f, role) })
				return
			}
			t.ask(ctx, f, role)
		})
	}
	asking.Wait()
	if len(fresh) > 0 && s.pins.look == lookHold {
		t.registerFound(func(server string) bool { return slices.Contains(fresh, server) })
	}
}

// foundOf is what is known of a server; known says that its tools are there.
func (t *turn) foundOf(declared *upstream.Server) (f *foundServer, known bool) {
	for _, f := range t.servers.found {
		if f.Name == declared.Name {
			return f, true
		}
	}
	return &foundServer{Server: t.servers.pins.of[declared.Name].mounted, part: t.part(declared.Name)}, false
}

// registerAdopted registers the tools of servers that are known from the
// configuration before, so that a change that does not concern them takes
// nothing away.
func (t *turn) registerAdopted() {
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

// expected says of a tool of a server that is being asked why it is not there
// yet.
func (t *turn) expected(tool string) string {
	server := serverOf(tool)
	if server == "" || !t.asking.Load() || !slices.ContainsFunc(t.config.Servers, func(p config.Part) bool { return p.ID == server }) {
		return ""
	}
	return "the MCP server " + server + " has not said yet what it offers, since the configuration was put in force"
}

// ask asks one server, in the first of the roles that may use it in which it
// answers: its process is held to what that role gives it.
func (t *turn) ask(ctx context.Context, f *foundServer, role string) {
	roles := t.rolesWith(f.Name)
	if slices.Contains(roles, role) {
		roles = append([]string{role}, slices.DeleteFunc(roles, func(name string) bool { return name == role })...)
	}
	f.why = "no personality lists it in mcp_servers, so that nobody can use it"
	f.refused = map[string]string{}
	for _, name := range roles {
		res := t.asks(ctx, name, upstream.DiscoveryName(f.Name), nil)
		if !res.OK {
			f.refused[name] = shown(res.Error)
		}
		if f.why != "" {
			f.role, f.why = name, shown(res.Error)
		}
		refused := t.servers.pins.refusal(f.Name) != ""
		if refused {
			f.why += t.servers.pins.hint(f.Name)
		}
		if res.OK && !t.servers.every || refused || ctx.Err() != nil {
			break
		}
	}
	if f.why != "" || ctx.Err() != nil {
		// Nothing is known of a single role.
		clear(f.refused)
	}
}

// rolesWith lists the personalities that may use a server.
func (t *turn) rolesWith(server string) []string {
	return slices.DeleteFunc(t.config.Names(), func(name string) bool {
		p, _ := t.config.Personality(name)
		return !slices.Contains(p.MCPServers, server)
	})
}

// warnings say, at the place of its declaration, what is wrong with a server,
// and which of the tools that somebody asks about are left out.
func (f *foundServer) warnings(about func(l *upstream.Left) bool) (list []string) {
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

// everyLeft is for commands that list tools.
func everyLeft(*upstream.Left) bool { return true }

// leftOf is for commands about tools that are named: to the caller they do not
// exist, and an operator wants to know why.
func leftOf(ids ...string) func(l *upstream.Left) bool {
	return func(l *upstream.Left) bool {
		// One without a name that can be mapped is named by nobody.
		mapped, _ := lock.MapName(l.Server, l.Tool)
		return slices.ContainsFunc(ids, func(id string) bool {
			_, name := sallyport.ParseID(id)
			return name == l.Tool || name == mapped
		})
	}
}

// find asks the servers of these names, and says which do not answer and what
// is left out.
func (g *gate) find(ctx context.Context, env *environment, caller *sallyport.Caller, names []string, about func(l *upstream.Left) bool) {
	g.discover(ctx, caller.Personality, func(server string) bool { return slices.Contains(names, server) })
	for _, f := range g.servers.found {
		for _, w := range f.warnings(about) {
			fmt.Fprintf(env.stderr, "sallyport: warning: %s\n", w)
		}
	}
}

// listed are the servers of a personality.
func (t *turn) listed(role string) []string {
	if p, ok := t.config.Personality(role); ok {
		return p.MCPServers
	}
	return nil
}

// serversIn lists the servers whose tools are asked for.
func serversIn(requests []sallyport.Request) (names []string) {
	for i := range requests {
		if s := serverOf(requests[i].Tool); s != "" {
			names = append(names, s)
		}
	}
	return names
}

// calledIn lists what requests call.
func calledIn(requests []sallyport.Request) (ids []string) {
	for i := range requests {
		ids = append(ids, requests[i].Tool)
	}
	return ids
}

// failed lists the servers that did not answer although a role may use them, or
// offer something else than what is pinned.
func (s *servers) failed() (names []string) {
	for _, f := range s.found {
		if f.role != "" && f.why != "" || f.held {
			names = append(names, f.Name)
		}
	}
	return names
}

// part is the declaration of a server.
func (t *turn) part(server string) *config.Part {
	i := slices.IndexFunc(t.config.Servers, func(p config.Part) bool { return p.ID == server })
	return &t.config.Servers[i]
}

// misfitsOf collects what servers declare beyond what a personality gives, once
// for all tools of a server and also when it does not start.
func (t *turn) misfitsOf(role string) (faults registry.Faults) {
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

// toolsNamed stands for all tools of a server.
func toolsNamed(server string) string { return "mcp__" + server + "__*" }

// serverOf is the server that a tool's name belongs to, "" for any other name.
func serverOf(id string) string {
	_, name := sallyport.ParseID(id)
	return (&sallyport.Tool{Name: name}).Server()
}

// shown is what somebody else wrote, as one line for a terminal.
func shown(text string) string {
	return oneLine(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, text))
}

// faultsIn are the faults of a declaration at their places.
func faultsIn(p *config.Part, err error) (faults config.Faults) {
	found, ok := errors.AsType[upstream.Faults](err)
	if !ok {
		return config.Faults{p.Fault("", err.Error())}
	}
	for _, f := range found {
		faults = append(faults, p.Fault(f.Pointer, f.Message))
	}
	return faults
}
