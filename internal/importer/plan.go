package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/clients"
)

// serverPlan is the outcome for all servers of a client.
type serverPlan struct {
	files []*clients.File
	role  string
	// listed holds the servers that the role may use already.
	listed  []string
	servers []*plannedServer
	// registries are those of this machine from which the packages come.
	registries []ownRegistry
	// credentials are those of this machine for registries of the servers.
	credentials []ownCredential
	// remarks are about the whole import.
	remarks []string
}

// planImport reads the files of a client and decides about their servers.
func planImport(ctx context.Context, e *Environment, o *Options) (*clientImport, *serverPlan, error) {
	i, files, err := newClientImport(e, o)
	if err != nil {
		return nil, nil, err
	}
	p, err := i.planServers(ctx, files)
	return i, p, err
}

// planServers decides about every server of the files.
func (i *clientImport) planServers(ctx context.Context, files []*clients.File) (*serverPlan, error) {
	p := &serverPlan{files: files, role: i.o.Personality}
	if p.role == "" {
		p.role = i.client.Name
	}
	if role, ok := i.config.Personality(p.role); ok {
		p.listed = role.MCPServers
	}
	for _, f := range files {
		for _, s := range f.Servers() {
			p.servers = append(p.servers, i.planServer(ctx, s))
		}
	}
	i.planRegistries(p)
	return p, i.refuseUnusedFlags(p)
}

// refuseUnusedFlags refuses flags that name no server.
func (i *clientImport) refuseUnusedFlags(p *serverPlan) error {
	named := slices.Clone(i.o.Leave)
	for _, m := range []map[string][]string{i.hosts, i.pins, i.plains} {
		for name := range m {
			named = append(named, name)
		}
	}
	slices.Sort(named)
	for _, name := range named {
		if !slices.ContainsFunc(p.servers, func(s *plannedServer) bool { return s.hasName(name) }) {
			return fmt.Errorf("%s has no server %q", i.client.Name, name)
		}
	}
	return nil
}

// planServer decides about one server.
func (i *clientImport) planServer(ctx context.Context, s clients.Server) *plannedServer {
	p := &plannedServer{found: s, from: s, state: stateReady, name: serverName(s.Name)}
	switch {
	case slices.ContainsFunc(i.o.Leave, p.hasName):
		p.state, p.why = stateLeft, []string{"--leave: its calls do not pass the gate"}
		return p
	case s.Off:
		p.state, p.why = stateLeft, []string{"the client has it switched off"}
		return p
	case s.Extension:
		p.state, p.why = stateLeft, []string{"an extension of the client starts it, and its settings do not say how: its calls do not pass the gate"}
		return p
	case len(s.Faults) > 0:
		for _, f := range s.Faults {
			p.blockServer("%s", f)
		}
		return p
	}
	i.translateServer(p)
	if other := i.byName[p.name]; other != nil {
		if isSameLaunch(&p.entry, &other.entry) {
			p.state, p.why = stateDeclared, []string{"the same as at " + other.from.At}
			return p
		}
		p.name = numberName(p.name, s.In)
		i.translateServer(p)
	}
	i.byName[p.name] = p
	if i.o.Observe && (p.state == stateReady || p.lacksHosts) {
		i.observeServer(ctx, p)
	}
	p.noteProposal(filepath.Clean(i.env.Home))
	i.checkDeclaration(p)
	return p
}

// translateServer creates the declaration.
func (i *clientImport) translateServer(p *plannedServer) {
	*p = plannedServer{found: p.found, from: p.found, name: p.name, state: stateReady}
	if p.name != p.from.Name {
		p.addNote("the client calls it %q", p.from.Name)
	}
	i.translateLaunch(p)
	i.translateVariables(p)
	i.setKnownVariables(p)
	i.translateHeaders(p)
	i.proposeReach(p)
	i.proposeKnown(p)
	p.proposeEffects()
	for _, key := range p.from.Unknown {
		p.addNote("%s is not carried over: a declaration has no such key", key)
	}
}

