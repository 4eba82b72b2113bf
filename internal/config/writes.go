package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// GrantedPlace is a path that tools may read or write, in some role or in any.
type GrantedPlace struct {
	// Path is absolute.
	Path string
	// Role is the name of the personality, or empty for what every child sees. Key is the
	// key that grants the path, or empty for what is of the system.
	Role, Key string
}

// WritePlaces lists the paths that tools may write: those of the roles' lists, and
// those of declarations that stand without one. No declaration of a tool can write
// beyond them.
func (c *Config) WritePlaces() []GrantedPlace {
	return c.listPlaces("write", func(r *sallyport.Reach) []string { return r.Write }, func(f sallyport.FSCapability) sallyport.PathList { return f.Write })
}

// ReadPlaces lists the paths that tools may read, in the same way.
func (c *Config) ReadPlaces() []GrantedPlace {
	return c.listPlaces("read", func(r *sallyport.Reach) []string { return r.Read }, func(f sallyport.FSCapability) sallyport.PathList { return f.Read })
}

// listPlaces lists the paths of an operation: those of the roles' lists and of what is
// declared, as functions give them.
func (c *Config) listPlaces(op string, granted func(*sallyport.Reach) []string, declared func(sallyport.FSCapability) sallyport.PathList) (list []GrantedPlace) {
	for _, name := range slices.Sorted(maps.Keys(c.Personalities)) {
		p := c.Personalities[name]
		if p.FSReach != nil {
			for _, path := range granted(p.FSReach) {
				list = append(list, GrantedPlace{path, name, "personalities." + name + "." + group.SpellKey(p, "fs_reach."+op)})
			}
		}
		for _, part := range c.StandingParts(p) {
			for _, path := range c.expandPaths(declared(part.declaredFiles())) {
				list = append(list, GrantedPlace{path, name, part.key + ".capabilities.fs_reach." + op})
			}
		}
	}
	return list
}

// StandingParts lists the servers and actions whose declared files stand in a role: what
// a list of the role would bound.
func (c *Config) StandingParts(p *sallyport.Personality) (list []*Part) {
	for _, parts := range [][]Part{c.Servers, c.Actions} {
		for i := range parts {
			fs := parts[i].declaredFiles()
			if len(fs.Read.Paths)+len(fs.Write.Paths) > 0 && p.FilesStand(parts[i].toolOf()) {
				list = append(list, &parts[i])
			}
		}
	}
	return list
}

// toolOf returns a tool of a server, or the tool of an action, as a role lists it.
func (p *Part) toolOf() *sallyport.Tool {
	if p.name != (Part{}.name) {
		return &sallyport.Tool{Name: "mcp__" + p.ID + "__"}
	}
	var declared struct {
		Toolset string `json:"toolset"`
	}
	_ = json.Unmarshal(p.JSON, &declared) // What is no text is reported when the tool is made.
	return &sallyport.Tool{Name: p.ID, Toolset: cmp.Or(declared.Toolset, actionLabel), Sources: map[string]string{}}
}

// actionLabel is the label of actions that declare none.
const actionLabel = "action"

// declaredFiles returns the files that a part declares. What is no declaration gives
// none: making tools of the part reports it.
func (p *Part) declaredFiles() sallyport.FSCapability {
	var declared struct {
		Capabilities struct {
			FSReach sallyport.FSCapability `json:"fs_reach"`
		} `json:"capabilities"`
	}
	if json.Unmarshal(p.JSON, &declared) != nil {
		return sallyport.FSCapability{}
	}
	return declared.Capabilities.FSReach
}

func (c *Config) expandPaths(l sallyport.PathList) (paths []string) {
	vars := map[string]string{"workspace": c.Workspace, "home": c.home, "self": c.Dir}
	for _, path := range l.Paths {
		if abs, err := reach.Expand(path, vars); err == nil {
			paths = append(paths, abs)
		}
	}
	return paths
}

// WriteEntries lists the paths that tools may write in some role, each once.
func (c *Config) WriteEntries() []string {
	var paths []string
	for _, w := range c.WritePlaces() {
		paths = append(paths, w.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
