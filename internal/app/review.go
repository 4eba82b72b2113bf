package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/registry"
)

// reviewRuns compares what runs with a deployment that replaces another one. It ends or
// narrows what the new deployment would not allow in its present form. Everything
// else goes on.
func (rt *Runtime) reviewRuns(ctx context.Context, before, next *Deployment) {
	rt.runs.Review(func(run *registry.Run) (now *sallyport.Grant, why string) {
		own := *run
		if why = rt.principalNow(ctx, next, &own); why != "" {
			return nil, why
		}
		if server := ServerOf(run.Tool); server != "" {
			return next.holdsServer(&own, server, before)
		}
		if isHousekeeping(run) && !before.offersTool(run.Tool) && !next.offersTool(run.Tool) {
			return nil, "" // the run is about to end and belongs to no principal
		}
		return next.Registry.Holds(&own, run.Tool)
	})
}

// isHousekeeping reports whether a run may be one of the gates that look after
// servers and packages. A tool or role of the configuration may have such a
// name too.
func isHousekeeping(run *registry.Run) bool {
	return strings.HasPrefix(run.Tool, upstream.DiscoveryName("")) || strings.HasPrefix(run.Tool, upstream.CloseSessionName("")) ||
		run.Personality == installing
}

// offersTool reports whether the program or the configuration declares a tool.
func (t *Deployment) offersTool(id string) bool {
	return slices.ContainsFunc(t.Tools, func(tool sallyport.Tool) bool { return tool.ID() == id })
}

// principalNow gives the principal of a run its rights in the next deployment, or
// returns the reason why it has none.
func (rt *Runtime) principalNow(ctx context.Context, next *Deployment, run *registry.Run) (why string) {
	p := &run.Principal
	switch {
	case p.Name == "": // it serves every principal
		p.Permissions, p.Personalities = nil, nil
	case strings.HasPrefix(p.Name, auth.OIDCPrefix):
		o := next.Config.Security.OIDC
		if o == nil {
			return "tokens of the issuer of " + p.Name + " are not believed any more"
		}
		p.Permissions = withoutAll(p.Permissions, next.withdrawn)
		p.Personalities = append([]string{}, o.Personalities...)
	default:
		now, ok, err := rt.Callers.Named(ctx, p.Name)
		if err != nil {
			return "" // an error does not end the run: its principal is checked again soon
		}
		if !ok {
			return "principal " + p.Name + " is gone"
		}
		*p = now
	}
	return ""
}

// holdsServer returns what a run of an upstream server would be granted now, or
// the reason why it could not begin.
func (t *Deployment) holdsServer(run *registry.Run, server string, before *Deployment) (now *sallyport.Grant, why string) {
	s := &t.Servers
	i := slices.IndexFunc(s.Declared, func(d upstream.Server) bool { return d.Name == server })
	switch {
	case i < 0 || s.Finder == nil:
		return nil, "the MCP server " + server + " is gone"
	case !slices.Contains(t.RolesWith(server), run.Personality):
		return nil, "the role " + run.Personality + " does not list the MCP server " + server + " any more"
	case s.Pins.Servers[server].Why != "":
		return nil, s.Pins.Servers[server].Why + s.Pins.Servers[server].hint
	case before.Servers.Pins.launches[server] != s.Pins.launches[server]:
		return nil, "the MCP server " + server + " is pinned differently"
	}
	if run.Tool != registry.ServerRun(server) {
		for _, permission := range s.Declared[i].Permissions {
			if !slices.Contains(run.Principal.Permissions, permission) {
				return nil, "the permission " + permission + " is gone"
			}
		}
	}
	return s.Finder.Holds(run, upstream.DiscoveryName(server))
}

// ownFiles are the configuration and the lock file, as they were last seen under their
// names. They are kept open: no other file can get the number of one that is.
type ownFiles map[string]*os.File

// findReplaced returns the files whose names another file has, or has for the first
// time, or no file has any more, since the last look. The first look finds none.
func (o *ownFiles) findReplaced(paths []string) (replaced []string) {
	first := *o == nil
	if first {
		*o = ownFiles{}
	}
	for _, path := range paths {
		is, err := os.Stat(path)
		if was := (*o)[path]; was != nil && !fsx.Exists(path) {
			// A child that runs could make the next one: a name without a file has no cover.
			was.Close()
			delete(*o, path)
			replaced = append(replaced, path)
			continue
		}
		if err != nil || !is.Mode().IsRegular() || fsx.IsPlaceholder(is) || (*o).containsFile(path, is) {
			continue // a name without a file leads to none; the next file counts
		}
		f, err := os.OpenFile(path, os.O_RDONLY|fsx.NoWait, 0)
		if err != nil {
			continue
		}
		if was := (*o)[path]; was != nil {
			was.Close()
		}
		if (*o)[path] = f; !first {
			replaced = append(replaced, path)
		}
	}
	return replaced
}

func (o ownFiles) containsFile(path string, is os.FileInfo) bool {
	f := o[path]
	if f == nil {
		return false
	}
	was, err := f.Stat()
	return err == nil && os.SameFile(was, is)
}

func (o ownFiles) close() {
	for _, f := range o {
		f.Close()
	}
}

// endUncovered ends the children that may write in the folder of a file that was
// replaced: what covered the file for them is no longer there. They end before the
// new text is read.
func (rt *Runtime) endUncovered(t *Deployment, replaced []string) {
	if len(replaced) == 0 {
		return
	}
	var over atomic.Bool // what begins afterwards finds the new file covered
	defer over.Store(true)
	rt.runs.Review(func(run *registry.Run) (*sallyport.Grant, string) {
		if over.Load() {
			return nil, ""
		}
		g := t.grantOf(run)
		if g == nil || len(g.Process.Binaries) == 0 || g.FS.Mode == sallyport.FSOverlay {
			return nil, ""
		}
		reach, _ := group.FindReach("fs_reach.write")
		for _, path := range replaced {
			if reach.Covers(g.FS.Write, resolveLinks(path)) {
				return nil, filepath.Base(path) + " was removed or replaced by another file, which is not covered for a child that may write its folder"
			}
		}
		return nil, ""
	})
}

// grantOf returns the grant of a run; nil where it has none.
func (t *Deployment) grantOf(run *registry.Run) (g *sallyport.Grant) {
	if server := ServerOf(run.Tool); server != "" {
		g, _ = t.holdsServer(run, server, t)
		return g
	}
	g, _ = t.Registry.Holds(run, run.Tool)
	return g
}
