package command

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/listening"
	"github.com/sallyport/sallyport/registry"
)

// mountServers declares the upstream servers of a configuration. It starts no process.
func (g *gate) mountServers(ctx context.Context, t *deployment, b *sallyport.Backends) (err error) {
	s := &t.servers
	if s.pins, err = pinsOf(t.config, g.store, g.look); err != nil {
		return err
	}
	if s.declared, err = serversOf(t.config, g.env.home); err != nil || len(s.declared) == 0 {
		return err
	}
	s.installer = g.newInstaller(t)
	o, err := g.mountOptions(ctx, t, b)
	if err != nil {
		return err
	}
	if s.mounts, err = upstream.New(t.placedServers(ctx), o); err != nil {
		return err
	}
	s.finder, err = registry.New(b, &registry.Options{
		Recorder: g.log, Switches: serverSwitches{g.switches}, Logger: g.logger, Workspace: t.config.Workspace, Variables: g.env.pathVariables(t.config),
		NoConversation: true, Runs: g.runs,
	})
	if err != nil {
		return errors.Join(err, s.mounts.Close())
	}
	// Close the mounts before the finder: they use it to tell servers that
	// their sessions are over.
	t.closers = append(t.closers, closeRegistry(ctx, s.finder), s.mounts.Close)
	if err := s.finder.Register(slices.Concat(s.mounts.Discovery(), s.mounts.Farewells())...); err != nil {
		return t.locateFault(err)
	}
	return nil
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

// mountOptions returns the options for the servers of a turn. It adds the vault
// of tokens to the sources of secrets.
func (g *gate) mountOptions(ctx context.Context, t *deployment, b *sallyport.Backends) (*upstream.Options, error) {
	s := &t.servers
	tokens, err := g.openTokens(s.declared, b)
	if err != nil {
		return nil, err
	}
	if s.cleaner, err = cleanerOf(ctx, b.Secrets); err != nil {
		return nil, err
	}
	return &upstream.Options{
		Version: moduleVersion(), Logger: g.logger, Cleaner: s.cleaner, Start: s.pins.checkStart, Judge: s.pins.judgeDefinition, Pinned: s.pins.file != nil,
		Changed: g.listChanged, Processes: processBound(), Tokens: tokens, Principals: g.listLogins,
		Farewell: func(ctx context.Context, server, role string, args json.RawMessage) {
			t.callFinder(ctx, role, upstream.FarewellName(server), args)
		},
		Previous: g.servers.mounts, Grant: s.pins.addPinToGrant(grantsOf(b.Personalities)),
	}, nil
}

// callFinder calls a tool of the finder in a role, as the local user.
func (t *deployment) callFinder(ctx context.Context, role, tool string, args json.RawMessage) sallyport.Result {
	return t.servers.finder.Call(ctx, &sallyport.Caller{
		Principal: sallyport.Principal{Name: sallyport.LocalPrincipal}, Personality: role,
		Platform: sallyport.PlatformCLI, Workspace: t.config.Workspace,
	}, sallyport.Request{Tool: tool, Args: args})
}

// listChanged tells clients of a server that what they see may have changed.
func (g *gate) listChanged() {
	if l := g.live.Load(); l != nil {
		l.listChanged()
	}
}

// placedServers returns the servers that can be started, with what runs for
// each.
func (t *deployment) placedServers(ctx context.Context) (list []upstream.Server) {
	s := &t.servers
	for i := range s.declared {
		by := s.installer
		if len(t.rolesWith(s.declared[i].Name)) == 0 {
			// No caller can use it.
			by = nil
		}
		l := s.pins.placeServer(ctx, &s.declared[i], by)
		s.pins.of[s.declared[i].Name] = l
		if l.why == "" {
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
