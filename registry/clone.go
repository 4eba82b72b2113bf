package registry

import (
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
)

// cloneTool returns a copy of a tool that shares nothing that could be written
// to. What was checked at registration is what stays in force, whoever still
// holds the declaration or was given a listing. The compiled texts of the
// schemas are shared: they are many and large.
func cloneTool(t *sallyport.Tool) sallyport.Tool {
	out := *t
	out.Capabilities = cloneCapabilities(&t.Capabilities)
	out.Permissions, out.Sources = slices.Clone(t.Permissions), maps.Clone(t.Sources)
	out.Resources, out.Touches = slices.Clone(t.Resources), slices.Clone(t.Touches)
	out.RateLimit, out.Cache = cloneValue(t.RateLimit), cloneValue(t.Cache)
	return out
}

func cloneCapabilities(c *sallyport.Capabilities) sallyport.Capabilities {
	out := sallyport.Capabilities{
		Network: cloneValue(c.Network), Secrets: slices.Clone(c.Secrets), Storage: cloneValue(c.Storage),
		FSReach: cloneValue(c.FSReach), Process: cloneValue(c.Process), Attachments: cloneValue(c.Attachments),
		Database: cloneValue(c.Database), Mail: cloneValue(c.Mail),
		Input: slices.Clone(c.Input),
	}
	if n := out.Network; n != nil {
		n.AllowedHosts = slices.Clone(n.AllowedHosts)
	}
	if f := out.FSReach; f != nil {
		f.Read.Paths, f.Write.Paths = slices.Clone(f.Read.Paths), slices.Clone(f.Write.Paths)
	}
	if p := out.Process; p != nil {
		p.AllowedBinaries, p.ExecFrom = slices.Clone(p.AllowedBinaries), slices.Clone(p.ExecFrom)
		p.Programs = slices.Clone(p.Programs)
	}
	if a := out.Attachments; a != nil {
		a.Kinds = slices.Clone(a.Kinds)
	}
	if d := out.Database; d != nil {
		d.Connections = slices.Clone(d.Connections)
	}
	if m := out.Mail; m != nil {
		m.To = slices.Clone(m.To)
	}
	return out
}

// cloneValue copies what a pointer points to; nil stays nil.
func cloneValue[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
