package app

import (
	"context"
	"time"

	"github.com/sallyport/sallyport/internal/config"
	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/text"
)

// placesOf decides where the paths of a configuration lead. It stores in the
// state where tools may write, except for a command that only looks.
func (rt *Runtime) placesOf(ctx context.Context, c *config.Config) *places.Map {
	m, err := places.NewMap(ctx, places.Options{
		Workspace: c.Workspace, Writes: writesOf(c), Ledger: rt.Access, View: rt.views && len(c.Servers) == 0 || rt.past != nil,
		ForgetCommand: func(path string) string { return rt.CommandLine("reach forget " + text.ShellWord(path)) },
	})
	if err != nil {
		rt.Logger.Error("the state does not keep where tools may write: they write nowhere that it did not know before", "error", err)
	}
	return m
}

// writesOf lists the paths that tools may write in some role.
func writesOf(c *config.Config) (list []places.Write) {
	for _, w := range c.WritePlaces() {
		list = append(list, places.Write{Path: w.Path, By: "personality " + w.Role})
	}
	return list
}

// RenewPlaces keeps the places of the deployment in force up to date until the
// context ends.
func (rt *Runtime) RenewPlaces(ctx context.Context, l *Live) {
	tick := time.NewTicker(rt.Env.Intervals.withDefaults().Places)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := l.deployment.Load().places.Renew(ctx); err != nil && ctx.Err() == nil {
			rt.Logger.Error("where paths lead could not be looked at anew", "error", err)
		}
	}
}
