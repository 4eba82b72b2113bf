package app

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox"
)

// FindReach returns the place in which tools read or write a path, which need not exist, or
// what lies below it: what every child sees, or else the grant of a role. Ok is false where
// the configuration has none, or the deny floor closes the path to grants.
func (rt *Runtime) FindReach(path string) (place config.GrantedPlace, ok bool) {
	c, real := rt.InForce().Config, resolveLinks(path)
	folders := lookAbove(real)
	covers := func(place config.GrantedPlace) bool {
		for _, granted := range []string{place.Path, resolveLinks(place.Path)} {
			if reach.Within(granted, path) || reach.Within(granted, real) || reach.Within(real, granted) {
				return true
			}
		}
		info, err := os.Stat(place.Path)
		return err == nil && slices.ContainsFunc(folders, func(folder os.FileInfo) bool { return os.SameFile(folder, info) })
	}
	shown := rt.listShown()
	if i := slices.IndexFunc(shown, covers); i >= 0 {
		return shown[i], true
	}
	floor := denyfloor.New(&sallyport.FileBackend{Home: rt.Env.Home, Deny: rt.ownFiles(rt.Env.Dir)})
	if rule, denied := floor.Rule("read", real, false); denied && rule.Class == denyfloor.Absolute {
		return place, false
	}
	granted := slices.Concat(c.ReadPlaces(), c.WritePlaces())
	if i := slices.IndexFunc(granted, covers); i >= 0 {
		return granted[i], true
	}
	return place, false
}

// lookAbove returns a path and the folders above it, as far as they exist: a mount shows a
// folder under a second name.
func lookAbove(path string) (list []os.FileInfo) {
	for {
		if info, err := os.Stat(path); err == nil {
			list = append(list, info)
		}
		above := filepath.Dir(path)
		if above == path {
			return list
		}
		path = above
	}
}

// listShown lists what every child sees without a grant: the system, and toolchains with
// their caches. The deny floor closes nothing of it.
func (rt *Runtime) listShown() (list []config.GrantedPlace) {
	const key = "sandbox.toolchains"
	add := func(key string, paths ...string) {
		for _, path := range paths {
			list = append(list, config.GrantedPlace{Path: path, Key: key})
		}
	}
	java, _ := filepath.Glob(reach.JavaConfig) // the pattern is sound
	add("", slices.Concat(reach.SystemDirs(), reach.SystemFiles(), java)...)
	named := rt.InForce().Config.Sandbox.Toolchains
	for i, dir := range named {
		add(key+"."+strconv.Itoa(i), dir)
	}
	if named != nil {
		return list
	}
	for _, t := range sandbox.Toolchains(rt.Env.Home) {
		add(key, t.Dirs...)
		for _, c := range t.Caches {
			add(key, c.Host)
		}
	}
	return list
}
