package app

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// FindReach returns the grant of a role under which tools read or write a path, which need
// not exist, or what lies below it; ok is false where the configuration has none, or the deny
// floor closes the path.
func (rt *Runtime) FindReach(path string) (place config.GrantedPlace, ok bool) {
	c, real := rt.InForce().Config, resolveLinks(path)
	floor := denyfloor.New(&sallyport.FileBackend{Home: rt.Env.Home, Deny: rt.ownFiles(rt.Env.Dir)})
	if rule, denied := floor.Rule("read", real, false); denied && rule.Class == denyfloor.Absolute {
		return place, false
	}
	for _, place := range slices.Concat(c.ReadPlaces(), c.WritePlaces()) {
		for _, granted := range []string{place.Path, resolveLinks(place.Path)} {
			if reach.Within(granted, path) || reach.Within(granted, real) || reach.Within(real, granted) {
				return place, true
			}
		}
	}
	return place, false
}
