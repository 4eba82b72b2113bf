package pinning

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
)

// dropPins removes servers from the lock file.
func dropPins(ctx context.Context, rt *app.Runtime, servers []string) error {
	p := rt.Servers.Pins
	if len(servers) == 0 || p.File == nil {
		return nil
	}
	next := *p.File
	next.Servers = maps.Clone(p.File.Servers)
	maps.DeleteFunc(next.Servers, func(name string, _ lock.Server) bool { return slices.Contains(servers, name) })
	return writeLock(ctx, rt, &next, app.ChangeEvent(audit.ActionPin, strings.Join(servers, ", "), "no more in "+p.Path))
}
