package registry

import (
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// cloneTool returns a copy of a tool that shares nothing that could be written
// to. What was checked at registration is what stays in force, no matter who still
// holds the declaration or was given a listing. The compiled texts of the
// schemas are shared: they are many and large.
func cloneTool(t *sallyport.Tool) sallyport.Tool {
	out := *t
	out.Capabilities = group.Clone(&t.Capabilities)
	out.Permissions, out.Sources = slices.Clone(t.Permissions), maps.Clone(t.Sources)
	out.Resources, out.Touches = slices.Clone(t.Resources), slices.Clone(t.Touches)
	out.Does, out.Destinations = slices.Clone(t.Does), maps.Clone(t.Destinations)
	if t.RateLimit != nil {
		out.RateLimit = new(*t.RateLimit)
	}
	if t.Cache != nil {
		out.Cache = new(*t.Cache)
	}
	return out
}
