package main

import (
	"context"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/registry"
)

// review ends or narrows what runs and would not be let run so by a turn that
// takes the place of another one. What it does not concern goes on.
func (g *gate) review(ctx context.Context, before, next *turn) {
	g.runs.Review(func(run *registry.Run) (now *sallyport.Grant, why string) {
		own := *run
		if why = g.principalNow(ctx, next, &own); why != "" {
			return nil, why
		}
		if server := serverOf(run.Tool); server != "" {
			return next.holdsServer(&own, server, before)
		}
		if strings.HasPrefix(run.Tool, upstream.DiscoveryName("")) || strings.HasPrefix(run.Tool, upstream.FarewellName("")) || run.Personality == installing {
			return nil, "" // it is over soon, and nobody's
		}
		return next.registry.Holds(&own, run.Tool)
	})
}

// principalNow puts what the principal of a run holds in a turn in its place, or
// says why it holds nothing.
func (g *gate) principalNow(ctx context.Context, next *turn, run *registry.Run) (why string) {
	p := &run.Principal
	switch {
	case p.Name == "": // it serves every principal
		p.Permissions, p.Personalities = nil, nil
	case strings.HasPrefix(p.Name, auth.OIDCPrefix):
		o := next.config.Security.OIDC
		if o == nil {
			return "tokens of the issuer of " + p.Name + " are not believed any more"
		}
		p.Permissions = slices.DeleteFunc(slices.Clone(p.Permissions), func(permission string) bool {
			return slices.Contains(next.withdrawn, permission)
		})
		p.Personalities = append([]string{}, o.Personalities...)
	default:
		now, ok, err := g.callers.Named(ctx, p.Name)
		if err != nil {
			return "" // whether it stands is looked at again and again
		}
		if !ok {
			return "principal " + p.Name + " is gone"
		}
		*p = now
	}
	return ""
}

// holdsServer says what a run of an upstream server would be granted now, or why
// it would not be let begin.
func (t *turn) holdsServer(run *registry.Run, server string, before *turn) (now *sallyport.Grant, why string) {
	s := &t.servers
	i := slices.IndexFunc(s.declared, func(d upstream.Server) bool { return d.Name == server })
	switch {
	case i < 0 || s.finder == nil:
		return nil, "the MCP server " + server + " is gone"
	case !slices.Contains(t.rolesWith(server), run.Personality):
		return nil, "the role " + run.Personality + " does not list the MCP server " + server + " any more"
	case s.pins.of[server].why != "":
		return nil, s.pins.of[server].why
	case before.servers.pins.launches[server] != s.pins.launches[server]:
		return nil, "the MCP server " + server + " is pinned differently"
	}
	if run.Tool != registry.ServerRun(server) {
		for _, permission := range s.declared[i].Permissions {
			if !slices.Contains(run.Principal.Permissions, permission) {
				return nil, "the permission " + permission + " is gone"
			}
		}
	}
	return s.finder.Holds(run, upstream.DiscoveryName(server))
}