// checkDeclaration checks a declaration with the reader of declarations and against the
// present configuration.
func (i *clientImport) checkDeclaration(p *plannedServer) {
	if p.state != stateReady {
		return
	}
	text, err := json.Marshal(&p.entry)
	if err != nil {
		p.blockServer("%v", err)
		return
	}
	o := &upstream.DecodeOptions{Dir: i.config.Dir, Workspace: i.config.Workspace, Home: i.env.Home}
	now, err := upstream.Decode(p.name, text, o)
	if err != nil {
		p.blockServer("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	if pkg := now.Package; pkg != nil && pkg.Check() != nil {
		p.lacksVersion = true
		p.addNote("%s has no exact version, and does not start without one: --yes takes the newest; --write needs --pin %s=VERSION, and sallyport lock names the newest", pkg.Name, p.name)
	}
	for k := range i.config.Servers {
		part := &i.config.Servers[k]
		if part.ID != p.name {
			continue
		}
		was, err := upstream.Decode(part.ID, part.JSON, &upstream.DecodeOptions{Dir: part.Dir, Workspace: i.config.Workspace, Home: i.env.Home})
		if err == nil && isSameServer(&was, &now) {
			p.state, p.why = stateDeclared, []string{"declared at " + part.Source("") + ", which stays as it is"}
			return
		}
		p.blockServer("another server has this name at %s: rename one of them, or --leave %s", part.Source(""), p.name)
	}
}

// isSameServer reports whether a declaration is of the server that the client has,
// which may leave the version of its package open.
func isSameServer(was, now *upstream.Server) bool {
	same := slices.Equal(was.Command, now.Command)
	if a, b := was.Package, now.Package; a != nil && b != nil && b.Check() != nil {
		same = a.Registry == b.Registry && a.Name == b.Name && slices.Equal(was.Arguments, now.Arguments)
	}
	return same && was.URL == now.URL && was.Transport == now.Transport && reflect.DeepEqual(was.Env, now.Env)
}

// newServers returns the servers that the personality gets: those that are written, and
// those that are declared already and that it does not list yet.
func (p *serverPlan) newServers() (list []*plannedServer) {
	for _, s := range p.servers {
		if s.state == stateReady || s.state == stateDeclared && !slices.Contains(p.listed, s.name) {
			list = append(list, s)
		}
	}
	return list
}

// readPaths returns the folders that the personality has to reach for its servers.
func (p *serverPlan) readPaths() (list []string) {
	for _, s := range p.newServers() {
		if fs := s.entry.Capabilities.FSReach; fs != nil {
			list = append(list, fs.Read.Paths...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (p *serverPlan) writePaths() (list []string) {
	for _, s := range p.newServers() {
		if fs := s.entry.Capabilities.FSReach; fs != nil {
			list = append(list, fs.Write.Paths...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// readyServers returns the servers that are written.
func (p *serverPlan) readyServers() (list []*plannedServer) {
	for _, s := range p.servers {
		if s.state == stateReady {
			list = append(list, s)
		}
	}
	return list
}

// grantedServers returns the servers of the plan that the personality may use.
func (p *serverPlan) grantedServers() (list []string) {
	for _, s := range p.servers {
		if (s.state == stateReady || s.state == stateDeclared) && !slices.Contains(list, s.name) {
			list = append(list, s.name)
		}
	}
	return list
}

// withoutItems returns the items of a list that another list does not hold.
func withoutItems(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// countState returns the number of servers in a state.
func (p *serverPlan) countState(state serverState) (n int) {
	for _, s := range p.servers {
		if s.state == state {
			n++
		}
	}
	return n
}

// takesServer reports whether the import takes a server away from the client.
func (p *serverPlan) takesServer(s clients.Server) bool {
	return slices.ContainsFunc(p.servers, func(other *plannedServer) bool {
		return other.from.At == s.At && (other.state == stateReady || other.state == stateDeclared)
	})
}
