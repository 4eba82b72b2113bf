package registry

import (
	"context"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/reach"
)

// newPlaces decides where paths lead for a registry to which nothing else was
// wired: from its workspace, its tools and the roles that it has seen.
func (r *Registry) newPlaces() *place.Map {
	m, _ := place.NewMap(context.Background(), place.Options{Workspace: r.o.Workspace}) // Without a ledger nothing can fail.
	return m
}

func (r *Registry) places() sallyport.Places {
	if r.backends.Places != nil {
		return r.backends.Places
	}
	return r.ownPlaces()
}

// noteWrites notes where a role, or the tools of a registry without roles,
// may write. What was computed before is computed again when that closes a
// link.
func (r *Registry) noteWrites(by string, paths []string) {
	if r.backends.Places != nil || len(paths) == 0 {
		return
	}
	writes := make([]place.Write, 0, len(paths))
	for _, p := range paths {
		if abs, err := reach.Expand(p, r.o.pathVariables()); err == nil {
			writes = append(writes, place.Write{Path: abs, By: by})
		}
	}
	_ = r.ownPlaces().Add(context.Background(), writes...) // Without a ledger nothing can fail.
}

// placeFinder finds the places of the paths of one grant.
type placeFinder struct {
	places sallyport.Places
	names  map[string]string // of paths that lead elsewhere than they are spelled
	first  map[string]string // how a place was spelled first
}

// findPlaces returns the places of paths, and those that lead nowhere with
// the reason.
func (p *placeFinder) findPlaces(paths []string) (led []string, nowhere map[string]sallyport.Place) {
	for _, path := range paths {
		clean, err := reach.CleanPath(path)
		if err != nil {
			led = append(led, path) // What is no path is dropped where paths are intersected.
			continue
		}
		at := p.places.Place(clean)
		if at.Path == "" {
			if nowhere == nil {
				nowhere = map[string]sallyport.Place{}
			}
			nowhere[path] = at
			continue
		}
		led = append(led, at.Path)
		if _, known := p.first[at.Path]; !known {
			p.first[at.Path] = path
		}
		if at.Path != clean {
			p.names[clean] = at.Path
		}
	}
	return led, nowhere
}

// spellingOf returns the path by which the configuration names a place.
func (p *placeFinder) spellingOf(path string) string {
	if s, ok := p.first[path]; ok {
		return s
	}
	return path
}

func workspaceUnder(g *sallyport.Grant, workspace string) string {
	if path, ok := g.FS.Names[workspace]; ok {
		return path
	}
	return workspace
}

// dropLinked moves what a link withholds at this moment from a grant to what
// was dropped, for those who ask what a grant is worth now. The grant of a
// call keeps it: it is looked at each time it is opened.
func (r *Registry) dropLinked(g *sallyport.Grant, ro *compiledRole) {
	look := func(key string, list []string) []string {
		var kept []string
		for _, path := range list {
			p := r.places().Place(path)
			if p.Why == "" {
				kept = append(kept, path)
				continue
			}
			g.Dropped = append(g.Dropped, sallyport.Dropped{Capability: key, Item: path, Why: p.Why, Source: ro.sourceOf(key), Fix: p.Fix, Linked: true})
		}
		return kept
	}
	g.FS.Read = look("fs_reach.read", g.FS.Read)
	g.FS.Write = look("fs_reach.write", g.FS.Write)
	g.Process.ExecFrom = look("process.execFrom", g.Process.ExecFrom)
}
