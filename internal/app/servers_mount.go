package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/listening"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/registry"
)

// openPins reads the lock file of a configuration.
func (rt *Runtime) openPins(t *Deployment) (err error) {
	p, err := ReadPins(t.Config, rt.Packages, rt.look, rt.Env.Texts)
	if err != nil {
		return err
	}
	p.showCommand, p.commandLine = rt.ShortCommand, rt.CommandLine
	p.variables = rt.Env.pathVariables(t.Config)
	p.variables["workspace"] = t.Config.Workspace
	t.Servers.Pins = p
	return nil
}

// mountServers declares the upstream servers of a configuration. It starts no process.
func (rt *Runtime) mountServers(ctx context.Context, t *Deployment, b *sallyport.Backends) (err error) {
	s := &t.Servers
	if s.Declared, err = DecodeServers(t.Config, rt.Env.Home); err != nil || len(s.Declared) == 0 {
		return err
	}
	s.installer, s.repeat = rt.newInstaller(t), rt.Env.Repeat
	o, err := rt.mountOptions(ctx, t, b)
	if err != nil {
		return err
	}
	if s.Mounts, err = upstream.New(t.placedServers(ctx), o); err != nil {
		return err
	}
	if rt.past != nil {
		s.adoptPins()
	}
	finding := *b
	finding.Personalities = t.finderRoles()
	s.Finder, err = registry.New(&finding, &registry.Options{
		Recorder: rt.log, Switches: serverSwitches{rt.Switches}, Logger: rt.Logger, Workspace: t.Config.Workspace, Variables: rt.Env.pathVariables(t.Config),
		NoConversation: true, Runs: rt.runs,
	})
	if err != nil {
		return errors.Join(err, s.Mounts.Close())
	}
	// Close the mounts before the finder: they use it to tell servers that
	// their sessions are over.
	t.closers = append(t.closers, closeRegistry(ctx, s.Finder), s.Mounts.Close)
	if err := s.Finder.Register(slices.Concat(s.Mounts.Discovery(), s.Mounts.CloseSessionTools())...); err != nil {
		return t.locateFault(err)
	}
	return nil
}

// adoptPins takes what the servers offer from the lock file. A definition that the file
// does not hold as the server sent it is left out.
func (s *Servers) adoptPins() {
	for name, pinned := range s.Pins.PinnedServers() {
		offers := map[upstream.Kind][]json.RawMessage{}
		for kind, pins := range map[upstream.Kind]map[string]lock.Pin{
			upstream.KindTool: pinned.Tools, upstream.KindPrompt: pinned.Prompts,
			upstream.KindResource: pinned.Resources, upstream.KindTemplate: pinned.Templates,
		} {
			for _, key := range slices.Sorted(maps.Keys(pins)) {
				if pin := pins[key]; pin.Hidden == nil {
					offers[kind] = append(offers[kind], pin.Definition)
				}
			}
		}
		s.Mounts.AdoptPinned(name, offers)
	}
}

// finderRoles returns the roles for the tools that ask servers. Those tools have names
// of their own, which a role that lists a server lists too, so that the server is
// started with what it may touch in a call.
func (t *Deployment) finderRoles() roleTable {
	out := roleTable{}
	for name, p := range t.Config.Personalities {
		finder := *p
		finder.Toolset = []string{}
		for _, server := range t.serversOf(p) {
			finder.Toolset = append(finder.Toolset, upstream.DiscoveryName(server), upstream.CloseSessionName(server))
		}
		out[name] = &finder
	}
	return out
}

// serverSwitches treats the calls that ask a server as stopped when the server
// is stopped.
type serverSwitches struct{ *auth.Switches }

// Stopped implements registry.Switches.
func (s serverSwitches) Stopped(ctx context.Context, principal, sessionKey, tool string) (kind, why string, err error) {
	if server, ok := strings.CutPrefix(tool, upstream.DiscoveryName("")); ok {
		tool = registry.ServerRun(server)
	}
	return s.Switches.Stopped(ctx, principal, sessionKey, tool)
}

// mountOptions returns the options for the servers of a deployment. It adds the vault
// of tokens to the sources of secrets.
func (rt *Runtime) mountOptions(ctx context.Context, t *Deployment, b *sallyport.Backends) (*upstream.Options, error) {
	s := &t.Servers
	tokens, err := rt.openTokens(s.Declared, b)
	if err != nil {
		return nil, err
	}
	known := b.Secrets
	if rt.past != nil {
		known = nil // no server says anything, so that no value is asked for
	}
	if s.Cleaner, err = cleanerOf(ctx, known); err != nil {
		return nil, err
	}
	return &upstream.Options{
		Version: Version(), StartWait: cmp.Or(rt.Env.StartWait, s.Pins.Policy.startWait()), Logger: rt.Logger, Cleaner: s.Cleaner, Start: s.Pins.checkStart, CheckDefinition: s.Pins.checkDefinition, Pinned: s.Pins.File != nil,
		Changed: rt.listChanged, Processes: processBound(), Tokens: tokens, Principals: rt.listLogins,
		CloseSession: func(ctx context.Context, server, role string, args json.RawMessage) {
			t.CallFinder(ctx, role, upstream.CloseSessionName(server), args)
		},
		Previous: rt.InForce().Servers.Mounts, Grant: s.Pins.addPinToGrant(grantsOf(b.Personalities)),
	}, nil
}

// CallFinder calls a tool of the finder in a role, as the local user.
func (t *Deployment) CallFinder(ctx context.Context, role, tool string, args json.RawMessage) sallyport.Result {
	return t.Servers.Finder.Call(ctx, localCaller(role, t.Config.Workspace), sallyport.Request{Tool: tool, Args: args})
}

// localCaller returns the local user in a role.
func localCaller(role, workspace string) *sallyport.Caller {
	return &sallyport.Caller{
		Principal: sallyport.Principal{Name: sallyport.LocalPrincipal}, Personality: role,
		Platform: sallyport.PlatformCLI, Workspace: workspace,
	}
}

// listChanged tells clients of a server that what they see may have changed.
func (rt *Runtime) listChanged() {
	if l := rt.Live.Load(); l != nil {
		l.listChanged()
	}
}

// placedServers returns the servers that can be started, with what runs for
// each.
func (t *Deployment) placedServers(ctx context.Context) (list []upstream.Server) {
	s := &t.Servers
	launches := make([]*ServerLaunch, len(s.Declared))
	var placing installTurns
	for i := range s.Declared {
		d := &s.Declared[i]
		by := s.installer
		if len(t.RolesWith(d.Name)) == 0 {
			// No caller can use it.
			by = nil
		}
		if d.Package == nil || s.Pins.Policy == HoldPins {
			launches[i] = s.Pins.placeServer(ctx, d, by)
			continue
		}
		s.installer.progress.Expect(1)
		placing.run(func() {
			defer s.installer.progress.Done()
			launches[i] = s.Pins.placeServer(ctx, d, by)
		})
	}
	placing.wait()
	for i, l := range launches {
		l.filesStand = t.filesStand(&s.Declared[i])
		s.Pins.Servers[s.Declared[i].Name] = l
		if l.Why == "" {
			list = append(list, l.mounted)
		}
	}
	return list
}

// processBound returns how many processes of MCP servers may run at once: a
// sixteenth of the number of descriptors that the process may open, since each
// server takes a few of them.
func processBound() int {
	const most, least = 128, 4
	if part := listening.Share(16); part > 0 {
		return max(least, min(most, part))
	}
	return most
}
