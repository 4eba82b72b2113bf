package main

import (
	"context"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/internal/config"
	places "github.com/sallyport/sallyport/internal/place"
)

// placesOf decides where the paths of a configuration lead, and has the state keep
// where its tools may write. A command that only looks keeps nothing.
func (g *gate) placesOf(ctx context.Context, c *config.Config) *places.Map {
	m, err := places.NewMap(ctx, places.Options{
		Workspace: c.Workspace, Writes: writesOf(c), Ledger: g.desk, View: g.views && len(c.Servers) == 0,
	})
	if err != nil {
		g.logger.Error("the state does not keep where tools may write: they write nowhere that it did not know before", "error", err)
	}
	return m
}

// writesOf lists where tools may write: what no role grants, no declaration of a
// tool, action or server gets.
func writesOf(c *config.Config) (list []places.Write) {
	for _, name := range slices.Sorted(maps.Keys(c.Personalities)) {
		if r := c.Personalities[name].FSReach; r != nil {
			for _, path := range r.Write {
				list = append(list, places.Write{Path: path, By: "personality " + name})
			}
		}
	}
	return list
}
